"""A table of distances leaves the transcript that its distances leave one by one, and cannot be forged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.curator import Curator
from penstock.desk import Question
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.models import WEvent
from penstock.noise import SimulationNoise
from penstock.queries import Distance, Distances, EuclideanDistance, single_values
from penstock.types import LARGEST_COUNT, Snapshot

MODEL = WEvent(epsilon=10, w=3)

counts = st.lists(st.one_of(st.integers(0, 50), st.integers(0, LARGEST_COUNT)), min_size=3, max_size=3)
values = st.one_of(st.integers(-60, 60), st.integers(-(2**62), 2**62), st.floats(-1e19, 1e19))
tables = st.lists(st.lists(values, min_size=3, max_size=3), min_size=1, max_size=7)


@given(counts, tables, st.integers(0, 99))
def test_the_nearest_is_the_same_and_so_is_what_is_heard(row: list[int], table: list[list[float]], seed: int) -> None:
    array, heard = np.array(table, np.float64), []

    def chosen(candidates: list[Distance] | Distances) -> tuple[int, Epsilon]:
        def noting(question: Question, compute):  # type: ignore[no-untyped-def]
            heard.append((question.verb, [getattr(each, "content", each) for each in question.details]))
            return compute()

        curator = Curator(MODEL, 3, noise=SimulationNoise(seed), answers=noting)
        snapshot = Snapshot(1, row)
        curator.begin_unit(snapshot)
        return curator.nearest(snapshot, candidates, Epsilon(1)), curator.charged()

    assert chosen(Distances(array)) == chosen([Distance(each) for each in array])
    one, other = (
        [verb, [np.asarray(part).tolist() if isinstance(part, tuple) else str(part) for part in parts]]
        for verb, parts in heard
    )
    assert one == other


class Forged(Distances):
    """Looks like a table, and holds what it likes."""

    __slots__ = ()


def test_a_forged_table_of_another_width_is_refused_before_anything_is_spent() -> None:
    forged = tuple.__new__(Forged, (Distance([0, 0, 0]), Distance([0, 0, 0, 0])))
    curator, snapshot = Curator(MODEL, 3, noise=SimulationNoise(1)), Snapshot(1, [1, 2, 3])
    curator.begin_unit(snapshot)
    with pytest.raises(BadInput, match="one entry a bin"):
        curator.nearest(snapshot, forged, Epsilon(1))
    assert not curator.charged()


def test_a_forged_table_is_asked_one_by_one() -> None:
    """Each query by its own sensitivity and its own size, as if they were in a list."""
    forged = tuple.__new__(Forged, (Distance([0, 0, 0]), EuclideanDistance([3, 0, 0])))
    assert single_values(forged, np.array([3, 0, 0])).tolist() == [3, 0]
