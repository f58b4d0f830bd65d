"""Streams in memory and made-up ones."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from penstock.errors import BadCounts, BadInput
from penstock.streams import GENERATORS, Stream, synthetic


@pytest.mark.parametrize("kind", GENERATORS)
def test_generators_are_repeatable_and_whole(kind: str) -> None:
    one, same, other = (synthetic(kind, bins=4, steps=300, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.counts, same.counts)
    assert not np.array_equal(one.counts, other.counts)
    assert one.counts.shape == (300, 4)
    assert one.counts.dtype == np.int64
    assert one.counts.min() >= 0


def test_generators_have_the_character_they_claim() -> None:
    def change(kind: str) -> float:
        counts = synthetic(kind, bins=8, steps=2000, seed=3).counts
        return float((np.diff(counts, axis=0) != 0).mean())

    assert change("constant") == 0
    assert 0.005 < change("jumps") < 0.03
    assert change("spas_1") > 0.95
    assert (synthetic("bursts", bins=8, steps=2000, seed=3).counts == 0).mean() > 0.5


def test_the_streams_of_the_spas_paper_have_its_ranges() -> None:
    second = synthetic("spas_2", steps=10_000, seed=1).counts[:, 0]
    assert second[:5000].max() <= 1000
    assert 400 < second[:5000].mean() < 600
    assert abs(second[5000:].mean() - 1000) < 1
    assert 9 < second[5000:].std() < 11
    third = synthetic("spas_3", bins=10, steps=10_000, seed=1).counts
    assert 9000 < third[:5000].max() <= 10_000


def test_a_stream_can_be_taken_up_anywhere() -> None:
    stream = Stream([[1], [2], [3]])
    assert [snapshot.t for snapshot in stream.after(1)] == [2, 3]
    assert len(stream) == 3
    assert "2" not in repr(stream).replace("steps=3", "")


@pytest.mark.parametrize("counts", [[1, 2, 3], [], [[]], [[[1]]]])
def test_a_stream_needs_rows(counts: ArrayLike) -> None:
    with pytest.raises(BadCounts):
        Stream(counts)


def test_unknown_kind_and_wrong_sizes() -> None:
    with pytest.raises(BadInput, match="one of constant"):
        synthetic("flat", seed=1)
    with pytest.raises(BadInput, match="bins must be"):
        synthetic(bins=0, seed=1)
    with pytest.raises(BadInput, match="presence covers 1"):
        Stream([[1], [2]], presence=[["a"]])
