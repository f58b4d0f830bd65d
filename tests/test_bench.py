"""The speed bench runs, and its verdicts follow from its figures. The bars themselves are for a quiet machine."""

import itertools
from pathlib import Path

import pytest

from penstock.bench import __main__ as command
from penstock.bench import durable, speed
from penstock.bench.speed import Result
from penstock.histograms import Adaptive, Quadtree


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ROUNDS": 2, "LONG_STREAM": 2000, "CHUNK": 20, "SLOW_CHUNK": 2}.items():
        monkeypatch.setattr(speed, name, value)


def test_durability_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"ROUNDS": 3, "STREAMS": 3, "SHARED_ROUNDS": 2, "LONG_STREAM": 120}.items():
        monkeypatch.setattr(durable, name, value)
    monkeypatch.chdir(tmp_path)
    done: list[int] = []
    results = [durable.release_alone(), durable.releases_together(), *durable.aged(done.append)]
    assert sum(done) == durable.LONG_STREAM
    assert all(result.value > 0 for result in results)
    assert not list(tmp_path.iterdir())


def test_every_figure_is_measured() -> None:
    done: list[int] = []
    results = [speed.against_numpy(), speed.against_opendp(), speed.bd_step(3), speed.timing_leak(400)]
    results += [speed.against_plain(2, bar=1), *speed.flat(done.append), speed.searching_the_past()]
    results += [speed.step("rg", speed.EVENTS, 20, "bursts", bar=100, steps=3), speed.simulated("sample", steps=50)]
    results += [speed.release_by(method, 16, bar=2) for method in (Quadtree(), Adaptive())]
    assert sum(done) == speed.LONG_STREAM
    assert all(result.value >= 0 for result in results)
    assert all(result.value > 0 for result in results if result.unit == "x")


@pytest.mark.parametrize(
    ("value", "at_least", "met"), [(1, False, True), (3, False, False), (1, True, False), (3, True, True)]
)
def test_a_bar_is_met_or_missed(value: float, at_least: bool, met: bool) -> None:
    assert Result("figure", value, "x", bar=2, at_least=at_least).met is met


def test_both_steps_of_spas_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transcription is the numerator, and more is better."""
    taken = itertools.cycle([5.0, 1.0])
    monkeypatch.setattr(speed, "_seconds", lambda call: next(taken))
    result = speed.against_plain(1, bar=5)
    assert (result.value, result.bar, result.at_least, result.met) == (5, 5, True, True)


@pytest.mark.parametrize(("value", "code"), [(1.0, 0), (3.0, 1)])
def test_a_missed_bar_is_an_exit_code(
    value: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("against_numpy", "against_opendp", "searching_the_past", "timing_leak"):
        monkeypatch.setattr(speed, name, lambda: Result("figure", value, "x", bar=2))
    monkeypatch.setattr(speed, "bd_step", lambda bins: Result("step", value, "x", bar=2))
    monkeypatch.setattr(speed, "step", lambda *_, bar: Result("step", value, "ms", bar))
    monkeypatch.setattr(speed, "against_plain", lambda bins, bar: Result("step", 1, "x", bar=2))
    monkeypatch.setattr(speed, "release_by", lambda method, side, bar: Result(str(method), value, "s", bar=2))
    monkeypatch.setattr(speed, "simulated", lambda key: Result(key, value, "us", bar=2))
    monkeypatch.setattr(speed, "flat", lambda advance: [])
    for name in ("release_alone", "releases_together"):
        monkeypatch.setattr(durable, name, lambda: Result("figure", value, "x", bar=2))
    monkeypatch.setattr(durable, "aged", lambda advance: [])
    assert command.main() == code
    assert ("NO" in capsys.readouterr().out) is bool(code)
