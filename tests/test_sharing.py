"""Auto on a single count: readings that share what they cost, and never cost more than that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import penstock, published
from penstock.charges import Fact, Span, recount
from penstock.checks import CHECKS, Subject
from penstock.mechanisms.base import Mechanism
from penstock.noise import Noise
from penstock.store import Archive
from penstock.store.verify import verify
from penstock.types import Ints, Kind, Snapshot

few = settings(derandomize=True, deadline=None, max_examples=25)
LAW: ps.PrivacyModel = ps.WEvent(epsilon=1, w=24)
HORIZON: ps.PrivacyModel = ps.UserLevel(epsilon=1, horizon=150)
pytestmark = pytest.mark.usefixtures("own_tables")


def leaping(units: int = 150, most: int = 10**5, seed: int = 1) -> Ints:
    """A count without memory."""
    return np.random.default_rng(seed).integers(0, most, (units, 1))


def run(counts: Ints, model: ps.PrivacyModel = LAW, seed: int = 1, **options: Any) -> list[ps.Release]:
    return published(ps.Auto(model=model, **options), counts, ps.SimulationNoise(seed))


def error(counts: Ints, model: ps.PrivacyModel, seeds: int = 4, **options: Any) -> float:
    releases = [run(counts, model, seed, **options) for seed in range(seeds)]
    return float(np.mean([np.abs(np.array([each.values for each in one]) - counts).mean() for one in releases]))


def journalled(counts: Ints, model: ps.PrivacyModel = LAW, seed: int = 1) -> list[Fact]:
    journal = list[Fact]()
    published(ps.Auto(model=model), counts, ps.SimulationNoise(seed), journal=journal.append)
    return journal


def spans(journal: list[Fact]) -> dict[int, Span]:
    """Volleys as they were in the end; runs of the watch have another envelope."""
    return {fact.key: fact for fact in journal if isinstance(fact, Span) and fact.envelope == "publish"}


# ---- what it gains ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "part"), [(LAW, 0.8), (ps.WEvent(epsilon=1, w=120), 0.7), (HORIZON, 0.7)])
def test_a_count_that_moves_fast_is_published_with_far_less_noise(model: ps.PrivacyModel, part: float) -> None:
    counts = leaping()
    assert error(counts, model) < part * error(counts, model, sharing=False)


def test_it_is_paid_for_in_spans_and_every_unit_is_read() -> None:
    counts = leaping()
    volleys = spans(journalled(counts))
    assert len(volleys) > 5
    assert max(span.b - span.a for span in volleys.values() if span.b is not None) >= 3
    assert all(release.kind[0] == Kind.ESTIMATED.value for release in run(counts))


@pytest.mark.parametrize("bins", [2, 5])
def test_of_several_bins_nothing_is_shared(bins: int) -> None:
    counts = np.repeat(leaping(60), bins, axis=1)
    for release, other in zip(run(counts), run(counts, sharing=False), strict=True):
        assert release.same_as(other)


@pytest.mark.parametrize("model", [ps.EventLevel(epsilon=1), ps.WEvent(epsilon=1, w=2)])
def test_of_one_unit_or_two_nothing_is_shared(model: ps.PrivacyModel) -> None:
    assert not spans(journalled(leaping(40), model))


def test_where_epsilon_leaves_no_noise_counts_come_out_as_they_are() -> None:
    counts = leaping(40)
    assert error(counts, ps.WEvent(epsilon=10**5, w=24)) < 1


# ---- small counts, which begin with a volley ------------------------------------------------------------------------

SMALL: ps.PrivacyModel = ps.WEvent(epsilon="0.1", w=60)


def still(count: int, units: int = 60) -> Ints:
    return np.full((units, 1), count)


def first_volley(journal: list[Fact]) -> Span:
    return next(iter(spans(journal).values()))


def swaying(seed: int, units: int = 120) -> Ints:
    """A small count that is never far from where it was, nor ever there."""
    counts = 150 + np.cumsum(np.random.default_rng(seed).normal(0, 6, units))
    return np.maximum(np.rint(counts), 0).astype(np.int64)[:, np.newaxis]


def test_a_small_count_is_looked_at_well_in_a_few_readings_from_the_first_unit_on() -> None:
    """One volley takes nearly all, and is read to its end soon; now and then a count looks larger than it is."""
    openings = [first_volley(journalled(still(20), SMALL, seed)) for seed in range(9)]
    assert sum(span.a == 1 for span in openings) >= 6
    for span in openings:
        assert SMALL.epsilon.share(0.6) <= span.e <= SMALL.epsilon.share(0.9)
        assert span.b is not None
        assert 2 <= span.b - span.a < 60


def test_a_large_count_does_not_begin_with_a_volley_of_nearly_all() -> None:
    """A few readings would have to do for a window, and a large count may be anywhere by then."""
    for seed in range(4):
        assert all(span.e < SMALL.epsilon.share(0.6) for span in spans(journalled(still(10**5), SMALL, seed)).values())


@pytest.mark.parametrize(
    "model",
    [
        ps.WEvent(epsilon="0.1", w=11),
        ps.UserLevel(epsilon="0.1", horizon=150),
        ps.DeltaNeighbourhood(epsilon="0.1", steps=5),
        ps.WEvent(epsilon=3, w=60),
    ],
)
def test_without_room_or_noise_for_readings_there_is_one_good_look(model: ps.PrivacyModel) -> None:
    """In few units a small look is as good as a reading, over a horizon nothing comes back, noise may be narrow."""
    size = int(20 / float(model.epsilon)) // 10
    for seed in range(6):
        first = run(still(size, 1), model, seed)[0]
        same = run(still(size, 1), model, seed, sharing=False)[0]
        assert first.same_as(same)


def test_a_small_count_that_sways_is_followed_better_than_by_one_good_look() -> None:
    with_readings, with_a_look = (
        np.mean([error(swaying(stream), SMALL, sharing=sharing) for stream in range(6)]) for sharing in (True, False)
    )
    assert with_readings < 0.95 * with_a_look


def test_a_small_count_that_stands_still_is_known_as_well_as_by_one_good_look() -> None:
    """A few readings that share what they cost tell as much of it, when all of them are there."""
    off = {
        sharing: np.mean(
            [
                np.abs([each.values[0] - 20 for each in run(still(20), SMALL, seed, sharing=sharing)])
                for seed in range(24)
            ]
        )
        for sharing in (True, False)
    }
    assert off[True] < 1.1 * off[False]


@few
@given(
    st.sampled_from(["0.01", "0.5", "1", "2", "3", "5", "40", "3000"]),
    st.integers(3, 60),
    st.floats(0, 150),
    st.booleans(),
    st.integers(0, 99),
)
def test_small_counts_overspend_nothing_however_narrow_the_noise(
    epsilon: str, window: int, size: float, horizon: bool, seed: int
) -> None:
    """Where noise is too narrow for so many readings there are fewer, down to a single look."""
    model: ps.PrivacyModel = ps.WEvent(epsilon=epsilon, w=window)
    if horizon:
        model = ps.UserLevel(epsilon=epsilon, horizon=window)
    steps = np.random.default_rng(seed).normal(0, 1, 60).cumsum()
    counts = np.maximum((size + steps) / float(epsilon), 0).astype(np.int64)[:, np.newaxis]
    journal = journalled(counts[: window if horizon else 60], model, seed)
    assert 0.5 * model.epsilon.nano < recount(journal, model).nano <= model.epsilon.nano


@pytest.mark.parametrize("gap", [1, 5, 59, 60, 100])
def test_units_without_input_after_the_first_do_not_end_its_first_volley(gap: int) -> None:
    """Nobody knew how soon it would be read again, so it is not late; it is over when it has been read."""
    journal, read = list[Fact](), 0
    mechanism = ps.Auto(model=SMALL).start(ps.Curator(SMALL, 1, noise=ps.SimulationNoise(2), journal=journal.append))
    for snapshot in ps.streams.Stream(still(20, 200)):
        release = mechanism.pass_over(snapshot) if 1 < snapshot.t <= 1 + gap else mechanism.step(snapshot)
        read += snapshot.t <= gap + 30 and release.kind[0] == Kind.ESTIMATED.value
    assert recount(journal, SMALL) <= SMALL.epsilon
    assert first_volley(journal).a == 1
    assert read >= 3


# ---- what it must not do ---------------------------------------------------------------------------------------------


@few
@given(
    st.sampled_from([LAW, HORIZON, ps.DeltaNeighbourhood(epsilon="0.5", steps=9), ps.WEvent(epsilon=4, w=5)]),
    st.lists(st.sampled_from([1.0, 30.0, 1000.0, 30000.0]), min_size=1, max_size=5),
    st.integers(0, 99),
)
def test_no_window_is_overspent_however_a_stream_moves(model: ps.PrivacyModel, pieces: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = np.concatenate([rng.normal(0, size, 30) for size in pieces])
    counts = np.maximum(5000 + np.cumsum(steps), 0).astype(np.int64)[:, np.newaxis]
    assert recount(journalled(counts, model, seed), model) <= model.epsilon


@dataclass(frozen=True)
class OneCount(Subject):
    """A mechanism that is checked on streams of one bin."""

    def streams(self, seed: int = 1) -> Iterator[ps.streams.Stream]:
        for stream in super().streams(seed):
            yield ps.streams.Stream(stream.counts[:, :1])

    def start(self, noise: Noise, *, bins: int = 1, **options: Any) -> Mechanism:
        return super().start(noise, bins=1, **options)


KEPT = ["never_overspends", "non_interference", "same_on_neighbours", "every_draw_is_paid", "no_answer_moves_further"]


@pytest.mark.parametrize("model", [ps.WEvent(epsilon=2, w=6), ps.UserLevel(epsilon=2, horizon=12)], ids=["w", "user"])
@pytest.mark.parametrize("check", [*KEPT, "resumes_exactly", "resumes_soundly"])
def test_the_checks_hold_on_a_single_count(check: str, model: ps.PrivacyModel) -> None:
    CHECKS[check](OneCount(ps.Auto, model))


# ---- restarts, gaps and lost units -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "model", "often"),
    [(leaping(60), LAW, 20), (still(20, 40), SMALL, 2)],
    ids=["fast", "small"],
)
def test_saved_in_the_middle_of_a_volley_it_goes_on_the_same(counts: Ints, model: ps.PrivacyModel, often: int) -> None:
    noise, key = ps.SimulationNoise(2), ps.new_key()
    expected = run(counts, model, seed=2)
    mechanism = ps.Auto(model=model).start(ps.Curator(model, 1, noise=noise))
    middle = 0
    for snapshot, before in zip(ps.streams.Stream(counts), expected, strict=True):
        middle += mechanism.reader.sharing
        state = mechanism.save(key)
        mechanism = ps.Auto(model=model).start(ps.Curator(model, 1, noise=noise))
        mechanism.load(state, key)
        assert mechanism.step(snapshot).same_as(before), snapshot.t
    assert middle > often


@pytest.mark.parametrize("gap", [1, 5, 24, 60])
@pytest.mark.parametrize("lost", [None, ps.Epsilon("0.1")])
def test_after_a_gap_it_goes_on_and_overspends_nothing(gap: int, lost: ps.Epsilon | None) -> None:
    """Units without input in the middle of a volley, or some whose end nobody saw."""
    counts, journal = leaping(150), list[Fact]()
    mechanism = ps.Auto(model=LAW).start(ps.Curator(LAW, 1, noise=ps.SimulationNoise(3), journal=journal.append))
    off, missing = list[int](), 0
    for snapshot in ps.streams.Stream(counts):
        missing = gap if mechanism.reader.sharing and snapshot.t in (50, 51, 52) else max(missing - 1, 0)
        release = mechanism.pass_over(snapshot, lost) if missing else mechanism.step(snapshot)
        off.append(abs(int(release.values[0] - counts[snapshot.t - 1, 0])))
    assert recount(journal, LAW) <= LAW.epsilon
    assert np.mean(off[-20:]) < 200


def test_without_the_seal_a_volley_is_over_and_the_stream_goes_on(tmp_path: Path) -> None:
    counts = leaping(80)

    def publisher(store: ps.Store) -> ps.Publisher:
        return ps.Publisher(ps.Auto(model=LAW), store, "s", bins=["a"])

    with ps.Store(tmp_path / "db") as store, publisher(store) as first:
        for t in range(1, 41):
            first.publish(Snapshot(t, counts[t - 1]))
        assert first.t == 40
    (tmp_path / "db.key").unlink()
    assert penstock("key", "lost", tmp_path / "db")[0] == 0
    with ps.Store(tmp_path / "db") as store, publisher(store) as second:
        for t in range(second.t + 1, 81):
            second.publish(Snapshot(t, counts[t - 1]))
    with Archive(tmp_path / "db") as archive:
        verified = verify(archive, "s")
    assert verified.peak is not None
    assert verified.peak <= LAW.epsilon
