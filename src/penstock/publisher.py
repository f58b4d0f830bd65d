"""The loop: snapshots in, releases out; in memory, or through a store that survives everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice, takewhile
from typing import Protocol

from penstock.curator import Curator
from penstock.errors import BadInput, PenstockError
from penstock.mechanisms.base import Mechanism
from penstock.noise import Noise
from penstock.population import Population
from penstock.streams import Calendar, Rows, Source, Stream
from penstock.types import Published, Release, Snapshot
from penstock.writer import Writer


def publish(
    stream: Stream | Rows, mechanism: Mechanism, *, noise: Noise | None = None, population: Population | None = None
) -> Iterator[Release]:
    """Publish a stream held in memory: one release a time unit, exact and secure noise unless told otherwise."""
    if not isinstance(stream, (Stream, Rows)):
        raise BadInput("publish() takes a stream in memory, ps.streams.Stream; for files use ps.Publisher.")
    mechanism.start(Curator(mechanism.model, stream.bins, noise=noise, population=population))
    return (mechanism.step(snapshot) for snapshot in stream)


class Sink(Protocol):
    """Where releases go. ``last`` is the unit of the last one that arrived whole; None if that cannot be known.

    ``link`` is the link of that release, or empty: it must be the one that the store has for it. ``keeps`` says that
    what is there stays there; else everything is written anew.
    """

    @property
    def last(self) -> int | None: ...
    @property
    def link(self) -> str: ...
    @property
    def keeps(self) -> bool: ...
    def write(self, release: Published) -> None: ...


class Post(Protocol):
    """Something done to releases after they are stored; ``reach`` is how many earlier ones it needs to have seen.

    It may be told a stream again, from any unit on, after it was told as many units before that as it reaches back.
    """

    @property
    def reach(self) -> int: ...
    def __call__(self, release: Published) -> Published: ...


class Publisher(Writer):
    """Publishes a stream through a store: commit the intent, draw, commit the release, emit.

    Killed anywhere and started again, it goes on where it was: what was stored is emitted, what was announced and not
    stored is counted as spent, and nothing is ever drawn twice.
    """

    _told = 0  # the last unit that post-processing was shown

    def publish(self, snapshot: Snapshot, *, ahead: Snapshot | None = None) -> Published:
        """The release of a time unit, stored. A unit that has one already gets the very same again."""
        pending = self.prepare(snapshot, ahead=ahead)
        self.store.commit([pending])
        return pending.release

    def run(
        self,
        source: Source | Iterable[Snapshot],
        sink: Sink | None = None,
        *,
        post: Sequence[Post] = (),
        gaps: bool = False,
    ) -> Iterator[Published]:
        """Publish a source to its end; yields every release after it was stored and written.

        Releases that are stored and did not reach the sink are written first; without a sink, or with one that knows
        nothing, every unit of the source is told again. ``gaps`` allows units without input, for which the release
        before is repeated.
        """
        self._told = 0
        yield from self._caught_up(sink, post)
        calendar = self.calendar(gaps=gaps) if isinstance(source, Source) else Calendar("row")
        again = None  # the last unit that a sink that knows nothing was told
        for snapshot, ahead in _with_next(source, calendar):
            if not isinstance(snapshot, Snapshot):
                raise BadInput(
                    "run() takes a stream, a source or snapshots; make a ps.streams.Stream of rows of counts."
                )
            if not self._has_seen(sink):
                stored = self._stored_from(snapshot.t if again is None else again + 1, min(snapshot.t, self.t))
                yield from (self._emitted(release, sink, post) for release in stored)
                again = snapshot.t
            if snapshot.t <= self.t:
                continue
            while gaps and snapshot.t > self.t + 1:
                yield self._emitted(self.miss(calendar.label(self.t + 1)), sink, post)
            yield self._emitted(self.publish(snapshot, ahead=ahead), sink, post)

    @staticmethod
    def _has_seen(sink: Sink | None) -> bool:
        """Whether what is stored has reached the sink; one that knows nothing gets every release again."""
        return sink is not None and sink.last is not None

    def _stored_from(self, first: int, last: int) -> Iterator[Published]:
        return takewhile(lambda release: release.t <= last, self.releases(after=first - 1) if first <= last else ())

    def miss(self, label: str = "") -> Published:
        """The next unit has no input: repeat the last release, for nothing."""
        pending = self.prepare_missing(label)
        self.store.commit([pending])
        return pending.release

    def calendar(self, *, gaps: bool = False) -> Calendar:
        """What the time units of this stream are called, and which of them are published."""
        return calendar_of(self.releases(), self.every, last=self.t, gaps=gaps)

    def _caught_up(self, sink: Sink | None, post: Sequence[Post]) -> Iterator[Published]:
        """Show the sink what it has missed."""
        self.store.note_head([self._account])
        seen = self.t if sink is None or sink.last is None else sink.last
        if sink is not None:
            self.store.require_output(self._account, seen, sink.link)
            seen = seen if sink.keeps else 0
        for release in self.releases(after=seen):
            yield self._emitted(release, sink, post)

    def _emitted(self, release: Published, sink: Sink | None, post: Sequence[Post]) -> Published:
        processed = self._processed(release, post)
        if sink is not None:
            sink.write(processed)
        self.store.at("emit")
        return processed

    def _processed(self, release: Published, post: Sequence[Post]) -> Published:
        """What ``post`` makes of a release, after it has seen those before it that it has to have seen."""
        t, reach = release.t, sum(each.reach for each in post)
        if self._told != t - 1 and reach:
            for earlier in self._stored_from(max(t - reach, 1), t - 1):
                for each in post:
                    earlier = each(earlier)
        self._told = t
        for each in post:
            release = each(release)
        return release


def calendar_of(releases: Iterable[Published], every: str, *, last: int, gaps: bool) -> Calendar:
    """The calendar of a stream with these releases: names have to be known all, other labels follow from two."""
    labelled = ((release.t, release.label) for release in releases)
    known = list(labelled if every == "row" else islice(labelled, 2))
    return Calendar(every, known, last=last, gaps=gaps)


def _with_next(source: Source | Iterable[Snapshot], calendar: Calendar) -> Iterator[tuple[Snapshot, Snapshot | None]]:
    """Every snapshot with the one after it, if that is at hand: reading ahead must not wait for what is yet to come.

    A file is at hand, and so is whatever has a length. If the next one cannot be read, the one before it still counts.
    """
    items = iter(source.snapshots(calendar) if isinstance(source, Source) else source)
    if source.live if isinstance(source, Source) else not isinstance(source, Sized):
        yield from ((snapshot, None) for snapshot in items)
        return
    current = next(items, None)
    while current is not None:
        try:
            following = next(items, None)
        except PenstockError:
            yield current, None
            raise
        yield current, following
        current = following
