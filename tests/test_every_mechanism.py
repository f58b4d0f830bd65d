"""Every mechanism as a user meets it: from the command line, through a store, and from five lines of Python."""

import csv
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.main import app
from penstock.models import DeltaNeighbourhood, EventLevel, PrivacyModel, UserLevel, WEvent
from penstock.store import Archive
from penstock.store.verify import verify

STEPS, BINS = 24, 3
LAWS: dict[type[PrivacyModel], tuple[str, ...]] = {
    EventLevel: ("--model", "event-level", "--epsilon", "1"),
    WEvent: ("--model", "w-event", "--epsilon", "1", "--w", "6"),
    UserLevel: ("--model", "user-level", "--epsilon", "1", "--horizon", str(STEPS)),
    DeltaNeighbourhood: ("--model", "delta-neighbourhood", "--epsilon", "1", "--steps", "6"),
}
CASES = [
    pytest.param(key, law, id=f"{key}-{model.__name__}")
    for key, mechanism in ps.mechanisms().items()
    for model, law in LAWS.items()
    if model in mechanism.proven_for
]


def run(folder: Path, rows: int, mechanism: str, law: tuple[str, ...]) -> bytes:
    """Publish the first rows of a stream of jumps, and return all that was written so far."""
    counts = ps.streams.synthetic("jumps", bins=BINS, steps=STEPS, seed=5).counts[:rows]
    with (folder / "counts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["t", "a", "b", "c"], *([t, *row] for t, row in enumerate(counts.tolist(), 1))])
    told = ["--input", str(folder / "counts.csv"), "--output", str(folder / "out.csv"), "--store", str(folder / "db")]
    result = CliRunner().invoke(app, ["run", *told, "--mechanism", mechanism, *law])
    assert result.exit_code == 0, result.output
    return (folder / "out.csv").read_bytes()


@pytest.mark.parametrize(("mechanism", "law"), CASES)
def test_published_in_two_runs_from_the_command_line(mechanism: str, law: tuple[str, ...], tmp_path: Path) -> None:
    """The second run goes on where the first one was, and the store verifies."""
    first = run(tmp_path, STEPS // 2, mechanism, law)
    both = run(tmp_path, STEPS, mechanism, law)
    assert both.startswith(first)
    assert both.count(b"\n") == STEPS + 1
    with Archive(tmp_path / "db") as archive:
        found = verify(archive, "counts")
    assert (found.units, found.lost) == (STEPS, 0)
    assert found.fresh > 0
    assert found.peak is not None
    assert found.peak <= found.model.epsilon


@pytest.mark.parametrize("key", ps.mechanisms())
def test_published_from_five_lines_of_python(key: str) -> None:
    """And the true counts come through when epsilon is so large that noise does not matter: no mechanism is blind."""
    kind = ps.mechanism(key)
    stream = ps.streams.Stream(np.full((STEPS, BINS), 10_000))
    model = next(
        model
        for model in (ps.WEvent(epsilon=1000, w=6), ps.UserLevel(epsilon=1000, horizon=STEPS))
        if type(model) in kind.proven_for
    )
    releases = list(ps.publish(stream, kind(model=model)))
    assert [release.t for release in releases] == list(range(1, STEPS + 1))
    assert np.abs(releases[-1].values - 10_000).max() < 100
