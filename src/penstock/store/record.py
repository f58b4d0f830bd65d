"""One time unit of a stream as the store keeps it: the release, what it cost, and the answers it was made from.

A record's *link* is the hash of its bytes and of the link before, so that records form a chain: none can be changed,
dropped or put in between without breaking every later link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.charges import Fact, Point, Span, Touch
from penstock.codec import decode, encode
from penstock.epsilon import Epsilon
from penstock.errors import StoreDamaged, StoreError
from penstock.types import Cause, Floats, Ints, Kind, Published, Release

Answers = list[tuple[str, Any]]  # verb and answer

BOOKED = "booked"  # stands before the answers of a unit that was refused: what it was told had cost, in nano-epsilon
SAME = "="  # stands for an answer that is the released values themselves
NARROW = (np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64))


class Source(NamedTuple):
    """A release that is stored whole, for those that repeat it."""

    t: int
    values: Ints
    noise_sd: Floats


class Entry(NamedTuple):
    """What the bytes of a record say. ``values`` is the number of another time unit if they are the values of that."""

    t: int
    label: str
    cause: Cause
    values: Ints | int
    kind: NDArray[np.int8] | int
    noise_sd: Floats | float
    charged: Epsilon
    remaining: Epsilon
    sequence: int
    version: str
    facts: list[Fact]
    answers: Answers
    low: Ints | None = None
    high: Ints | None = None

    @property
    def is_new(self) -> bool:
        """Whether any of its values is not just repeated."""
        return (
            self.kind != Kind.REPUBLISHED if isinstance(self.kind, int) else bool((self.kind != Kind.REPUBLISHED).any())
        )

    def whole(self, source: Source | None) -> Source:
        """The values and their noise; ``source`` is the last release before that is stored whole."""
        if isinstance(self.values, int):
            if source is None or source.t != self.values:
                raise StoreDamaged(
                    f"the release of t={self.t} repeats one that is not there; restore the latest backup."
                )
            return source
        noise_sd = np.full(self.values.shape, self.noise_sd)
        noise_sd.setflags(write=False)  # later releases may share it
        return Source(self.t, self.values, noise_sd)

    def published(self, source: Source, stream: str, mechanism: str, link: bytes) -> Published:
        """The release, given the values it consists of or refers to."""
        kind = np.full(source.values.shape, self.kind, np.int8)
        provenance = (self.remaining, self.sequence, mechanism, self.version, link.hex())
        content = (self.t, source.values, kind, source.noise_sd, self.charged)
        return Published(*content, stream, self.label, self.cause, *provenance, low=self.low, high=self.high)


def pack(published: Published, facts: Iterable[Fact], answers: Answers, source: Source | None) -> tuple[bytes, Source]:
    """The bytes of a record, and the release that later ones may refer to; one that repeats ``source`` refers to it."""
    again = source is not None and _repeats(published, source)
    body = encode(
        [
            published.t,
            published.label,
            published.cause.value,
            source.t if again and source else _narrowed(published.values),
            _one_if_equal(published.kind),
            0.0 if again else _one_if_equal(published.noise_sd),
            published.charged.nano,
            published.remaining.nano,
            published.sequence,
            published.version,
            [_plain(fact) for fact in facts],
            [[verb, _shortened(answer, None if again else published.values)] for verb, answer in answers],
            *_ends(published),
        ]
    )
    return body, source if again and source else Source(published.t, published.values, published.noise_sd)


def unpack(body: bytes) -> Entry:
    """What ``pack`` wrote."""
    t, label, cause, values, kind, sd, charged, remaining, sequence, version, facts, answers, *ends = decode(body)
    held = values if isinstance(values, int) else values.astype(np.int64)
    said = [(verb, held if isinstance(answer, str) else answer) for verb, answer in answers]
    budget = (Epsilon.of_nano(charged), Epsilon.of_nano(remaining))
    known, whole = _known(cause, version, len(ends)), [end.astype(np.int64) for end in ends]
    return Entry(t, label, known, held, kind, sd, *budget, sequence, version, [_fact(f) for f in facts], said, *whole)


def _known(cause: str, version: str, ends: int) -> Cause:
    """The cause, unless a newer version has invented it, or says more than the ends of an interval."""
    try:
        if ends not in (0, 2):
            raise ValueError
        return Cause(cause)
    except ValueError:
        raise StoreError(f"a unit was written by version {version}, which this one does not understand.") from None


def _repeats(release: Release, source: Source) -> bool:
    return (
        bool((release.kind == Kind.REPUBLISHED).all())
        and (release.values is source.values or np.array_equal(release.values, source.values))
        and (release.noise_sd is source.noise_sd or np.array_equal(release.noise_sd, source.noise_sd))
    )


def _narrowed(values: Ints) -> NDArray[Any]:
    """The same numbers in as few bytes as they need."""
    low, high = int(values.min()), int(values.max())
    fits = (dtype for dtype in NARROW if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max)
    return values.astype(next(fits))


def _ends(published: Published) -> list[NDArray[Any]]:
    """Both ends of its intervals; nothing at all where it has none, so that its bytes are those of before."""
    return [_narrowed(end) for end in (published.low, published.high) if end is not None]


def _one_if_equal(array: NDArray[Any]) -> Any:
    """One number instead of many equal ones."""
    return array[0].item() if (array == array[0]).all() else array


def _shortened(answer: Any, values: Ints | None) -> Any:
    if isinstance(answer, np.ndarray):
        said = values is not None and answer.dtype == values.dtype and np.array_equal(answer, values)
        return SAME if said else answer
    return answer.item() if isinstance(answer, np.generic) else answer


def _plain(fact: Fact) -> list[Any]:
    match fact:
        case Point(t, e, envelope):
            return ["point", t, e.nano, envelope]
        case Span(a, b, e, envelope, key):
            return ["span", a, b, e.nano, envelope, key]
        case Touch(t, key):
            return ["touch", t, key]


def _fact(plain: Sequence[Any]) -> Fact:
    match plain:
        case ["point", t, nano, envelope]:
            return Point(t, Epsilon.of_nano(nano), envelope)
        case ["span", a, b, nano, envelope, key]:
            return Span(a, b, Epsilon.of_nano(nano), envelope, key)
        case ["touch", t, key]:
            return Touch(t, key)
    raise StoreDamaged("a stored charge cannot be read; restore the latest backup.")
