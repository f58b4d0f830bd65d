"""Histogram methods as a user meets them: from the command line, and through a store that is stopped and killed."""

import csv
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import penstock as ps
from in_process import Crash, command, crash_at, made
from penstock.charges import Fact, recount
from penstock.store import Archive
from penstock.store.record import unpack
from penstock.store.verify import verify, verify_file
from penstock.types import Cause, Published

UNITS = 14
COUNTS = np.cumsum(np.random.default_rng(5).integers(0, 40, (UNITS, 4)), axis=0)
LAW = ("--model", "w-event", "--epsilon", "4", "--w", "3")
TREE = ("--set", "histogram=quadtree", "--set", "shape=2x2")


# ---- from the command line ------------------------------------------------------------------------------------------


class Folder:
    """An input, an output, a store, and the command."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, rows: int, *more: object, mechanism: str = "uniform") -> tuple[int, str, str]:
        with (self.path / "in.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["t", *"abcd"], *([t + 1, *COUNTS[t].tolist()] for t in range(rows))])
        files = {"input": "in.csv", "output": "out.csv", "store": "db"}
        named = [f"--{name}={self.path / file}" for name, file in files.items()]
        return command("run", *named, "--mechanism", mechanism, *LAW, *more)

    def published(self) -> bytes:
        return (self.path / "out.csv").read_bytes()

    def refused(self, *more: object, rows: int = UNITS) -> str:
        """In one sentence, and nothing is written or spent."""
        before = self.published() if (self.path / "out.csv").exists() else b""
        code, out, err = self.run(rows, *more)
        assert (code, out) == (2, ""), err
        assert err.startswith("error: ")
        assert len(err.splitlines()) == 1
        assert (self.published() if (self.path / "out.csv").exists() else b"") == before
        if (self.path / "db").exists():
            shown = json.loads(command("ledger", "show", self.path / "db", "--json")[1])
            assert sum(stream["t"] for stream in shown) == before.count(b"\n") - bool(before)
        return err


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("mechanism", ["uniform", "rg", "sliding_baseline", "pegasus", "spas"])
@pytest.mark.parametrize(
    "how", [TREE, ("--set", "histogram=quadtree(split=4)"), ("--set", "histogram=adaptive(look=0.3)")]
)
def test_published_in_two_runs(folder: Folder, mechanism: str, how: tuple[str, ...]) -> None:
    assert folder.run(6, *how, mechanism=mechanism)[0] == 0
    first = folder.published()
    code, out, err = folder.run(UNITS, *how, "--json", mechanism=mechanism)
    assert code == 0, err
    assert json.loads(out)["new"] == UNITS - 6
    assert folder.published().startswith(first)
    assert folder.published().count(b"\n") == UNITS + 1
    (told,) = json.loads(command("ledger", "verify", folder.path / "db", "--json")[1])
    assert (told["units"], told["lost"]) == (UNITS, 0)
    with Archive(folder.path / "db") as archive:
        peak = verify(archive, "in").peak
    assert peak is not None
    assert peak <= ps.Epsilon(4)


@pytest.mark.parametrize(
    "other",
    [
        ("--set", "shape=2x2"),
        ("--set", "histogram=adaptive", "--set", "shape=2x2"),
        ("--set", "histogram=quadtree(split=4)", "--set", "shape=2x2"),
        ("--set", "histogram=quadtree", "--set", "shape=1x4"),
        ("--set", "histogram=quadtree"),
    ],
    ids=lambda other: " ".join(other[1::2]),
)
def test_another_method_on_the_same_stream_is_refused(folder: Folder, other: tuple[str, ...]) -> None:
    assert folder.run(6, *TREE)[0] == 0
    assert "go on as it was begun" in folder.refused(*other)
    assert folder.run(UNITS, *TREE)[0] == 0


@pytest.mark.parametrize("same", [("shape=[2, 2]",), ("shape=2X2",), ('histogram="quadtree(split=2)"',)], ids=str)
def test_the_same_method_written_otherwise_goes_on(folder: Folder, same: tuple[str, ...]) -> None:
    assert folder.run(6, *TREE)[0] == 0
    code, _, err = folder.run(UNITS, *TREE, *(part for each in same for part in ("--set", each)))
    assert code == 0, err


@pytest.mark.parametrize(
    ("parameter", "sentence"),
    [
        ("shape=2x3", "has 6 cells, and there are 4 bins"),
        ("shape=3", "has 3 cells, and there are 4 bins"),
        ("shape=2x2x", "shape"),
        ("shape=two", "shape"),
        ("shape=[2.5, 2]", "shape"),
        ("shape=4.0", "shape"),
        ("shape=true", "shape"),
        ("shape=-4", "shape"),
        ("shape=0x4", "shape"),
        ("histogram=quadtre", "Did you mean quadtree?"),
        ("histogram=quadtree(split=1)", "split must"),
        ("histogram=quadtree(4)", "name=value"),
        ("histogram=4", "no histogram method"),
        ("histogram=[1, 2]", "no histogram method"),
    ],
)
def test_a_mistake_is_refused_before_anything_is_spent(folder: Folder, parameter: str, sentence: str) -> None:
    assert sentence in folder.refused("--set", "histogram=quadtree", "--set", parameter)


def test_releases_as_json_are_whole_numbers_and_finite(folder: Folder) -> None:
    """With so much budget that there is no noise left to speak of, too."""
    for epsilon in ("0.000000030", "1", "900000"):
        out = folder.path / f"{epsilon}.jsonl"
        code, _, err = folder.run(5, *TREE, "--output", out, "--store", f"{out}.db", "--epsilon", epsilon)
        assert code == 0, err
        for line in out.read_text().splitlines():
            told = json.loads(line, parse_constant=lambda word: pytest.fail(word))
            assert told


@pytest.mark.parametrize("how", ["quadtree", "adaptive", "quadtree(split=3)"])
def test_simulated_before_anything_is_spent(how: str) -> None:
    shown = ["simulate", "--mechanism", "uniform", *LAW, "--bins", "12", "--length", "30", "--trials", "2", "--json"]
    code, out, err = command(*shown, "--set", f"histogram={how}", "--set", "shape=3x4")
    assert code == 0, err
    told = json.loads(out)
    assert "uniform" in json.dumps(told)
    code, out, err = command(*shown, "--set", f"histogram={how}", "--set", "shape=3x5")
    assert (code, out) == (2, "")
    assert "has 15 cells, and there are 12 bins" in err


def test_all_mechanisms_are_tried_with_a_method_but_not_with_what_one_of_them_takes() -> None:
    shape = ["simulate", *LAW, "--bins", "12", "--length", "20", "--trials", "1", "--json"]
    usual, other = (
        json.loads(command(*shape, *told)[1])["mechanisms"] for told in ([], ["--set", "histogram=adaptive"])
    )
    errors, others = ({row["mechanism"]: row["mean_error"] for row in rows} for rows in (usual, other))
    assert errors.keys() == others.keys()
    assert all(errors[key] != others[key] for key in ("uniform", "bd", "sample", "rg", "sliding_baseline"))
    code, _, message = command(*shape, "--set", "warm_up=3")
    assert code == 2
    assert "warm_up is no parameter of all mechanisms" in message


# ---- through a store ------------------------------------------------------------------------------------------------


class Planned(ps.SimulationNoise):
    """Calls itself secure, and draws what is planned for a unit, whoever was killed before it."""

    secure: ClassVar[bool] = True

    def rekey(self) -> None:
        self._rng = np.random.default_rng(self.seed)


def sliding(**options: Any) -> ps.Mechanism:
    return made("SlidingBaseline", width=3, **options)


def retroactive(**options: Any) -> ps.Mechanism:
    return made("RG", monitor_share=0.4, **options)


POINTS = ("intent", "draw", "state", "write", "commit", "head", "emit")
HOW = [{"histogram": "quadtree", "shape": "2x2"}, {"histogram": "adaptive(split=2)"}]
MODELS = [ps.EventLevel(epsilon=2), ps.WEvent(epsilon=1, w=3, neighbours="replace")]
every_way = pytest.mark.parametrize("how", HOW, ids=["quadtree", "adaptive"])
every_model = pytest.mark.parametrize("model", MODELS, ids=["event", "window"])
both = pytest.mark.parametrize("make", [sliding, retroactive])
Make = Callable[..., ps.Mechanism]


def publish_on(path: Path, mechanism: ps.Mechanism, until: int, at: Callable[[str], None] = lambda point: None) -> None:
    """Publish up to a unit, in a store that is opened for it, and leave like a process that is killed."""
    noise = Planned(0)
    with ps.Store(path, at=at) as store:
        publisher = ps.Publisher(mechanism, store, "s", bins=tuple("abcd"), noise=noise)
        for t in range(publisher.t + 1, until + 1):
            noise.seed = t
            publisher.publish(ps.Snapshot(t, COUNTS[t - 1] % 97))
            store.at("emit")


def stored(path: Path, model: ps.PrivacyModel) -> tuple[list[bytes], list[Published]]:
    """All that was stored, if it is whole and within the law."""
    with Archive(path) as archive:
        verify_file(archive)
        verify(archive, "s")
        account, facts = archive.account("s"), list[Fact]()
        bodies = [record.body for record in archive.records(account)]
        for body in bodies:
            facts += unpack(body).facts
        releases = list(archive.published(account))
    assert recount(facts, model) <= model.epsilon
    return bodies, releases


@both
@every_way
@every_model
def test_stopped_after_every_unit_it_publishes_the_same_bytes(
    make: Make, how: dict[str, Any], model: ps.PrivacyModel, tmp_path: Path
) -> None:
    publish_on(tmp_path / "whole", make(model=model, **how), UNITS)
    for t in range(1, UNITS + 1):
        publish_on(tmp_path / "cut", make(model=model, **how), t)
    whole, cut = (stored(tmp_path / name, model) for name in ("whole", "cut"))
    assert whole[0] == cut[0]
    assert any((release.kind != ps.Kind.REPUBLISHED).any() for release in whole[1][3:])


@both
@every_way
@pytest.mark.parametrize("point", POINTS)
def test_killed_in_mid_stream_it_goes_on(make: Make, how: dict[str, Any], point: str, tmp_path: Path) -> None:
    """Either the same bytes, or one unit is lost; and the next ones keep the law."""
    model = MODELS[1]
    publish_on(tmp_path / "whole", make(model=model, **how), UNITS)
    publish_on(tmp_path / "cut", make(model=model, **how), 5)
    crashed = True
    with suppress(Crash):
        publish_on(tmp_path / "cut", make(model=model, **how), 6, crash_at(point))
        crashed = False
    publish_on(tmp_path / "cut", make(model=model, **how), UNITS)
    whole, cut = stored(tmp_path / "whole", model), stored(tmp_path / "cut", model)
    lost = [release.t for release in cut[1] if release.cause is Cause.LOST]
    assert lost == ([6] if crashed and point in POINTS[: POINTS.index("commit")] else [])
    if not lost:
        assert whole[0] == cut[0]
    assert [release.t for release in cut[1]] == list(range(1, UNITS + 1))
    assert {release.cause for release in cut[1]} <= {Cause.DECIDED, Cause.LOST}
    assert all(np.isfinite(release.noise_sd).all() for release in cut[1])
