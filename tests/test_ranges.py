"""``python -m penstock.bench.ranges``: it measures, shows and draws, and what cannot be read is refused."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from penstock.asking import count
from penstock.bench import ranges
from penstock.bench.populations import CENSUS, Population, from_files, made_up
from penstock.histograms import Laplace, Quadtree

TINY = {"EPSILONS": ("1",), "PARTS": (0.01, 0.5), "QUERIES": 3, "BUDGETS": ("0.1",), "BINS": 500}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {**TINY, "COVERED": 2, "DRAWN": 2}.items():
        monkeypatch.setattr(ranges, name, value)
    rng = np.random.default_rng(1)
    both = [
        Population("census, made up", (12, 2, 3), rng.integers(0, 9, 72)),
        Population("city, made up", (16, 16), rng.integers(0, 9, 256)),
    ]
    monkeypatch.setattr(ranges, "made_up", lambda: both)
    monkeypatch.delenv("PENSTOCK_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def files(folder: Path) -> None:
    """A few people and a few taxis, one of them far away."""
    with gzip.open(folder / "census_pool.csv.gz", "wt") as file:
        file.write("age,sex,education,native,married,income\n17,0,3,1,0,0\n17.0,0,3,1,0,0\n95,1,11,1,1,2\n")
    with gzip.open(folder / "tdrive_events.csv.gz", "wt") as file:
        file.write("taxi,t,lat,lon\n1,1,39.9,116.4\n2,1,39.9,116.4\n3,1,0,0\n")


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--markdown",)], ids=["plain", "markdown"])
def test_tables_are_printed(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert ranges.main(["--seeds", "2", *options]) == 0
    out = capsys.readouterr().out
    for said in (
        "census, made up: ",
        "city, made up: ",
        "records in 256 cells",
        "single fresh bins",
        "boxes in the census",
    ):
        assert said in out
    for method in ranges.METHODS:
        assert str(method) in out
    assert ("| 1 " in out) is bool(options)
    assert "nan" not in out


def test_a_figure_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert ranges.main(["--seeds", "2", "--figure", "errors.png"]) == 0
    assert "drawn: errors.png" in capsys.readouterr().out
    assert Path("errors.png").read_bytes().startswith(b"\x89PNG")


def test_real_populations_are_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(tmp_path)
    assert ranges.main(["--seeds", "2", "--data", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "census pool: 3 records" in out
    assert "taxis: 2 records in 16,384 cells" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--data", "nowhere"),
        ("--data", "empty"),
        ("--data", "torn"),
        ("--data", "plain"),
        ("--data", "words"),
        ("--data", "ragged"),
        ("--data", "header"),
        ("--data", "binary"),
        ("--seeds", "1"),
        ("--workers", "0"),
        ("--seeds", "2", "--figure", "nowhere/errors.png"),
        ("--seeds", "2", "--figure", "errors.what"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("empty", "torn", "plain", "words", "ragged", "header", "binary"):
        Path(name).mkdir()
        files(Path(name))
    Path("empty/census_pool.csv.gz").unlink()
    whole = Path("torn/census_pool.csv.gz").read_bytes()
    Path("torn/census_pool.csv.gz").write_bytes(whole[: len(whole) // 2])
    Path("plain/census_pool.csv.gz").write_text("age,sex\n1,2\n")
    for name, text in (
        ("words", "age\nold,young,1,1,1,1\n"),
        ("ragged", "age\n1,1\n1,1,1,1,1,1\n"),
        ("header", "age\n"),
    ):
        Path(name, "census_pool.csv.gz").write_bytes(gzip.compress(text.encode()))
    Path("binary/census_pool.csv.gz").write_bytes(gzip.compress(b"age\n\xff\xfe\x00\n"))
    assert ranges.main(arguments) == 2
    told = capsys.readouterr()
    assert told.err.startswith("error: ")
    assert len(told.err.splitlines()) == 1


# ---- its parts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(256, 256), CENSUS.shape, (96, 2), (1000,), (7,), (1, 5)], ids=str)
@pytest.mark.parametrize("part", [0.0001, 0.001, 0.01, 0.1, 0.5])
def test_boxes_are_as_large_as_they_should_be(shape: tuple[int, ...], part: float) -> None:
    wanted = max(part * math.prod(shape), 1.0)
    boxes = list(ranges.random_boxes(shape, part, 50))
    assert len(boxes) == 50
    for box in boxes:
        assert len(box) == len(shape)
        assert all(0 <= side.start < side.stop <= length for side, length in zip(box, shape, strict=True))
        size = math.prod(side.stop - side.start for side in box)
        assert wanted / ranges.NEAR <= size <= wanted * ranges.NEAR
    assert boxes == list(ranges.random_boxes(shape, part, 50))


def test_boxes_are_anywhere() -> None:
    seen = np.zeros((32, 32), np.int64)
    for box in ranges.random_boxes((32, 32), 0.01, 400):
        seen[box] += 1
    assert seen.any(axis=0).all()
    assert seen.any(axis=1).all()


def test_made_up_populations_are_the_same_every_time() -> None:
    for one, other in zip(made_up(), made_up(), strict=True):
        assert one.name == other.name
        assert len(one.counts) == math.prod(one.shape)
        assert one.counts.sum() > 0
        assert np.array_equal(one.counts, other.counts)


def test_people_and_taxis_are_counted_where_they_are(tmp_path: Path) -> None:
    files(tmp_path)
    people, taxis = from_files(tmp_path)
    places = CENSUS.where(age=17, sex=0, education=3, native=1, married=0, income=0)
    assert people.counts[places].tolist() == [2]
    assert people.counts.sum() == 3
    assert sorted(taxis.counts[taxis.counts > 0].tolist()) == [2]


@pytest.mark.parametrize("method", [Laplace(), Quadtree()], ids=str)
def test_an_interval_reaches_as_far_as_count_says(method: Laplace | Quadtree) -> None:
    population = Population("flat", (8, 8), np.full(64, 50))
    release = ranges.released(population, method, "0.5", 3)
    box = (slice(1, 4), slice(2, 7))
    mask = np.zeros((8, 8), np.bool_)
    mask[box] = True
    answer = count(release, mask.ravel(), histogram=method, shape=(8, 8))
    assert answer.high is not None
    assert ranges._reach(release, (8, 8), box, method) == answer.high - answer.value
