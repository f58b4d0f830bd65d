"""The loop: snapshots in, releases out; in memory, or through a store that survives everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from penstock.curator import Curator
from penstock.errors import BadInput, PenstockError
from penstock.ledger import Population
from penstock.mechanisms.base import Mechanism
from penstock.noise import Noise
from penstock.store import Published
from penstock.streams import Stream
from penstock.types import Release, Snapshot
from penstock.writer import Writer


def publish(
    stream: Stream, mechanism: Mechanism, *, noise: Noise | None = None, population: Population | None = None
) -> Iterator[Release]:
    """Publish a stream held in memory: one release a time unit, exact and secure noise unless told otherwise."""
    mechanism.start(Curator(mechanism.model, stream.bins, noise=noise, population=population))
    return (mechanism.step(snapshot) for snapshot in stream)


class Sink(Protocol):
    """Where releases go. ``last`` is the unit of the last one that arrived whole; None if that cannot be known."""

    @property
    def last(self) -> int | None: ...
    def write(self, release: Published) -> None: ...


class Post(Protocol):
    """Something done to releases after they are stored; ``reach`` is how many earlier ones it needs to have seen."""

    @property
    def reach(self) -> int: ...
    def __call__(self, release: Published) -> Published: ...


class Publisher(Writer):
    """Publishes a stream through a store: commit the intent, draw, commit the release, emit.

    Killed anywhere and started again, it goes on where it was: what was stored is emitted, what was announced and not
    stored is counted as spent, and nothing is ever drawn twice.
    """

    def publish(self, snapshot: Snapshot, *, ahead: Snapshot | None = None) -> Published:
        """The release of a time unit, stored. A unit that has one already gets the very same again."""
        pending = self.prepare(snapshot, ahead=ahead)
        self.store.commit([pending])
        return pending.release

    def run(
        self,
        source: Iterable[Snapshot],
        sink: Sink | None = None,
        *,
        post: Sequence[Post] = (),
        at_hand: bool = True,
        gaps: bool = False,
    ) -> Iterator[Published]:
        """Publish a source to its end; yields every release after it was stored and written.

        Releases that are stored and did not reach the sink are written first. ``at_hand`` says that the source can be
        read ahead without waiting, as a file can; then a release costs one transaction instead of two. ``gaps`` allows
        units without input, for which the release before is repeated.
        """
        yield from self._caught_up(sink, post)
        for snapshot, ahead in _with_next(source) if at_hand else ((snapshot, None) for snapshot in source):
            if snapshot.t <= self.t and sink is not None and sink.last is not None:
                continue
            while gaps and snapshot.t > self.t + 1:
                missing = self.miss()
                self.store.commit([missing])
                yield self._emitted(missing.release, sink, post)
            yield self._emitted(self.publish(snapshot, ahead=ahead), sink, post)

    def _caught_up(self, sink: Sink | None, post: Sequence[Post]) -> Iterator[Published]:
        """Show ``post`` what it has to have seen, and the sink what it has missed."""
        seen = self.t if sink is None or sink.last is None else sink.last
        if seen > self.t:
            raise BadInput(
                f"the output holds a release of t={seen} and the store ends at t={self.t}; it belongs to another store,"
                " or this store is an old copy: name another output, or put the newer store back."
            )
        reach = max((each.reach for each in post), default=0)
        for release in self.releases(after=max(seen - reach, 0)):
            if release.t > seen:
                yield self._emitted(release, sink, post)
            else:
                self._emitted(release, None, post)

    def _emitted(self, release: Published, sink: Sink | None, post: Sequence[Post]) -> Published:
        for each in post:
            release = each(release)
        if sink is not None:
            sink.write(release)
        self.store.at("emit")
        return release


def _with_next(source: Iterable[Snapshot]) -> Iterator[tuple[Snapshot, Snapshot | None]]:
    """Every snapshot with the one after it. If that cannot be read, the one at hand still counts."""
    items = iter(source)
    current = next(items, None)
    while current is not None:
        try:
            following = next(items, None)
        except PenstockError:
            yield current, None
            raise
        yield current, following
        current = following
