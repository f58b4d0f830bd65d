"""``python -m penstock.bench.neighbourhood``: its figures are errors of what is published, and it says so."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich import box

from penstock import static
from penstock.bench.neighbourhood import __main__ as command
from penstock.bench.neighbourhood import clouds, histograms, jobs, medians, sorted_points, speed
from penstock.bench.neighbourhood.clouds import CLOUDS, Asked, Scene, cloud
from penstock.bench.neighbourhood.jobs import FromBins, FromPoints, Medians, grid_of, measured
from penstock.bench.page import as_markdown, rewritten
from penstock.noise import laplace_sd

PAGE = Path(__file__).parent.parent / "docs" / "neighbourhoods.md"
TINY: dict[object, dict[str, object]] = {
    clouds: {"SIZE": 400, "RANGES": 20},
    jobs: {"REPETITIONS": 3},
    histograms: {"LISTED": (Fraction(1, 50), Fraction(1, 30)), "FINER": (Fraction(1, 40),), "CHOSEN": Fraction(1, 50)},
    sorted_points: {"GROUPS": (1, 7), "BINNED": ("0.1", "0.01")},
    medians: {"SIZES": (4, 10, 20), "SHOWN": (10, 20)},
    speed: {"SIZES": (20, 40), "ROUNDS": 1},
}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module, values in TINY.items():
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(histograms, "TREE", Fraction(1, 16))
    monkeypatch.chdir(tmp_path)


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny")
def test_tables_are_shown_written_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    marks = "".join(f"before\n<!-- begin: {name} -->\nold\n<!-- end: {name} -->\n" for name in command.TABLES)
    Path("page.md").write_text(marks, encoding="utf-8")
    arguments = ["--runs", "2", "--workers", "1", "--write", "page.md", "--figure", "errors.png"]
    assert command.main(arguments) == 0
    shown, page = capsys.readouterr().out, Path("page.md").read_text(encoding="utf-8")
    assert Path("errors.png").read_bytes().startswith(b"\x89PNG")
    for kind in CLOUDS:
        assert kind in shown
    assert "old" not in page
    assert page.count("before\n") == len(command.TABLES)
    assert page.count("|---") >= len(command.TABLES)
    assert "nan" not in shown + page


@pytest.mark.parametrize(
    "arguments",
    [
        ("--runs", "1"),
        ("--workers", "0"),
        ("--seed", "-1"),
        ("--write", "nowhere.md"),
        ("--write", "unmarked.md"),
        ("--figure", "nowhere/errors.png"),
        ("--figure", "errors.what"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("tiny")
def test_what_cannot_be_done_is_refused_in_a_sentence(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("unmarked.md").write_text("nothing\n", encoding="utf-8")
    assert command.main(arguments) == 2
    told = capsys.readouterr()
    assert told.err.startswith("error: ")
    assert len(told.err.splitlines()) == 1
    assert not told.out


def test_the_page_has_a_filled_place_for_every_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in command.TABLES:
        (held,) = re.findall(f"<!-- begin: {name} -->(.*?)<!-- end: {name} -->", page, re.DOTALL)
        assert held.count("\n|") > 2, name
    with pytest.raises(Exception, match="mark one"):
        rewritten(page, {"no such table": speed.table({}, box.MARKDOWN)})


def test_a_seed_repeats_on_any_number_of_processes() -> None:
    wanted: list[jobs.Job] = [
        FromBins("clustered", static.CumulativeHistogram(), Fraction(1, 100), "0.02"),
        FromPoints("uniform", 10, "0.01"),
    ]
    alone, shared, other = (
        measured(wanted, seed, 2, workers, lambda: None) for seed, workers in ((7, 1), (7, 2), (8, 1))
    )
    for job in wanted:
        assert np.array_equal(alone[job], shared[job])
        assert not np.array_equal(alone[job], other[job])


# ---- points and ranges -----------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(CLOUDS), st.integers(0, 2**32), st.sampled_from([0.0, 0.05]))
def test_ranges_hold_the_points_they_are_said_to_hold(kind: str, seed: int, grain: float) -> None:
    scene = Scene.of(kind, Asked((0.05, 0.4), grain), seed)
    assert ((scene.points >= 0) & (scene.points <= 1)).all()
    assert ((scene.begins >= 0) & (scene.ends <= 1 + 1e-12)).all()
    width, off = 0.4, (clouds.NEAR if not grain else 1e-9)
    assert np.abs((scene.ends - scene.begins)[1] / width - 1).max() <= off + 1e-9
    for begin, end, true in zip(scene.begins[0, :5], scene.ends[0, :5], scene.true[0, :5], strict=True):
        assert true == sum(begin <= point < end for point in scene.points.tolist())
    assert scene.squared_error(scene.true + 3).tolist() == [9, 9]


@given(st.sampled_from(CLOUDS), st.integers(1, 200), st.integers(0, 2**32))
def test_clouds_lie_between_0_and_1(kind: str, size: int, seed: int) -> None:
    points = cloud(kind, size, np.random.default_rng(seed))
    assert len(points) == size
    assert ((points >= 0) & (points <= 1)).all()
    assert kind != "exponential" or points.max() == 1


@given(st.integers(1, 400))
def test_a_grid_covers_the_domain_and_little_more(parts: int) -> None:
    step = Fraction(parts, 1000)
    line = grid_of(step).line
    assert 1 <= line.high < 1 + step
    assert line.step == step


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_the_error_of_a_plain_histogram_adds_up_over_bins_and_that_of_a_cumulative_one_does_not() -> None:
    asked = Asked((0.1, 0.4), 0.1)
    epsilon = "1"
    plain = FromBins("uniform", static.PlainHistogram(), Fraction(1, 10), "0.1", epsilon, asked).measured(1, 400)
    ours = FromBins("uniform", static.CumulativeHistogram(), Fraction(1, 10), "0.1", epsilon, asked).measured(1, 400)
    a_bin, a_boundary = laplace_sd(Fraction(2)) ** 2, laplace_sd(Fraction(1)) ** 2
    assert plain.mean(axis=0) == pytest.approx([a_bin, 4 * a_bin], rel=0.15)
    assert all(a_boundary < error < 2.1 * a_boundary for error in ours.mean(axis=0))  # two, or one at the domain's end


def test_a_bin_beyond_the_domain_is_taken_to_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any noise, uniform points in bins that reach to 1.2 are counted as well as in others."""
    monkeypatch.setattr(clouds, "SIZE", 20_000)
    asked = Asked((0.3,))
    uneven, even = (
        FromBins("uniform", static.PlainHistogram(), step, epsilon="1000", asked=asked).measured(2, 1).mean()
        for step in (Fraction(3, 10), Fraction(1, 4))
    )
    assert uneven < 3 * even


def test_points_are_off_by_their_noise_alone_if_they_lie_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their squared error then falls with the square of the radius; with many points about, it does not."""
    monkeypatch.setattr(clouds, "SIZE", 20)
    far, near = (FromPoints("uniform", 1, radius).measured(3, 300)[:, -1].mean() for radius in ("0.0001", "0.00001"))
    assert near == pytest.approx(2 * 0.00001**2, rel=0.2)
    assert far / near == pytest.approx(100, rel=0.3)
    monkeypatch.setattr(clouds, "SIZE", 5000)
    far, near = (FromPoints("uniform", 1, radius).measured(3, 5)[:, -1].mean() for radius in ("0.1", "0.01"))
    assert 10 < far / near < 40


@pytest.mark.parametrize("epsilon", ["1", "0.1"])
def test_smooth_sensitivities_are_within_the_radius(epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "REPETITIONS", 20)
    figures = Medians(15, epsilon).measured(4, 2).reshape(20, len(jobs.MEDIAN_RADII), len(medians.FIGURES))
    smooth = figures[:, :, 0]
    for i, radius in enumerate(jobs.MEDIAN_RADII[1:], start=1):
        assert (smooth[:, i] <= np.minimum(float(radius), smooth[:, 0]) * (1 + 1e-9)).all()
    assert (smooth > 0).all()
    assert (figures[:, :, 1:] >= 0).all()
    assert (figures[:, :, 1:] <= 1).all()


# ---- what is made of them --------------------------------------------------------------------------------------------


@given(st.floats(0.1, 3), st.floats(1e-6, 1e6))
def test_the_slope_of_a_power_is_its_exponent(power: float, factor: float) -> None:
    radii = np.array([1.0 if radius == jobs.WHOLE else float(radius) for radius in sorted_points.RADII])
    for fitted in (sorted_points.WIDE, sorted_points.NARROW):
        assert sorted_points.exponent(factor * radii**power, fitted) == pytest.approx(power)


@pytest.mark.parametrize(
    ("narrowed", "row"),
    [
        ([0.5, 0.96, 1.0], ["20", "30", "10"]),
        ([1.0, 0.9, 0.96], ["30", "above 30", "10"]),
        ([1.0, 1.0, 1.0], ["10", "10", "10"]),
    ],
)
def test_the_size_from_which_on_a_radius_no_longer_helps(
    narrowed: list[float], row: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The radius narrows the noise of three sizes so much; the median is always better than the middle."""
    monkeypatch.setattr(medians, "SIZES", (10, 20, 30))
    results: jobs.Results = {}
    for epsilon in medians.EPSILONS:
        for size, part in zip(medians.SIZES, narrowed, strict=True):
            results[Medians(size, epsilon)] = np.array([[1, 1, 2, part, 1, 2, part, 1, 2]], np.float64)
    lines = as_markdown(medians.tables(results, box.MARKDOWN)["ends"]).splitlines()
    (found,) = (line for line in lines if re.match(r"\| 1 +\| 0.02 ", line))
    assert [cell.strip() for cell in found.split("|")[3:-1]] == row


def test_what_is_no_better_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "EPSILONS", ("1",))
    monkeypatch.setattr(histograms, "RADII", ("0.01", "0.001"))
    width = len(jobs.ANYWHERE.widths)
    results: jobs.Results = dict.fromkeys(histograms.jobs(), np.ones((2, width)))
    results |= {job: np.ones((2, len(histograms.LENGTHS))) for job in results if job.asked == histograms.ALIGNED}  # type: ignore[attr-defined]
    results[histograms.cumulative("uniform", "0.01", "1")] = np.array([[2.0, 0.5, *[0.25] * (width - 2)]])
    results[histograms.cumulative("uniform", "0.001", "1")] = np.full((1, width), 0.1)
    lines = as_markdown(histograms.tables(results, box.MARKDOWN)["gains"]).splitlines()
    assert [line.rsplit("|", 2)[1].strip() for line in lines if "uniform" in line] == ["0.005", "none"]
    assert [line.rsplit("|", 2)[1].strip() for line in lines if "clustered" in line] == ["all", "all"]
    assert math.isclose(float(lines[-1].split("|")[4]), 10)
