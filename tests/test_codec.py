"""Plain data, and a curator's whole state, survive the trip to bytes; damaged or wrongly keyed bytes do not."""

import json
from contextlib import suppress
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from penstock.codec import HEADER, MAGIC, VERSION, decode, encode
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BadState
from penstock.models import WEvent
from penstock.noise import ScriptedNoise
from penstock.primitives.segment import SegmentPlan
from penstock.queries import Counts, Distance
from penstock.sealing import KEY_BYTES, new_key, open_sealed, seal
from penstock.types import Snapshot

fixed = settings(derandomize=True, deadline=None, max_examples=120)

dtypes = st.one_of(
    hnp.integer_dtypes(), hnp.unsigned_integer_dtypes(), hnp.floating_dtypes(), hnp.boolean_dtypes()
)  # of both byte orders
arrays = dtypes.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0)))
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.text(),
    st.binary(max_size=20),
    st.fractions(),
    st.integers(0, 2**70).map(Epsilon.of_nano),
    arrays,
)
plain = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
SAMPLE = encode({"t": 3, "sums": np.arange(5), "rho": -7, "spent": Epsilon("0.3"), "names": ["decide", None, 2**80]})


def same(one: Any, other: Any) -> bool:
    """Equal in type and value, not-a-number and arrays included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other or (one != one and other != other))


def outlined(outline: str, buffers: bytes = b"") -> bytes:
    """Bytes with a good header around any outline."""
    return HEADER.pack(MAGIC, VERSION, len(outline.encode())) + outline.encode() + buffers


@fixed
@given(plain)
def test_plain_data_comes_back_exactly(value: Any) -> None:
    """Whole numbers of any size, both zeros, not-a-number, arrays of any shape: to the bit."""
    assert same(decode(encode(value)), value)


def test_a_tuple_comes_back_as_a_list_and_an_array_comes_back_its_own() -> None:
    """What is decoded can be written to, and shares nothing with the bytes."""
    array = decode(encode((np.arange(4)[::2],)))[0]
    array += 1
    assert array.tolist() == [1, 3]


@fixed
@given(st.dictionaries(st.sampled_from(["int", "epsilon", "array", "dict", "bytes", "fraction"]), leaves))
def test_no_dictionary_is_mistaken_for_a_mark(value: dict[str, Any]) -> None:
    """Keys that the codec itself uses are ordinary keys."""
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        object(),
        1j,
        np.int64(1),
        [b"x", {"a": lambda: 0}],
        np.array(["a"]),
        np.array([None]),
        np.zeros(1, "c16"),
    ],
)
def test_what_is_not_plain_data_is_refused(value: Any) -> None:
    """At saving, not at loading; the message names the type alone."""
    with pytest.raises(BadState, match="state must be plain data"):
        encode(value)


class Day(StrEnum):
    MONDAY = "monday"


@pytest.mark.parametrize("value", [np.float64(1.5), Day.MONDAY], ids=repr)
def test_what_is_a_number_or_a_text_by_birth_is_kept_as_that(value: Any) -> None:
    assert decode(encode(value)) == value


def test_a_number_that_other_readers_would_round_is_kept_as_text() -> None:
    for value in (2**53, -(2**53), 10**30):
        assert f'"int":"{value}"'.encode() in encode(value)
        assert b'"int"' not in encode(value // abs(value) * (2**53 - 1))
        assert decode(encode(value)) == value


def test_a_key_that_is_not_text_is_refused() -> None:
    """It would come back as text: another state than the one that was saved."""
    with pytest.raises(BadState):
        encode({1: "a"})


@fixed
@given(st.integers(0, len(SAMPLE) - 1), st.integers(1, 255))
def test_a_changed_byte_gives_bad_state_or_data_never_another_error(place: int, flip: int) -> None:
    """Nobody who loads a state has to know what can go wrong inside."""
    damaged = bytearray(SAMPLE)
    damaged[place] ^= flip
    with suppress(BadState):
        decode(bytes(damaged))


@fixed
@given(st.binary(max_size=60))
def test_foreign_bytes_are_refused(data: bytes) -> None:
    """Alone, and behind a good header."""
    with pytest.raises(BadState):
        decode(data)
    with pytest.raises(BadState):
        decode(HEADER.pack(MAGIC, VERSION, len(data)) + b"\xff" + data)


@pytest.mark.parametrize("value", [{"a": np.arange(3)}, [1, 2], "text", 123, 1.25, True, np.arange(3)])
def test_truncated_bytes_are_refused(value: Any) -> None:
    """Wherever they were cut: a state that lost its end is not a shorter state."""
    whole = encode(value)
    for length in range(len(whole)):
        with pytest.raises(BadState):
            decode(whole[:length])


@pytest.mark.parametrize("version", [0, VERSION + 1, 255])
def test_another_version_is_refused(version: int) -> None:
    """With advice, whatever follows the header."""
    with pytest.raises(BadState, match="export it with the version that wrote it"):
        decode(MAGIC + bytes([version]) + SAMPLE[len(MAGIC) + 1 :])


@pytest.mark.parametrize(
    "outline",
    [
        "",
        "{",
        '{"int":"x"}',
        '{"int":Infinity}',
        '{"epsilon":-1}',
        '{"epsilon":1.5}',
        '{"epsilon":NaN}',
        '{"fraction":["1","0"]}',
        '{"bytes":"zz"}',
        '{"dict":[]}',
        '{"dict":1}',
        '{"unknown":1}',
        '{"array":["O",[1],0,8]}',
        '{"array":["<i8",[1],0,8]}',
        '{"array":["<i8",[2],0,4]}',
        '{"array":["<i8",[1],"a",8]}',
        json.dumps({"array": ["<i8", [10**30], 0, 0]}),
        json.dumps({"array": ["nonsense", [0], 0, 0]}),
        "[" * 5000 + "]" * 5000,
    ],
)
def test_an_outline_that_makes_no_sense_is_refused(outline: str) -> None:
    """Every way of not making sense is BadState: a damaged file must not look like a bug."""
    with pytest.raises(BadState):
        decode(outlined(outline))


@fixed
@given(st.binary(max_size=200), st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES))
def test_what_is_sealed_opens_with_its_key(plain_bytes: bytes, key: bytes) -> None:
    """And shows neither its content nor that it was sealed before."""
    sealed = seal(plain_bytes, key)
    assert open_sealed(sealed, key) == plain_bytes
    assert seal(plain_bytes, key) != sealed
    assert len(plain_bytes) < 4 or plain_bytes not in sealed


def test_another_key_does_not_open_it() -> None:
    """Not even one that differs in a bit; new keys differ."""
    key = new_key()
    sealed = seal(SAMPLE, key)
    for other in (new_key(), bytes([key[0] ^ 1]) + key[1:]):
        with pytest.raises(BadState, match="pass the key and the public state it was saved with"):
            open_sealed(sealed, other)


@fixed
@given(st.data())
def test_a_changed_or_missing_byte_does_not_open(data: st.DataObject) -> None:
    """Nonce, text and tag are all authenticated."""
    key = bytes(range(KEY_BYTES))
    sealed = bytearray(seal(b"threshold noise", key))
    place = data.draw(st.integers(0, len(sealed) - 1))
    with pytest.raises(BadState):
        open_sealed(bytes(sealed[:place]), key)
    sealed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BadState):
        open_sealed(bytes(sealed), key)


@pytest.mark.parametrize("length", [0, 16, 24, 31, 33])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    """Even where the cipher would take it: AES has shorter keys, we do not."""
    with pytest.raises(BadInput, match="has 32 bytes"):
        seal(b"x", bytes(length))
    with pytest.raises((BadInput, BadState)):
        open_sealed(seal(b"x", new_key()), bytes(length))


def test_a_fraction_of_any_size_and_a_budget_beyond_64_bits_survive() -> None:
    """The numbers ledgers and plans are made of."""
    held = [Fraction(-(3**200), 7**150), Epsilon.of_nano(10**30), 2**53, -(2**53), 2**53 - 1]
    assert decode(encode(held)) == held


class Stand:
    """A curator with one handle of each kind, taken through units by one script."""

    def __init__(self, noise: ScriptedNoise) -> None:
        self.noise = noise
        self.curator = Curator(WEvent(epsilon=4, w=3), 2, noise=noise)
        self.segment = self.curator.segment(SegmentPlan(2, Epsilon(0.2), Epsilon(0.1)))
        self.pool = self.curator.pool(reads=2)
        self.grouper = self.curator.grouper(Epsilon(0.2))

    def step(self, t: int) -> list[Any]:
        snapshot = Snapshot(t, [t, 10 - t])
        self.curator.begin_unit(snapshot)
        if not self.segment.left:
            self.segment.renew(SegmentPlan(2, Epsilon(0.2), Epsilon(0.1)))
        told = [self.segment.above(snapshot, Distance([0, 0]), 10, then=Epsilon(0.1))]
        told += [self.grouper.extend(snapshot, [4, 4]).tolist()]
        self.pool.absorb(snapshot, Epsilon(0.1), [t % 2])
        told += [self.pool.settle([t % 2]).tolist(), self.curator.ask(snapshot, Counts(), Epsilon(0.1), [1]).tolist()]
        return [*told, self.pool.size.tolist(), self.grouper.length.tolist(), str(self.curator.remaining())]

    def restarted(self, key: bytes) -> "Stand":
        public, sealed = (encode(part) for part in self.curator.save())
        other = Stand(self.noise)
        other.curator.load(decode(public), decode(open_sealed(seal(sealed, key), key)))
        return other


def script(seed: int) -> ScriptedNoise:
    """Some hundred small numbers."""
    return ScriptedNoise(np.random.default_rng(seed).integers(-4, 5, 400).tolist())


@pytest.mark.parametrize("seed", range(5))
def test_a_restart_after_every_unit_changes_nothing(seed: int) -> None:
    """Through bytes and seal, every answer, verdict and charge is that of a curator that was never stopped."""
    steady, restarted, key = Stand(script(seed)), Stand(script(seed)), new_key()
    for t in range(1, 10):
        assert steady.step(t) == restarted.step(t)
        restarted = restarted.restarted(key)


def test_what_was_saved_does_not_change_as_the_stream_goes_on() -> None:
    """A state is a copy: it is that of the moment it was saved at, whenever it is written."""
    stand = Stand(script(1))
    stand.step(1)
    saved = stand.curator.save()
    written = encode(saved)
    stand.step(2)
    assert encode(saved) == written


def test_without_the_sealed_part_secrets_are_retired_and_charges_stay() -> None:
    """The run is over, pools are empty, groups are closed; and the budget is as it was."""
    stand, other = Stand(script(1)), Stand(script(1))
    stand.step(1)
    other.curator.load(decode(encode(stand.curator.save()[0])), None)
    assert (other.segment.running, other.segment.left) == (False, 0)
    assert other.pool.size.tolist() == [0, 0]
    assert not other.grouper.open.any()
    assert other.curator.remaining() == stand.curator.remaining() < Epsilon(4)


def test_a_state_is_loaded_before_the_first_unit_or_never() -> None:
    """Loading it later would wind the ledger back, and hand out again what was spent."""
    fresh, used, snapshot = Stand(script(1)), Stand(script(1)), Snapshot(1, [5, 5])
    used.curator.begin_unit(snapshot)
    used.curator.ask(snapshot, Counts(), Epsilon(0.5), [0])
    with pytest.raises(BadState, match="hand back what was spent"):
        used.curator.load(*fresh.curator.save())
    assert used.curator.remaining() == Epsilon(3.5)
