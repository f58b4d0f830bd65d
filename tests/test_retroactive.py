"""The comparison of RG with publishing always: its figures are errors of sliding sums, and it says so."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench import retroactive
from penstock.bench.retroactive import sums
from penstock.bench.suite.naming import Loaded
from penstock.post.sliding import sliding_sums

REST = Loaded("rest", np.full((60, 2), 100), "generated", "it rests", (2,))


@given(st.integers(1, 9), st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_true_sums(width: int, row: list[int]) -> None:
    expected = [sum(row[max(i - width + 1, 0) : i + 1]) for i in range(len(row))]
    assert sliding_sums(np.array(row)[:, np.newaxis], width).ravel().tolist() == expected


@pytest.mark.parametrize("width", [1, 4])
def test_baselines_have_the_errors_they_must_have(width: int) -> None:
    """In the mean over runs: 2 / epsilon^2 in every bin and unit; and width^2 of it if every sum has its own noise."""
    added, own = (
        [sums(key, (), "rest", "0.1", width).run(seed, REST) for seed in range(40)]
        for key in ("baseline", "sliding_baseline")
    )
    units = 2 * 2 / 0.1**2  # two bins
    assert np.mean([run.sse for run in added]) == pytest.approx(width * units, rel=0.15)
    assert np.mean([run.sse for run in own]) == pytest.approx(width**2 * units, rel=0.15)
    assert all(run.fullest == 1 for run in [*added, *own])


def test_the_command_shows_every_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(retroactive, "LONGEST", 30)
    monkeypatch.setattr(retroactive, "MADE_UP", ("jumps",))
    assert retroactive.main(["--data", "", "--seeds", "2", "--workers", "1", "--markdown"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("| jumps ") == len(retroactive.EPSILONS) * len(retroactive.WIDTHS)
    assert shown.count("±") > 4 * len(retroactive.VARIANTS)
    assert "| 0.1           |                 9.00 |                 85.5% |" in shown
    assert "1.00 |" in shown


def test_samples_of_large_counts_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def large(folder: str) -> dict[str, Loaded]:
        return {"large": Loaded("large", np.full((5, 1), 10 * retroactive.SAMPLED_UP_TO), "generated", "", (1,))}

    monkeypatch.setattr(retroactive, "_streams", large)
    monkeypatch.setattr(retroactive, "LONGEST", 30)
    assert retroactive.main(["--seeds", "2", "--workers", "1"]) == 0
    assert all(" - " in line for line in capsys.readouterr().out.splitlines() if "large" in line)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seeds", "1"], "at least 2 runs"),
        (["--data", "/nowhere"], "cannot be read"),
        (["--workers", "0"], "process"),
    ],
)
def test_what_cannot_be_used_is_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert retroactive.main(arguments) == 2
    assert words in capsys.readouterr().err
