"""What two papers show of DSAT and SPAS, by default: the same claims as ``penstock.bench.papers``, on less."""

from pathlib import Path

import numpy as np
import pytest

from penstock.bench import papers
from penstock.bench.papers import (
    beside_dsft,
    beside_warm_ups,
    comparison_noise,
    jumping,
    paper_census,
    soon_after_a_jump,
)
from penstock.types import Ints

FEW = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


@pytest.mark.parametrize("bins", [5, 20])
def test_dsat_follows_jumps_like_the_best_threshold(bins: int) -> None:
    """A threshold that jumps between its ends publishes at fixed times, and is off by hundreds."""
    (jumps,) = beside_dsft({"jumps": jumping(bins, 4)}, 2, 1, FEW)
    assert jumps.ratio <= papers.OVER_DSFT
    assert jumps.error < jumps.fixed / 20


def test_dsat_follows_a_census_like_the_best_threshold() -> None:
    (sampled,) = beside_dsft({"census": paper_census(None, 5000)}, 1, 1, (0.3, 0.4, 0.5, 0.6, 0.7))
    assert sampled.ratio <= papers.OVER_DSFT
    assert sampled.error < 1.1 * sampled.fixed


@pytest.mark.parametrize("bins", [1, 5, 20])
def test_dsat_publishes_soon_after_a_jump(bins: int) -> None:
    assert soon_after_a_jump(bins, 10, 1) == 1


@pytest.mark.parametrize("w", [8, 12, 20])
def test_spas_needs_no_warm_up_of_its_own(w: int) -> None:
    """With one release in the first window it had one in each for ever: a ramp was 30 times as far off."""
    assert {each.name: each.ratio <= papers.OVER_SPAS for each in beside_warm_ups(w, 1500, 2, 1)} == {
        "ramp": True,
        "walk": True,
        "constant": True,
    }


@pytest.mark.parametrize("bins", [1, 5, 20])
def test_streams_that_jump(bins: int) -> None:
    """Eight jumps, each ten times as far as the noise of a comparison."""
    sizes = np.abs(np.diff(jumping(bins, 4), axis=0)).sum(axis=1)
    assert np.count_nonzero(sizes) == papers.JUMPS
    assert sizes[sizes > 0].min() >= papers.FAR * comparison_noise(bins)


def test_the_command_says_what_holds_and_what_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def small(people: Ints | None) -> Ints:
        assert people is None
        return jumping(2, 1)

    monkeypatch.setattr(papers, "paper_census", small)
    for name, value in {
        "THRESHOLDS": (0.01, 0.1),
        "WINDOWS": (8,),
        "UNITS": 40,
        "RUNS": 2,
        "JUMPING": {"two": 2},
    }.items():
        monkeypatch.setattr(papers, name, value)
    for asked, ending in ((9.0, "everything holds"), (0.0, "does not hold: census")):
        monkeypatch.setattr(papers, "OVER_DSFT", asked)
        monkeypatch.setattr(papers, "OVER_SPAS", 9.0)
        assert papers.main(["--data", "", "--seeds", "2", "--workers", "1", "--markdown"]) == int(not asked)
        shown = capsys.readouterr().out
        assert all(f"| {name} " in shown for name in ("census", "two, 1", "two, mean", "two", *papers.MOVING))
        assert ending in shown


def test_a_folder_without_people_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert papers.main(["--data", str(tmp_path)]) == 2
    assert "leave out --data" in capsys.readouterr().err
