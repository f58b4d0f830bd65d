"""Spot checks: runs of older code are adopted where runs of the present code, taken at random, come out the same.

Whatever is changed in the kernel changes the key of every run, also if it changes no figure. Which runs are compared
is decided by their new keys: as good as at random, the same for everybody, and others with every change of the code. A
group is a mechanism, as it was told, under a law, as one version of the code has run it. If a run of it comes out
otherwise, that mechanism is known to have changed somewhere, and every stream is a group by itself: of each so many
runs are compared, and of one in which a run comes out otherwise none is adopted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from penstock.bench.cache import Cache
from penstock.bench.rows import OTHERWISE, SAME, About, Row
from penstock.bench.scenario import Runnable

R = TypeVar("R", bound=Runnable)
Job = tuple[R, int]  # a run: what, and its seed


class Group(NamedTuple):
    """Runs that stand for each other. The ``stream`` is told where those on others do not."""

    name: str
    law: str
    version: str  # of the code that they were run by before
    stream: str = ""


class Verdict(NamedTuple):
    """So many runs were compared, so many of these came out otherwise; of the rest so many were adopted, or refused.

    What is refused is known of older code, and has to be run anew. ``where`` are all groups that are.
    """

    compared: int
    otherwise: int
    adopted: int
    refused: int
    where: tuple[Group, ...] = ()


class Candidates(Generic[R]):
    """Wanted runs that older code alone knows, beside those that were compared with it before, if any were.

    ``keys`` are those of the present code.
    """

    def __init__(self, keys: Mapping[Job[R], str], abouts: Mapping[Job[R], About], cache: Cache) -> None:
        self._keys, self._cache = keys, cache
        latest, present = cache.latest(), {job: cache.row(key) for job, key in keys.items()}
        self._older = {job: latest[abouts[job]] for job in keys if not present[job] and abouts[job] in latest}
        versions = {job: row.version for job, row in self._older.items()}
        versions |= {job: row.older for job, row in present.items() if row and row.sign in (SAME, OTHERWISE)}
        self._groups = {
            (what, seed): Group(what.name, what.promise.terms, version) for (what, seed), version in versions.items()
        }

    def settle(self, number: int, compare: Callable[[Mapping[Job[R], Row]], None]) -> Verdict:
        """Compare so many of every group, then adopt what passed. ``compare`` runs what is beside these rows."""
        compare(self._chosen(number))
        changed = self._refused()
        self._groups = {
            job: group._replace(stream=job[0].stream) if group in changed else group
            for job, group in self._groups.items()
        }
        compare(self._chosen(number))
        signs = [self._sign(job) for job in self._older]
        refused, left = self._refused(), [job for job in self._older if not self._sign(job)]
        passed = [job for job in left if self._groups[job] not in refused]
        for job in passed:
            self._cache.adopt(self._keys[job], self._older[job], job[0])
        counted = len(signs) - len(left), signs.count(OTHERWISE), len(passed), len(left) - len(passed)
        return Verdict(*counted, tuple(sorted(refused)))

    def _chosen(self, number: int) -> dict[Job[R], Row]:
        """The first of every group by their keys, but for those that were compared before."""
        first: dict[Group, list[Job[R]]] = {}
        for job in sorted(self._groups, key=self._keys.__getitem__):
            first.setdefault(self._groups[job], []).append(job)
        chosen = [job for jobs in first.values() for job in jobs[:number]]
        return {job: self._older[job] for job in chosen if not self._sign(job)}

    def _refused(self) -> set[Group]:
        """Those of which a run came out otherwise."""
        return {group for job, group in self._groups.items() if self._sign(job) == OTHERWISE}

    def _sign(self, job: Job[R]) -> str:
        row = self._cache.row(self._keys[job])
        return row.sign if row else ""
