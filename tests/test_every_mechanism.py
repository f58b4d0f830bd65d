"""Every mechanism as a user meets it: from the command line, through a store, and from five lines of Python."""

import csv
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from in_process import penstock
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.store import Archive
from penstock.store.verify import verify

STEPS, BINS = 24, 3
LAWS: dict[type[PrivacyModel], tuple[str, ...]] = {
    EventLevel: ("--model", "event-level", "--epsilon", "1"),
    WEvent: ("--model", "w-event", "--epsilon", "1", "--w", "6"),
    UserLevel: ("--model", "user-level", "--epsilon", "1", "--horizon", str(STEPS)),
    DeltaNeighbourhood: ("--model", "delta-neighbourhood", "--epsilon", "1", "--steps", "6"),
    MContext: ("--model", "m-context", "--epsilon", "1", "--m", "4", "--presence", "present.csv"),
}
CASES = [
    pytest.param(key, law, id=f"{key}-{model.__name__}")
    for key, mechanism in ps.mechanisms().items()
    for model, law in LAWS.items()
    if model in mechanism.proven_for
]


def write(path: Path, header: list[str], rows: list[list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def run(rows: int, mechanism: str, law: tuple[str, ...]) -> bytes:
    """Publish the first rows of a stream of a crowd, and return all that was written so far."""
    stream = ps.streams.crowd(40, bins=BINS, steps=STEPS, seed=5)
    write(
        Path("counts.csv"), ["t", "a", "b", "c"], [[t, *row] for t, row in enumerate(stream.counts[:rows].tolist(), 1)]
    )
    write(
        Path("present.csv"),
        ["t", "user"],
        [[t, user] for t, here in enumerate(stream.presence or [], 1) for user in here],
    )
    told = ["--input", "counts.csv", "--output", "out.csv", "--store", "db"]
    code, output = penstock("run", *told, "--mechanism", mechanism, *law)
    assert code == 0, output
    return Path("out.csv").read_bytes()


@pytest.mark.parametrize(("mechanism", "law"), CASES)
def test_published_in_two_runs_from_the_command_line(
    mechanism: str, law: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run goes on where the first one was, and the store verifies."""
    monkeypatch.chdir(tmp_path)
    first = run(STEPS // 2, mechanism, law)
    both = run(STEPS, mechanism, law)
    assert both.startswith(first)
    assert both.count(b"\n") == STEPS + 1
    with Archive(tmp_path / "db") as archive:
        found = verify(archive, "counts")
    assert (found.units, found.lost) == (STEPS, 0)
    assert found.fresh > 0
    if isinstance(found.model, MContext):
        assert found.peak is None  # it takes to know who was present, which is sealed
    else:
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
