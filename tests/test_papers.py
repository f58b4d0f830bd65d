"""The comparison with papers: its streams, its transcription of SPAS, and what it makes of the figures."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from penstock.bench import papers, trials
from penstock.bench.plain import AS_PUBLISHED, WARM_UP, Faults, PlainSPAS
from penstock.bench.repeated import FLU_DEATH, RECIPES, RETAIL, STATE_FLU, UNEMPLOYMENT, repeated
from penstock.bench.trials import Measured, Setting, measure, relative_error
from penstock.errors import BadInput
from penstock.streams import synthetic
from penstock.types import Floats, Ints

ROWS = 12
WINDOW = 120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of the right names with a few made-up rows each."""
    rng = np.random.default_rng(5)
    for recipe in RECIPES.values():
        weeks = [f"{2019 + i // 6}-W{(30 + 4 * i % 24):02}" for i in range(ROWS)]
        rows = [f"{week},{rng.integers(40, 90)},{rng.integers(40, 90)}" for week in weeks]
        (tmp_path / recipe.file).write_text("\n".join(["t,a,b", *rows, ""]), encoding="utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "WINDOW", 20)
    monkeypatch.delenv("PENSTOCK_DATA", raising=False)


def test_streams_are_repeated_and_cut(folder: Path) -> None:
    lengths = {name: len(counts) for name, counts in repeated(folder).items()}
    assert lengths[STATE_FLU] == 6 * ROWS - 1
    assert lengths[UNEMPLOYMENT] == 8 * ROWS - 1
    assert lengths[RETAIL] == 26 * ROWS


def test_the_latest_flu_season_comes_first(tmp_path: Path) -> None:
    weeks = ["2020-W39", "2020-W40", "2021-W39", "2021-W40", "2022-W01"]
    lines = [f"{week},{i}" for i, week in enumerate(weeks)]
    (tmp_path / "flu_death.csv").write_text("\n".join(["t,deaths", *lines]), encoding="utf-8")
    counts = RECIPES[FLU_DEATH].made(tmp_path)
    assert counts[:7, 0].tolist() == [4, 1, 2, 0, 3, 4, 1]  # without the first one
    assert len(counts) == 10 * len(weeks) - 1


def test_a_stream_ends_inside_a_copy(tmp_path: Path) -> None:
    (tmp_path / "retail_100.csv").write_text("t,a\n" + "\n".join(f"{i},{i}" for i in range(143)), encoding="utf-8")
    counts = RECIPES[RETAIL].made(tmp_path)
    assert (len(counts), counts[-1, 0]) == (3627, 3626 % 143)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.unlink(), "--data"),
        (lambda path: path.write_text("t,a\n2020-W40,many\n"), "whole numbers"),
        (lambda path: path.write_text("t,a\n2020-W40,1\n\n"), "whole numbers"),
        (lambda path: path.write_text("t,a\nOctober,1\n"), "2021-W40"),
        (lambda path: path.write_text("t,a\n"), "counts"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    spoil: Callable[[Path], object], told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder / "flu_death.csv")
    with pytest.raises(BadInput, match=told):
        repeated(folder)
    assert papers.main(["--data", str(folder)]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "PENSTOCK_DATA"),
        (["--data", ""], "PENSTOCK_DATA"),
        (["--data", ".", "--seeds", "1"], "--seeds"),
        (["--data", ".", "--workers", "0"], "--workers"),
        (["--data", ".", "--json", "nowhere/at/all.json"], "nowhere"),
    ],
)
def test_options_that_cannot_be_used(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert papers.main(arguments) == 2
    assert told in capsys.readouterr().err


def test_made_up_streams_miss_the_bars(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole command, with its folder from the environment."""
    monkeypatch.setenv("PENSTOCK_DATA", str(folder))
    written = folder / "figures.json"
    assert papers.main(["--seeds", "2", "--workers", "1", "--json", str(written)]) == 1
    assert "NO" in capsys.readouterr().out
    data = json.loads(written.read_text(encoding="utf-8"))
    assert len(data["figures"]) == 4 * 3 + 8
    assert {stage["variant"] for stage in data["stages"]} == set(papers.STAGES)
    assert all(figure["measured"]["spent"] <= 1 for figure in data["figures"])


# stream of which the results are told otherwise: ours, as published (error and spending) and repaired, over the stored
CASES = {
    "near": (1.1, 3.0, 1.0, 3.0, "yes"),
    "worse, while they spend more": (1.5, 1.0, 2.0, 1.4, "explained"),
    "worse, while they spend no more": (1.5, 1.0, 1.0, 1.4, "NO"),
    "better": (0.5, 1.1, 1.0, 0.55, "explained"),
    "the transcription does not meet what is stored": (0.5, 1.3, 1.0, 0.5, "NO"),
    "without its faults it does not meet ours": (1.5, 1.0, 2.0, 1.0, "NO"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_difference_is_explained_or_a_missed_bar(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, published, spent, repaired, met = CASES[case]
    told: dict[str | Faults, tuple[float, float]] = {
        "spas": (ours, 1.0),
        AS_PUBLISHED: (published, spent),
        papers.REPAIRED: (repaired, 1.0),
    }

    def measured(wanted: Mapping[Setting, int], *_: object) -> dict[Setting, Measured]:
        return {setting: result(setting, runs) for setting, runs in wanted.items()}

    def result(setting: Setting, runs: int) -> Measured:
        stored = papers.STORED[setting.stream]
        if setting.epsilon == papers.JAVA_EPSILON:
            assert isinstance(setting.what, str)
            return Measured(papers.JAVA[setting.what][setting.stream], 0.0, runs, 1.0)
        factor, spending = told.get(setting.what, (1.0, 1.0)) if setting.stream == RETAIL else (1.0, 1.0)
        return Measured(factor * stored, 0.0, runs, spending)

    monkeypatch.setattr(papers, "measure_shown", measured)
    assert papers.main(["--data", str(folder)]) == (1 if met == "NO" else 0)
    line = next(line for line in capsys.readouterr().out.splitlines() if "spas, retail" in line)
    assert line.split()[-1] == met


def test_an_interval_may_meet_the_margin() -> None:
    assert papers._meets(Measured(1.2, 0.5, 25, 1.0), 1.0)
    assert not papers._meets(Measured(1.2, 0.1, 25, 1.0), 1.0)


def test_processes_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # processes know of no small window
    streams = {"walk": synthetic("walk", bins=2, steps=60, seed=1).counts}
    wanted = {Setting("uniform", "walk", "1"): 2, Setting(AS_PUBLISHED, "walk", "1"): 2}
    done: list[None] = []
    one = measure(wanted, streams, 1, lambda: done.append(None))
    assert len(done) == 4
    assert all(measured.error > 0 and measured.deviation > 0 for measured in one.values())
    assert measure(wanted, streams, 2, lambda: None) == one


def test_counts_of_zero_divide_by_one() -> None:
    assert relative_error(np.array([[3.0], [6.0]]), np.array([[0], [4]])) == (3 + 0.5) / 2


# ---- the transcription ----------------------------------------------------------------------------------------------


def published(
    faults: Faults = AS_PUBLISHED, counts: Ints | Floats | None = None, *, remember: bool = True
) -> PlainSPAS:
    """A jumping stream of three bins, or another one, through the transcription."""
    rows = synthetic("jumps", bins=3, steps=500, seed=3).counts if counts is None else counts
    publishing = PlainSPAS(2.0, WINDOW, rows.shape[1], seed=7, faults=faults, remember=remember)
    for row in rows.tolist():
        assert publishing.step(row) is publishing.published[-1]
    return publishing


def test_remembering_changes_nothing() -> None:
    once, anew = published(), published(remember=False)
    assert once.spent == pytest.approx(anew.spent)
    assert np.array(once.published) == pytest.approx(np.array(anew.published))


def test_as_published_it_spends_more_than_it_books() -> None:
    publishing, honest = published(), published(Faults(unbooked_leftover=False))
    assert publishing.fullest_window() > 1.1
    assert sum(publishing.spent) > sum(publishing.booked)
    assert honest.spent == honest.booked


def test_the_warm_up_spends_epsilon_or_its_share() -> None:
    assert sum(published().spent[:WINDOW]) == pytest.approx(2.0)
    assert sum(published(Faults(full_warm_up=False)).spent[:WINDOW]) == pytest.approx(1.5)


def test_a_threshold_is_drawn_once_or_for_every_release(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[float] = []
    usual = PlainSPAS._noise_of_threshold

    def noted(self: PlainSPAS) -> float:
        drawn.append(usual(self))
        return drawn[-1]

    monkeypatch.setattr(PlainSPAS, "_noise_of_threshold", noted)
    assert sum(published().compared) == len(drawn)
    assert len(set(drawn)) == 1
    drawn.clear()
    published(Faults(one_threshold=False))
    assert len(set(drawn)) > 5


def test_what_cannot_be_paid_is_compared_as_published_only() -> None:
    """After the warm-up, which takes more than a release may, nothing can be paid for a while."""
    blocked = slice(WINDOW, WINDOW + WARM_UP)
    assert all(published().compared[blocked])
    assert not any(published(Faults(one_threshold=False)).compared[blocked])


def test_the_distance_is_taken_to_what_was_there_or_what_was_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise, a stream that creeps is never far from where it was, but soon from what was published."""
    monkeypatch.setattr(PlainSPAS, "_laplace", lambda self, scale: 0.0)
    creeping = np.arange(500)[:, np.newaxis] / 10
    assert not any(published(counts=creeping).sampled)
    assert any(published(Faults(raw_distance=False), creeping).sampled)


def test_the_mean_distance_has_its_own_sensitivity() -> None:
    assert (published().sensitivity, published(Faults(unit_sensitivity=False)).sensitivity) == (1, 1 / 3)


def test_direct_releases_may_use_what_decisions_leave() -> None:
    """A wild stream is published at every step; then a window is filled to epsilon, not to three quarters of it."""
    wild = np.random.default_rng(1).integers(0, 10_000, (600, 1))
    idle, busy = (published(Faults(full_warm_up=False, idle_share=flag), wild) for flag in (True, False))
    assert idle.count > WINDOW
    assert busy.count == WINDOW
    assert sum(idle.spent[-WINDOW:]) == pytest.approx(1.5)
    assert sum(busy.spent[-WINDOW:]) == pytest.approx(2.0)


def test_without_its_faults_it_keeps_to_epsilon() -> None:
    publishing = published(papers.REPAIRED)
    assert publishing.fullest_window() <= 1 + 1e-9
    assert publishing.spent == publishing.booked


def test_every_fault_has_a_stage() -> None:
    assert list(papers.REPAIRS) == [field.name for field in fields(Faults)]
    assert not any(vars(papers.REPAIRED).values())
