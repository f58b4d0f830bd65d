"""The comparison with what others have measured: its verdicts, its command, and the transcription of SPAS."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from in_process import command as penstock
from penstock.bench import peers
from penstock.bench.metrics import Outcome
from penstock.bench.peers import Entry, Measured
from penstock.bench.plain import AS_PUBLISHED, WARM_UP, Faults, PlainSPAS
from penstock.bench.scenario import Promise
from penstock.bench.suite.streams import NAMED, PEERS
from penstock.bench.transcribed import Transcribed
from penstock.streams import synthetic
from penstock.types import Floats, Ints

ROWS = 12
WINDOW = 120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of the right names with a few made-up rows each."""
    rng = np.random.default_rng(5)
    for name in PEERS.values():
        weeks = [f"{2019 + i // 6}-W{(30 + 4 * i % 24):02}" for i in range(ROWS)]
        rows = [f"{week},{rng.integers(40, 90)},{rng.integers(40, 90)}" for week in weeks]
        (tmp_path / NAMED[name].file).write_text("\n".join(["t,a,b", *rows, ""]), encoding="utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "JAVA_PROMISE", Promise("w-event", "1", 20))
    monkeypatch.setattr(peers, "STORED_PROMISE", Promise("w-event", "0.9", 20))
    monkeypatch.delenv("PENSTOCK_DATA", raising=False)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "PENSTOCK_DATA"),
        (("--data", "nowhere"), "nowhere"),
        (("--data", "{}", "--json", "nowhere/at/all.json"), "nowhere"),
    ],
)
def test_options_that_cannot_be_used(arguments: tuple[str, ...], told: str, folder: Path) -> None:
    code, _, err = penstock("bench", "peers", *(each.format(folder) for each in arguments))
    assert code == 2
    assert told in err


def test_a_stream_that_is_missing_is_not_made_up(folder: Path) -> None:
    (folder / "flu_death.csv").unlink()
    code, _, err = penstock("bench", "peers", "--data", folder)
    assert (code, "flu death" in err) == (2, True)


def test_made_up_streams_miss_the_bars(folder: Path) -> None:
    """The whole command, twice: the second time nothing is run."""
    written, into = folder / "figures.json", folder / "into"
    command = "bench", "peers", "--data", folder, "--into", into, "--seeds", 2, "--workers", 1, "--json", written
    code, out, err = penstock(*command)
    assert (code, "NO" in out, "runs to do" in err) == (1, True, True)
    data = json.loads(written.read_text(encoding="utf-8"))
    assert len(data["figures"]) == 4 * 3 + 8
    assert {stage["variant"] for stage in data["stages"]} == {*peers.STAGES, "Penstock"}
    assert all(figure["measured"]["spent"] <= 1 for figure in data["figures"])
    again = penstock(*command)
    assert (again[0], again[1], "to do" in again[2]) == (1, out, False)


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
def test_a_difference_is_explained_or_a_missed_bar(case: str) -> None:
    ours, published, spent, repaired, met = CASES[case]
    told: dict[str | Faults, tuple[float, float]] = {
        "spas": (ours, 1.0),
        AS_PUBLISHED: (published, spent),
        peers.REPAIRED: (repaired, 1.0),
    }
    called = {name: stream for stream, name in PEERS.items()}

    def outcome(entry: Entry) -> Outcome:
        stream = called[entry.stream]
        if not isinstance(entry, Transcribed) and entry.mechanism != "spas":
            return _with(peers.JAVA[entry.mechanism][stream], 1.0)
        what = entry.faults if isinstance(entry, Transcribed) else "spas"
        factor, spending = told.get(what, (1.0, 1.0)) if stream == "retail" else (1.0, 1.0)
        return _with(factor * peers.STORED[stream], spending)

    def measuring(wanted: Mapping[Entry, int]) -> dict[Entry, dict[int, Outcome]]:
        return {entry: dict.fromkeys(range(runs), outcome(entry)) for entry, runs in wanted.items()}

    figures = peers.figures(peers.results(40, measuring))
    verdicts = {(figure.mechanism, figure.stream): figure.met for figure in figures}
    assert verdicts.pop(("spas", "retail")) == met
    assert set(verdicts.values()) == {"yes"}


def _with(error: float, spent: float) -> Outcome:
    return Outcome(0, error, 0, 0, 0, 0, 0, 0, 0, spent)


def test_an_interval_may_meet_the_margin() -> None:
    assert peers.meets(Measured(1.2, 0.5, 25, 1.0, 0.2), 1.0)
    assert not peers.meets(Measured(1.2, 0.1, 25, 1.0, 0.04), 1.0)


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
    publishing = published(peers.REPAIRED)
    assert publishing.fullest_window() <= 1 + 1e-9
    assert publishing.spent == publishing.booked


def test_every_fault_has_a_stage() -> None:
    assert list(peers.REPAIRS) == [field.name for field in fields(Faults)]
    assert not any(vars(peers.REPAIRED).values())
