"""The table of errors by pace and model: what it favours, and that a file that keeps it is never trusted blindly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.allocation import risk as table
from penstock.allocation.pacing import HOURS, LARGE, Pacing, off_beat
from penstock.allocation.risk import Objective, compute, paces, risks
from penstock.codec import decode, encode
from penstock.primitives.dynamics import dynamics
from penstock.primitives.season import PERIODS
from penstock.types import Floats

WINDOW = 6  # a table of it takes a moment


def risk(window: int, objective: Objective = "mae", *, windows: int = 12, shared: bool = False) -> Floats:
    """One table."""
    return risks(window, objective, windows=windows, shared=(shared,))[0]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of one's own for tables, and nothing remembered in the process, before or after."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    risks.cache_clear()
    yield tmp_path
    risks.cache_clear()


@pytest.fixture
def kept(cache: Path) -> Path:
    """The file of the table."""
    risk(WINDOW)
    risks.cache_clear()
    (path,) = (path for path in cache.rglob("*") if path.is_file())
    return path


def refuse(*arguments: object, **options: object) -> Floats:
    raise AssertionError("a table that is there is made again")


# ---- paces -----------------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.one_of(st.integers(1, 60), st.integers(1, 3000)))
def test_paces_go_from_one_to_the_window_and_no_two_have_the_same_interval(window: int) -> None:
    found = paces(window).tolist()
    assert (found[0], found[-1]) == (1, window)
    assert found == sorted(set(found))
    intervals = [-(-window // pace) for pace in found]
    assert len(set(intervals)) == len(found)
    assert [-(-window // every) for every in intervals] == found  # the least with that interval
    assert max(np.diff(np.log(found)), default=0) < 1.2  # no pace is far from the next


# ---- what the table favours ------------------------------------------------------------------------------------------


def test_of_what_hardly_moves_the_table_says_that_every_further_release_is_a_loss() -> None:
    """It is made of pseudo-random numbers; they must not decide whether to publish three times or four."""
    models, window = dynamics(24), 24
    still = (models.level < 1e-3) & (models.around < 0.1) & (models.rate == 0) & (models.velocity == 0)
    errors = compute(window, False, 12)[0][0, :, still].mean(axis=0)
    assert still.sum() > 4
    assert (np.diff(errors[paces(window) <= 8]) > 0).all()


@pytest.mark.parametrize("squared", [False, True])
def test_what_moves_faster_is_best_published_more_often(squared: bool) -> None:
    """Random walks with next to nothing around them, from those that stand still to those that leap."""
    window = 20
    models = dynamics(window)
    walks = (models.level > 0) & ~models.seasonal & (models.around == models.around.min())
    order = np.argsort(models.level[walks])
    best = paces(window)[compute(window, squared, 12)[0][0][:, walks][:, order].argmin(axis=0)]
    assert (np.diff(best) >= 0).all()
    assert best[0] <= 2
    assert best[-1] == window


def test_an_error_is_that_of_noise_where_nothing_is_worth_remembering() -> None:
    """A walk of leaps, published always: what is off is the Laplace noise of a window's share, alone."""
    models = dynamics(WINDOW)
    leaps = int(models.level.argmax())
    mean, squared = (np.exp(compute(WINDOW, root, 12)[0][0, -1, leaps]) for root in (False, True))
    assert mean == pytest.approx(WINDOW, rel=0.2)
    assert squared == pytest.approx(np.sqrt(2) * WINDOW, rel=0.2)


def kalman(level: float, every: int, noise: float) -> float:
    """The error of Kalman's filter that has followed a walk for long, over all units between two measurements."""
    left = noise
    for _ in range(200):
        before = left + every * level
        left = before * noise / (before + noise)
    return float(np.sqrt(left + level * (every - 1) / 2))


def test_walks_that_are_followed_for_long_are_as_far_off_as_by_kalman_or_less() -> None:
    """A little less, as it is known that noise is Laplace's; for all walks that are learnt within a window."""
    window = 20
    models, found = dynamics(window), np.exp(compute(window, True, 12)[0][0])
    walks = (models.level > 0) & ~models.seasonal & (models.around == models.around.min())
    ratios = [
        found[row, model] / kalman(models.level[model], -(-window // pace), 2.0 * pace**2)
        for row, pace in enumerate(paces(window).tolist())
        for model in np.flatnonzero(walks & (models.level > 0.02 * pace**3 / window))
    ]
    assert len(ratios) > 10
    assert 0.8 < np.exp(np.mean(np.log(ratios))) < 1.02


def test_a_horizon_leaves_no_time_to_learn_so_that_what_stands_still_costs_more() -> None:
    models = dynamics(WINDOW)
    still = int((models.level + models.around + models.velocity + 1e9 * models.rate).argmin())
    endless, once = (np.exp(risk(WINDOW, windows=windows)[0, :, still]) for windows in (12, 1))
    assert (once > 1.3 * endless)[1:].all()


def believing(*leaps: bool) -> Floats:
    """Weights of bins that are known to leap at every unit, or else to stand still."""
    models = dynamics(20)
    walks = (models.velocity == 0) & (models.rate == 0)
    still = walks & (models.level < 1e-2) & (models.around < 0.1)
    favoured = np.array([walks & (models.level > 1e6) if each else still for each in leaps])
    weights: Floats = np.where(favoured, 1.0, 1e-12)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def planned(weights: Floats, importance: Sequence[float] = (1.0,), fixed: int = 0, level: float = 10.0) -> Pacing:
    """A plan that was told twice: the first measurement says nothing about how a stream moves."""
    plan = Pacing(len(weights), 20, "mae", endless=True, fixed=fixed)
    for t in (8, 10):
        plan.update(t, weights, np.full(len(weights), level), np.array(importance))
    return plan


def test_a_plan_follows_what_is_believed() -> None:
    fast, slow = planned(believing(True)), planned(believing(False))
    assert (fast.best, fast.every) == (20, 1)
    assert slow.best <= 4
    assert slow.every >= 5


def test_large_counts_are_expected_to_move_further() -> None:
    """Nothing is known of how they move. Counts as small as the noise cannot move by much of it."""
    unknown = dynamics(20).prior[np.newaxis]
    small, middling, large = (planned(unknown, level=level).best for level in (-5.0, 10.0, 1e9))
    assert small <= middling <= large
    assert small < large
    assert large == planned(unknown, level=LARGE).best


@given(st.integers(1, 20_000))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_releases_meet_every_season_at_several_of_its_hours(every: int) -> None:
    """Whatever the pace: it is kept, or a little slower, so that no window has more releases than were paid for."""
    units = off_beat(every)
    assert every <= units <= max(1.5 * every, every + 1)
    for period in PERIODS.tolist():
        assert len({units * number % period for number in range(period)}) >= HOURS


def test_bins_that_matter_more_decide() -> None:
    """One bin leaps, one stands still: relative errors make the one, or the other, unimportant."""
    assert planned(believing(True, False), [1.0, 1e-12]).best == 20
    assert planned(believing(True, False), [1e-12, 1.0]).best <= 4


def test_a_plan_changes_its_mind_within_a_few_windows() -> None:
    """What stood still for long, and leaps from now on."""
    plan = planned(believing(False))
    for t in range(15, 400, 5):
        plan.update(t, believing(False), np.ones(1), np.ones(1))
    assert plan.best <= 4
    for t in range(400, 460):
        plan.update(t, believing(True), np.ones(1), np.ones(1))
    assert plan.best == 20


def test_a_pace_that_is_fixed_stays() -> None:
    plan = planned(believing(True), fixed=7)
    assert (plan.best, plan.every) == (7, 3)


def test_a_plan_that_is_saved_and_loaded_goes_on_exactly() -> None:
    one, other = planned(believing(False)), Pacing(1, 20, "mae", endless=True)
    other.load(decode(encode(one.save())))
    assert other.best == one.best
    for plan in (one, other):
        plan.update(12, believing(True), np.ones(1), np.ones(1))
    np.testing.assert_array_equal(one.errors, other.errors)
    assert one.best == other.best


# ---- the file --------------------------------------------------------------------------------------------------------


def test_it_is_made_up_alike_every_time() -> None:
    np.testing.assert_array_equal(compute(WINDOW, False, 12)[0], compute(WINDOW, False, 12)[0])


def test_a_second_time_it_is_read(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = compute(WINDOW, False, 12)[0]
    monkeypatch.setattr(table, "compute", refuse)
    np.testing.assert_array_equal(risk(WINDOW), expected)
    np.testing.assert_array_equal(risk(WINDOW, "mre"), expected)  # its errors are weighed when they are added up
    others: list[dict[str, Any]] = [{"objective": "rmse"}, {"windows": 1}, {"shared": True}]
    for other in ({"window": WINDOW + 1}, *({"window": WINDOW} | each for each in others)):
        with pytest.raises(AssertionError):
            risk(**other)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "without its end": lambda data: data[:-1],
    "only its head": lambda data: data[:20],
    "rubbish": lambda data: b"no table",
    "another format": lambda data: b"PK\x03\x04" + data,
    "a promise of too much": lambda data: data.replace(b"(", b"(99999999999999, ", 1).replace(b" " * 16, b"", 1),
    "changed in its head": lambda data: data.replace(b"descr", b"dexcr"),
    "a head without its end": lambda data: data.replace(b"}", b" ", 1),
    "a head that is none": lambda data: data.replace(b"'shape'", b"[     ]", 1),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_anew(damage: str, kept: Path) -> None:
    data = kept.read_bytes()
    kept.write_bytes(DAMAGE[damage](data))
    np.testing.assert_array_equal(risk(WINDOW), compute(WINDOW, False, 12)[0])
    assert kept.read_bytes() == data


@pytest.mark.parametrize("other", ["shape", "nan", "text", "objects"])
def test_a_file_that_holds_something_else_is_made_anew(other: str, kept: Path) -> None:
    whole = np.load(kept)
    wrong = {
        "shape": whole[:, 1:],
        "nan": np.where(whole == whole.max(), np.nan, whole),
        "text": whole.astype(str),
        "objects": whole.astype(object),
    }
    np.save(kept, wrong[other], allow_pickle=True)
    np.testing.assert_array_equal(risk(WINDOW), whole)


def test_a_folder_that_cannot_be_written_does_not_matter(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This one is none."""
    (cache / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    assert np.isfinite(risk(WINDOW)).all()


def test_a_disk_that_is_full_leaves_nothing_half_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *arguments: object, **options: object) -> None:
        Path(path).write_bytes(b"half")
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(np, "save", full)
        expected = risk(WINDOW)
    assert not [path for path in cache.rglob("*") if path.is_file()]
    risks.cache_clear()
    np.testing.assert_array_equal(risk(WINDOW), expected)
