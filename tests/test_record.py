"""Records: what the store keeps of a unit, in as few bytes as it needs, and what it refuses to read."""

from dataclasses import replace

import numpy as np
import pytest

from penstock.charges import Fact, Point, Span, Touch
from penstock.codec import decode, encode
from penstock.epsilon import Epsilon
from penstock.errors import StoreDamaged, StoreError
from penstock.store.record import Source, pack, unpack
from penstock.types import Cause, Kind, Published

FACTS: list[Fact] = [Point(1, Epsilon(0.1), "decide"), Span(1, 3, Epsilon(0.2), "publish", 7), Touch(1, 7)]


def release(*values: int, kind: Kind = Kind.FRESH, t: int = 1) -> Published:
    content = (t, np.array(values), np.full(len(values), kind, np.int8), np.full(len(values), 1.5), Epsilon(0.3))
    return Published(*content, "s", "monday", Cause.DECIDED, Epsilon(0.7), 2, "uniform", "0+0", "")


def packed(published: Published, source: Source | None = None) -> bytes:
    return pack(published, FACTS, [("ask", published.values), ("nearest", np.int64(3))], source)[0]


def changed(body: bytes, place: int, value: object) -> bytes:
    fields = decode(body)
    fields[place] = value
    return encode(fields)


def test_a_record_reads_back_as_it_was() -> None:
    entry = unpack(packed(release(4, -5)))
    assert (entry.t, entry.label, entry.cause, entry.sequence, entry.facts) == (1, "monday", Cause.DECIDED, 2, FACTS)
    assert (entry.charged, entry.remaining) == (Epsilon(0.3), Epsilon(0.7))
    assert [(verb, np.asarray(answer).tolist()) for verb, answer in entry.answers] == [("ask", [4, -5]), ("nearest", 3)]
    assert entry.whole(None).values.tolist() == [4, -5]
    assert entry.whole(None).noise_sd.tolist() == [1.5, 1.5]


@pytest.mark.parametrize(("bits", "larger"), [(16, 4), (32, 8)])
def test_values_take_the_fewest_bytes_that_hold_them(bits: int, larger: int) -> None:
    """To the last number: the least and the greatest that fit are still kept in these bytes."""
    least, greatest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    for value in (least, greatest):
        held = decode(packed(release(value)))[3]
        assert (held.itemsize, held.tolist()) == (bits // 8, [value])
    for value in (least - 1, greatest + 1):
        held = decode(packed(release(value)))[3]
        assert (held.itemsize, held.tolist()) == (larger, [value])


@pytest.mark.parametrize("source", [None, Source(2, np.array([4]), np.array([1.5]))], ids=["none", "another"])
def test_a_release_that_repeats_what_is_not_there_is_refused(source: Source | None) -> None:
    first = Source(1, np.array([4]), np.array([1.5]))
    again = unpack(packed(release(4, kind=Kind.REPUBLISHED, t=3), first))
    assert again.values == 1
    assert again.whole(first) is first
    with pytest.raises(StoreDamaged, match="the release of t=3 repeats one that is not there"):
        again.whole(source)


@pytest.mark.parametrize("fact", [["gift", 1, 5], ["point", 1], []])
def test_a_charge_that_nobody_knows_is_refused(fact: list[object]) -> None:
    with pytest.raises(StoreDamaged, match="a stored charge cannot be read"):
        unpack(changed(packed(release(4)), 10, [fact]))


def test_what_a_newer_version_has_written_is_refused() -> None:
    body = packed(release(4))
    for unknown in (changed(body, 2, "dreamt"), encode([*decode(body), np.array([1])])):
        with pytest.raises(StoreError, match=r"was written by version 0\+0, which this one does not understand"):
            unpack(unknown)


def test_both_ends_of_an_interval_are_kept() -> None:
    entry = unpack(packed(replace(release(4), low=np.array([-9]), high=np.array([70_000]))))
    assert entry.low is not None
    assert entry.high is not None
    assert (entry.low.tolist(), entry.high.tolist()) == ([-9], [70_000])
    assert (unpack(packed(release(4))).low, unpack(packed(release(4))).high) == (None, None)
