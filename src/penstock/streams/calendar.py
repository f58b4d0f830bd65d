"""What inputs call their time units, and which number each of them has.

Units are numbered 1, 2, 3, ... An input calls them what it likes: numbers, dates, months (``2026-11``), weeks
(``2026-W46``), times (``2026-11-15T10:30``), or any names at all. All but names lie on a line, so a unit that is
missing, repeated or out of order can be told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

from penstock.errors import BadInput
from penstock.streams.labels import Place, Step, placed, step_of, stepped

NOT_KNOWN = (
    "cannot be told from one that was published from a store that is gone, and must not be drawn again; let a window"
    " pass and begin a new stream"
)


class Calendar:
    """Numbers the labels of one stream.

    ``every`` is how long a unit is: "1d", "30min", "1w", "1mo", a plain number, "row" for names that only follow each
    other, or "auto", which takes it from the first two labels. ``known`` are labels that have a number already,
    ``last`` is the last unit that is published.

    >>> months, weeks = Calendar(), Calendar("1w")
    >>> [months.unit(label) for label in ("2026-01-31", "2026-02-28", "2026-05-31")]
    [1, 2, 5]
    >>> [weeks.unit(label) for label in ("2026-W52", "2026-W53", "2027-W01")], weeks.label(4)
    ([1, 2, 3], '2027-W02')
    """

    def __init__(
        self, every: str = "auto", known: Sequence[tuple[int, str]] = (), *, last: int = 0, gaps: bool = False
    ) -> None:
        self.gaps = gaps
        self.last = last
        self.named = every == "row"
        self._names = {label: t for t, label in known}
        self._newest = max(self._names.values(), default=0)
        self._units_known = len(known)
        self._step: Step | None = None if every in ("auto", "row") else step_of(every)
        self._first: tuple[int, Place] | None = None
        for t, label in () if self.named else known:
            self._learn(t, placed(label))

    def unit(self, label: str) -> int:
        """The number of the unit that is called ``label``; a BadInput says why it has none."""
        if self.named:
            return self._named_unit(label)
        if self._first is None and self.last:
            raise BadInput(NOT_KNOWN)
        place = placed(label)
        if self._first is None:
            self._learn(self.last + 1, place)
        elif self._step is None and place.at != self._first[1].at:
            self._learn(self._first[0] + 1, place)
        start, first = self._first or (self.last + 1, place)
        if place.kind != first.kind:
            raise BadInput(f"is a {place.kind}, and the first one is a {first.kind}; write all of them alike")
        return start + (self._step.between(first, place) if self._step else 0)

    def _named_unit(self, label: str) -> int:
        if label not in self._names:
            if self._units_known < self.last:
                raise BadInput(NOT_KNOWN)
            self._newest = max(self._newest, self.last) + 1
            self._names[label] = self._newest
        return self._names[label]

    def preview(self, labels: Sequence[str]) -> None:
        """Labels that are about to come: if nobody knows yet how long a unit is, the two closest together tell."""
        if self.named or self._step is not None:
            return
        places = [*([self._first[1]] if self._first else []), *_placed_well(labels)]
        pairs = [(a, b) for a, b in pairwise(places) if a.kind == b.kind and b.at > a.at]
        if pairs:
            nearest = min(pairs, key=lambda pair: pair[1].at - pair[0].at)
            self._step = stepped(*nearest, 1)

    def label(self, t: int) -> str:
        """What unit ``t`` would be called."""
        if self._first is None or self._step is None:
            return str(t)
        start, first = self._first
        return self._step.written(first, t - start)

    def _learn(self, t: int, place: Place) -> None:
        """Fix where the line begins, and after a second label how long a unit is."""
        if self._first is None:
            self._first = (t, place)
        elif self._step is None and t > self._first[0]:
            start, first = self._first
            self._step = stepped(first, place, t - start)


def _placed_well(labels: Sequence[str]) -> Iterator[Place]:
    """The places of those labels that have one; the others are refused when their turn comes."""
    for label in labels:
        with suppress(BadInput):
            yield placed(label)
