"""Runs of scenarios, shared by processes; what is known already is not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache, partial
from typing import Protocol, TypeVar

from penstock.bench.cache import Cache
from penstock.bench.metrics import Outcome
from penstock.bench.processes import ended
from penstock.bench.rows import Row, about
from penstock.bench.scenario import Counted, Runnable, key_of
from penstock.bench.spot_checks import Candidates, Verdict
from penstock.errors import BadInput

HELD = 32  # streams that a process holds at a time

R = TypeVar("R", bound=Runnable)
Outcomes = dict[R, dict[int, Outcome]]  # of every scenario, by seed
Show = Callable[[int, int], None]  # so many runs are done, of so many


class Known(Counted, Protocol):
    """A stream whose truth is known, and can be told from another."""

    def digest(self) -> str: ...


Loader = Callable[[str], Known]


def measured(wanted: Mapping[R, int], loader: Loader, cache: Cache, workers: int, show: Show) -> Outcomes[R]:
    """The outcomes of every scenario for its first seeds: from the cache, or run now and put there.

    ``loader`` finds a stream by its name, in every process anew.
    """
    digests = _digests(wanted, loader)
    keys = _keys(wanted, digests)
    unknown = {job: key for job, key in keys.items() if cache.get(key) is None}
    for job, outcome in _outcomes(unknown, loader, workers, show):
        cache.put(keys[job], digests[job[0].stream], *job, outcome)
    return _found(keys, cache)


def adopted(wanted: Mapping[R, int], number: int, loader: Loader, cache: Cache, workers: int, show: Show) -> Verdict:
    """Take over what older code has measured of all this, where so many runs of every group come out the same now."""
    digests = _digests(wanted, loader)
    keys = _keys(wanted, digests)

    def compare(older: Mapping[tuple[R, int], Row]) -> None:
        for job, outcome in _outcomes({job: keys[job] for job in older}, loader, workers, show):
            cache.compare(keys[job], older[job], job[0], outcome)

    abouts = {(what, seed): about(digests[what.stream], what, seed) for what, seed in keys}
    return Candidates(keys, abouts, cache).settle(number, compare)


def known(wanted: Mapping[R, int], loader: Loader, cache: Cache) -> Outcomes[R]:
    """The outcomes of those scenarios that have been run for all their seeds, without running any."""
    found = _found(_keys(wanted, _digests(wanted, loader)), cache)
    return {what: runs for what, runs in found.items() if len(runs) == wanted[what]}


def _digests(wanted: Mapping[R, int], loader: Loader) -> dict[str, str]:
    return {name: loader(name).digest() for name in dict.fromkeys(what.stream for what in wanted)}


def _keys(wanted: Mapping[R, int], digests: Mapping[str, str]) -> dict[tuple[R, int], str]:
    runs = [(what, seed) for what, seeds in wanted.items() for seed in range(seeds)]
    return {(what, seed): key_of(what, digests[what.stream], seed) for what, seed in runs}


def _found(keys: Mapping[tuple[R, int], str], cache: Cache) -> Outcomes[R]:
    outcomes: Outcomes[R] = {}
    for (what, seed), key in keys.items():
        outcome = cache.get(key)
        if outcome is not None:
            outcomes.setdefault(what, {})[seed] = outcome
    return outcomes


def _outcomes(
    keys: Mapping[tuple[R, int], str], loader: Loader, workers: int, show: Show
) -> Iterator[tuple[tuple[R, int], Outcome]]:
    """Run all of these, which have these keys."""
    # One seed after another, so that whoever stops has something whole; else by keys, which is as good as shuffled, so
    # that the time left can be told from the time gone.
    jobs = sorted(keys, key=lambda job: (job[1], keys[job]))
    show(0, len(jobs))
    for done, (job, (key, outcome)) in enumerate(_run(jobs, loader, workers), start=1):
        if key != keys[job]:
            raise BadInput("code or data have changed while the benchmark ran; run it again, it goes on where it was.")
        yield job, outcome
        show(done, len(jobs))


def _run(
    jobs: list[tuple[R, int]], loader: Loader, workers: int
) -> Iterator[tuple[tuple[R, int], tuple[str, Outcome]]]:
    try:
        yield from ended(_Worker.run, jobs, min(workers, max(len(jobs), 1)), _Worker.prepare, (loader,))
    except BrokenProcessPool:
        raise BadInput("a process of the benchmark was killed; run it again, it goes on where it was.") from None


class _Worker:
    """A process, which loads streams when it first needs them, and says what it has run and on what."""

    load: Callable[[str], tuple[Known, str]]

    @classmethod
    def prepare(cls, loader: Loader) -> None:
        cls.load = staticmethod(lru_cache(maxsize=HELD)(partial(_loaded, loader)))

    @classmethod
    def run(cls, job: tuple[Runnable, int]) -> tuple[str, Outcome]:
        what, seed = job
        stream, digest = cls.load(what.stream)
        return key_of(what, digest, seed), what.run(seed, stream)


def _loaded(loader: Loader, name: str) -> tuple[Known, str]:
    stream = loader(name)
    return stream, stream.digest()
