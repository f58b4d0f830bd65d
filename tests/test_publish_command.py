"""``penstock publish`` from outside: files in, tables out, mistakes that spend nothing, and what else is said of it."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, command, crash_at
from penstock import static
from penstock.cli.gridding import ends_of, gridded
from penstock.store import Archive

COMMAND = [str(Path(sys.executable).parent / "penstock")]
SECRET = "31.337"
LAW = ("--domain", "0..100", "--radius", "1", "--epsilon", "1", "--size-is-public", "--store", "s.db")
STEPPED = (*LAW, "--step", "0.5")
N = 60


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with sixty ages, and as many places."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    ages = np.clip(rng.normal(40, 15, N), 0, 99).round(2)
    Path("ages.csv").write_text("".join(["person,age\n", *(f"p{i},{age}\n" for i, age in enumerate(ages))]))
    places = rng.uniform([0, 0], [10, 20], (N, 2)).round(2)
    Path("places.csv").write_text("".join(["x,y\n", *(f"{x},{y}\n" for x, y in places)]))
    return tmp_path


def publish(what: str, *more: object, file: str = "ages.csv", law: tuple[str, ...] = STEPPED, stdin: str = "") -> str:
    """What is printed."""
    code, out, err = command("publish", what, file, *law, *more, stdin=stdin)
    assert code == 0, err
    assert err.splitlines()[-1].startswith("done: ")
    return out


def table(text: str) -> list[dict[str, float]]:
    return [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(io.StringIO(text))]


def spent() -> list[dict[str, Any]]:
    """What was published, or announced."""
    if not Path("s.db").exists():
        return []
    code, out, err = command("ledger", "show", "s.db", "--json")
    assert code == 0, err
    return [row for row in json.loads(out) if row["t"] or row["announced"]]


def refused(*arguments: object, verb: str = "publish", stdin: str = "") -> str:
    """One sentence, exit code 2, nothing spent, nothing shown."""
    before = spent()
    code, out, err = command(verb, *arguments, stdin=stdin)
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert err.strip().endswith((".", "?"))
    assert SECRET not in err
    assert spent() == before
    return err


# ---- what comes out --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "more", "columns"),
    [
        ("points", (), ["point", "value"]),
        ("points", ("--group", "7"), ["point", "value"]),
        ("histogram", ("--step", "5"), ["from", "to", "count"]),
        ("histogram", ("--step", "5", "--method", "adaptive"), ["from", "to", "count"]),
        ("histogram", ("--step", "5", "--method", "quadtree(split=4)"), ["from", "to", "count"]),
        ("median", (), ["median"]),
    ],
)
def test_it_is_told_in_the_units_of_the_data_and_the_same_again(
    what: str, more: tuple[str, ...], columns: list[str]
) -> None:
    first = publish(what, *more)
    rows = table(first)
    assert list(rows[0]) == columns
    assert publish(what, *more) == first
    publish(what, *more, "--output", "out.csv")
    assert Path("out.csv").read_text() == first
    publish(what, *more, "--output", "out.csv")  # which holds just this
    code, exported, _ = command("export", "s.db", "--stream", "ages")
    assert (code, exported) == (0, first)
    assert command("ledger", "verify", "s.db", "--stream", "ages", "--output", "out.csv")[0] == 0
    Path("out.csv").write_text(first.replace("\n", "\r\n", 1))
    assert "line 1" in refused("verify", "s.db", "--stream", "ages", "--output", "out.csv", verb="ledger")
    assert len(spent()) == 1


def test_a_copy_without_a_head_file_does_not_call_a_publication_unpublished() -> None:
    first = publish("points")
    assert command("backup", "s.db", "copy.db")[0] == 0
    code, out, err = command("export", "copy.db", "--stream", "ages")
    assert (code, out, "not published yet" in err, "name it with --head" in err) == (2, "", False, True)
    assert command("export", "copy.db", "--stream", "ages", "--head", "s.db.head")[:2] == (0, first)


def test_points_are_sorted_and_near_where_they_were() -> None:
    values = np.array([row["value"] for row in table(publish("points", "--epsilon", "9", "--radius", "0.5"))])
    ages = np.sort([float(line.split(",")[1]) for line in Path("ages.csv").read_text().splitlines()[1:]])
    assert (np.diff(values) >= 0).all()
    assert np.abs(values - ages).max() < 5
    assert np.isin(values * 4 % 2, [1]).all()  # middles of cells of 0.5


def test_a_plane_has_two_columns_and_two_axes() -> None:
    law = ("--domain", "0..10,0..20", *LAW[2:])
    rows = table(publish("histogram", "--column", "x", "--column", "y", file="places.csv", law=law))
    assert list(rows[0]) == ["from 1", "to 1", "from 2", "to 2", "count"]
    assert (len(rows), rows[21]["from 1"], rows[21]["to 2"]) == (400, 0.5, 2)
    assert spent()[0]["mechanism"] == "PlainHistogram by laplace 20x20"
    tree = ("--column", "y", "--column", "x", "--method", "quadtree", "--step", "2,5", "--stream", "tree")
    turned = ("--domain", "0..20,0..10", *LAW[2:])
    assert len(table(publish("histogram", *tree, file="places.csv", law=turned))) == 20
    said = refused("histogram", "places.csv", *law, "--column", "x", "--column", "y", "--method", "cumulative")
    assert "points are in order along one axis only" in said


MAP = ("--domain", "0..10,0..20", *LAW[4:], "--column", "x", "--column", "y", "--step", "1,2")
BY_BIN = ("--method", "laplace", "--step", "5")


@pytest.mark.parametrize(
    ("file", "told", "warned"),
    [
        ("places.csv", (*MAP, "--radius", "0.1"), True),
        ("places.csv", (*MAP, "--radius", "0.1", "--method", "quadtree"), True),
        ("places.csv", (*MAP, "--radius", "domain"), False),
        ("ages.csv", (*LAW, *BY_BIN), True),
        ("ages.csv", (*LAW, "--step", "5"), False),
    ],
)
def test_a_radius_that_buys_nothing_is_warned_of(file: str, told: tuple[str, ...], warned: bool) -> None:
    """Where noise is the same for every radius, a small one is a weaker promise and nothing else."""
    code, _, err = command("publish", "histogram", file, *told)
    assert (code, err.count("take --radius domain")) == (0, int(warned))
    assert len(err.splitlines()) == 1 + warned


def test_the_noise_that_is_warned_of_is_indeed_the_same() -> None:
    noise = []
    for radius in ("0.1", "domain"):
        told = (*MAP, "--radius", radius, "--stream", radius, "--json")
        noise.append(json.loads(command("publish", "histogram", "places.csv", *told)[1])["noise_sd"])
    assert noise[0] == noise[1]


@pytest.mark.parametrize("what", ["points", "histogram", "median"])
def test_json_tells_the_same_for_a_script(what: str) -> None:
    found = json.loads(publish(what, "--json", "--step", "5"))
    assert found.keys() >= {"stream", "mechanism", "model", "size", "charged", "noise_sd", "link", "new", "values"}
    assert (found["size"], found["charged"], found["new"], found["columns"]) == (N, "1", True, ["age"])
    assert (found["noise_sd"]["largest"] is None) == (what == "median")
    rows = table(publish(what, "--step", "5"))
    assert [{name: float(value) for name, value in row.items()} for row in found["values"]] == rows
    again = json.loads(publish(what, "--json", "--step", "5", "--output", "out.csv"))
    assert (again["new"], "values" in again) == (False, False)
    assert table(Path("out.csv").read_text()) == rows


def test_the_noise_is_told_in_the_units_of_the_data() -> None:
    sd = {}
    for step in ("0.1", "0.5"):
        code, _, err = command("publish", "points", "ages.csv", *LAW, "--step", step, "--stream", step)
        assert code == 0
        sd[step] = float(err.split("noise of a point: ")[1].split(" ")[0])
    assert sd == pytest.approx({"0.1": 2**0.5, "0.5": 2**0.5}, rel=0.03)
    code, _, err = command("publish", "points", "ages.csv", *STEPPED, "--group", "10", "--stream", "group")
    assert float(err.split("noise of a point: ")[1].split(" ")[0]) == pytest.approx(2**0.5 / 10, rel=0.03)
    code, _, err = command("publish", "median", "ages.csv", *STEPPED, "--stream", "m")
    assert "is secret" in err


def test_on_a_terminal_it_is_a_table_with_bars() -> None:
    with mock.patch("penstock.cli.once.looked_at", return_value=True):
        shown = publish("histogram", "--step", "5")
        points = publish("points", "--stream", "points")
    assert "█" in shown
    assert "from" in shown
    assert "36 more" in points
    assert not shown.startswith("from,to")


@pytest.mark.parametrize(
    ("what", "more"),
    [("points", ()), ("histogram", ("--step", "5")), ("histogram", ("--method", "laplace", "--step", "5"))],
)
def test_a_picture_is_drawn(what: str, more: tuple[str, ...]) -> None:
    publish(what, *more, "--picture", "p.png")
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_a_map_is_drawn() -> None:
    law = ("--domain", "0..10,0..20", *LAW[2:], "--column", "x", "--column", "y")
    publish("histogram", "--picture", "p.svg", file="places.csv", law=law)
    assert Path("p.svg").read_text().startswith("<?xml")
    assert "line or a plane" in refused(
        "histogram", "places.csv", *law[2:], "--domain", "0..1,0..1,0..1", "--picture", "q.png"
    )


# ---- what goes in ----------------------------------------------------------------------------------------------------


def test_every_format_says_the_same() -> None:
    ages = [float(line.split(",")[1]) for line in Path("ages.csv").read_text().splitlines()[1:]]
    Path("ages.jsonl").write_text("".join(json.dumps({"person": "p", "age": age}) + "\n" for age in ages))
    polars.DataFrame({"person": ["p"] * N, "age": ages}).write_parquet("ages.parquet")
    expected = static.read_points("ages.csv")
    for name in ("ages.jsonl", "ages.parquet"):
        found = static.read_points(name)
        assert found.columns == expected.columns == ("age",)
        assert np.array_equal(found.values, expected.values)
    first = publish("points")
    for name in ("ages.jsonl", "ages.parquet"):
        assert publish("points", file=name) == first
    piped = Path("ages.jsonl").read_text()
    assert publish("points", "--stream", "ages", "--input-format", "jsonl", file="-", stdin=piped) == first
    assert publish("points", "--stream", "ages", file="-", stdin=Path("ages.csv").read_text()) == first


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=9), st.sampled_from(["csv", "jsonl"]))
def test_numbers_are_read_as_they_are(tmp_path_factory: pytest.TempPathFactory, values: list[float], form: str) -> None:
    path = tmp_path_factory.mktemp("read") / f"points.{form}"
    lines = [f"{each!r}\n" if form == "csv" else f'{{"x": {each!r}}}\n' for each in values]
    path.write_text("".join(["x\n"] * (form == "csv") + lines))
    assert static.read_points(path).values[:, 0].tolist() == values


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "in.csv is empty"),
        ("age\n", "in.csv holds no points"),
        (f"{SECRET}\n41\n", "the first line looks like a row"),
        ("smith,1980-02-03\njones,1981-02-03\n", "the first line looks like a row"),
        (f"age\n41\n{SECRET}x\n", 'in.csv, line 3, column "age": a point is a finite number'),
        ("age,b\n41,x\n,y\n", 'in.csv, line 3, column "age"'),
        ("age\n41\nnan\n", 'in.csv, line 3, column "age"'),
        ("age\n41\n1e999\n", 'in.csv, line 3, column "age"'),
        ("age\n41\n1_0\n", 'in.csv, line 3, column "age"'),
        ("age,b\n41,x\n42\n", "in.csv, line 3: its number of columns"),
        ("age,pay\n41,2\n", 'in.csv has the columns "age", "pay"; say with --column which one'),
        ("a,b\nx,y\n", 'in.csv has the columns "a", "b"; say with --column which one'),
        ('age\n"41\n', "in.csv, line"),
    ],
)
def test_a_file_that_cannot_be_used_spends_nothing(content: str, sentence: str) -> None:
    Path("in.csv").write_text(content)
    assert sentence in refused("points", "in.csv", *STEPPED)
    assert not Path("s.db").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "in.jsonl is empty"),
        ('{"age": 41}\n{"age": null}\n', 'in.jsonl, line 2, column "age"'),
        ('{"age": 41}\n{"pay": 41}\n', 'in.jsonl, line 2, column "age"'),
        ('{"age": 41}\n{"age": "31.337"}\n', 'in.jsonl, line 2, column "age"'),
        ('{"age": 41}\n{"age": true}\n', 'in.jsonl, line 2, column "age"'),
        ('{"age": 41}\n[31.337]\n', "in.jsonl, line 2: every line is a JSON object"),
        ('{"age": 41}\n{"age": 1' + "0" * 400 + "}\n", 'in.jsonl, line 2, column "age"'),
    ],
)
def test_lines_of_json_that_cannot_be_used_spend_nothing(content: str, sentence: str) -> None:
    Path("in.jsonl").write_text(content)
    assert sentence in refused("points", "in.jsonl", *STEPPED)


def test_columns_that_cannot_be_used_spend_nothing() -> None:
    Path("two.csv").write_text("a,a,b\n1,2,3\n")
    polars.DataFrame({"age": [1.0, None, 3.0]}).write_parquet("in.parquet")
    for arguments, sentence in [
        (("ages.csv", "--column", "aeg"), 'no column called "aeg"; it has "person", "age". Did you mean age?'),
        (("ages.csv", "--column", "person"), 'ages.csv, line 2, column "person"'),
        (("ages.csv", "--column", "age", "--column", "person"), "say with --column which one"),
        (("places.csv",), 'places.csv has the columns "x", "y"; say with --column which one'),
        (("two.csv", "--column", "a"), 'several columns called "a"'),
        (("in.parquet",), 'in.parquet, row 2, column "age"'),
        (("gone.csv",), "gone.csv cannot be read"),
        (("ages.txt",), "does not end in .csv, .jsonl or .parquet"),
    ]:
        assert sentence in refused("points", *arguments, *STEPPED)
    plane = ("--domain", "0..10,0..20", *STEPPED[2:])
    for columns in ((), ("--column", "x"), ("--column", "x", "--column", "x")):
        assert "which 2 of them hold the points" in refused("histogram", "places.csv", *plane, *columns)


def test_an_unfinished_last_line_of_a_pipe_is_refused() -> None:
    assert "is not finished" in refused("points", "-", *STEPPED, stdin="age\n41\n3")
    assert table(publish("points", "--epsilon", "1", file="-", stdin="age\n41\n"))


def test_years_as_names_are_fine_if_they_are_meant() -> None:
    Path("wide.csv").write_text("2020,2021\n31.5,7\n41,8\n")
    assert "looks like a row" in refused("points", "wide.csv", *STEPPED)
    assert len(table(publish("points", "--column", "2021", file="wide.csv"))) == 2


# ---- what is asked for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"--radius": "0"}, "the radius must be above 0"),
        ({"--radius": "-1"}, "the radius must be above 0"),
        ({"--radius": "101"}, "the radius 101 is larger than the domain"),
        ({"--radius": "far"}, "a finite number"),
        ({"--epsilon": "0"}, "epsilon must be above 0"),
        ({"--step": "7"}, "must divide its domain"),
        ({"--step": "100"}, "into 2 cells or more"),
        ({"--step": "0"}, "in steps above 0"),
        ({"--step": "1,2"}, "a step is told for all axes or for each"),
        ({"--domain": "100"}, "a domain is written low..high"),
        ({"--domain": "100..0"}, "from a lower to a higher end"),
        ({"--domain": "0..nan"}, "a finite number"),
        ({"--domain": "0..100,0..10"}, "one axis only"),
        ({"--size-is-public": None}, "declare that it is public"),
        ({"--population-epsilon": "2"}, "belongs to a population"),
        ({"--population": "p"}, 'the population "p" is new here'),
        ({"--group": "0"}, "group must be a whole number of 1 or more"),
        ({"--method": "laplace"}, "--method is for histograms"),
        ({"--store": "ages.csv"}, "are the same file"),
        ({"--output": "ages.csv"}, "are the same file"),
        ({"--output": "out.parquet"}, "written as CSV"),
        ({"--output": "nowhere/out.csv"}, "there is no folder nowhere"),
        ({"--picture": "p.doc"}, "a picture is drawn into a file"),
        ({"--key": "s.db"}, "are the same file"),
    ],
)
def test_what_cannot_be_asked_for_spends_nothing(changed: dict[str, str | None], sentence: str) -> None:
    usual = {"--domain": "0..100", "--radius": "1", "--epsilon": "1", "--step": "0.5", "--store": "s.db"}
    given: dict[str, str | None] = {**usual, "--size-is-public": "", **changed}
    told = [word for name, value in given.items() if value is not None for word in (name, value) if word]
    assert sentence in refused("points", "ages.csv", *told)


def test_what_belongs_to_something_else_is_refused() -> None:
    assert "--group is for points" in refused("median", "ages.csv", *STEPPED, "--group", "2")
    assert "leave out --picture" in refused("median", "ages.csv", *STEPPED, "--picture", "p.png")
    assert "Did you mean median?" in refused("medain", "ages.csv", *STEPPED)
    assert "Did you mean quadtree?" in refused("histogram", "ages.csv", *STEPPED, "--method", "quadtre")


def test_points_outside_of_the_domain_lie_in_the_nearest_cell() -> None:
    Path("far.csv").write_text("age\n-1e300\n-5\n1000\n1e300\n")
    assert len(table(publish("points", file="far.csv"))) == 4
    rows = table(publish("histogram", "--step", "50", "--epsilon", "9", "--stream", "h", file="far.csv"))
    assert sum(row["count"] for row in rows) == 4
    _, out, _ = command("publish", "--help")
    assert "nearest cell" in " ".join(out.replace("│", " ").split())


def test_an_epsilon_that_protects_hardly_anybody_is_told() -> None:
    code, _, err = command("publish", "median", "ages.csv", *STEPPED, "--epsilon", "11")
    assert (code, "protects hardly anybody" in err.splitlines()[0]) == (0, True)


@pytest.mark.parametrize(
    ("what", "radius", "step"),
    [
        ("points", "1", "0.001"),
        ("points", "domain", "0.1"),
        ("points", "3", "0.002"),
        ("median", "0.7", "0.0005"),
        ("histogram", "2.5", "2.5"),
        ("histogram", "domain", "5"),
    ],
)
def test_a_step_that_nobody_told_follows_from_domain_and_radius(what: str, radius: str, step: str) -> None:
    law = ("--domain", "0..100", "--radius", radius, *LAW[4:])
    code, _, err = command("publish", what, "ages.csv", *law)
    assert (code, f"in cells of {step};" in err) == (0, True), err


@given(st.integers(1, 500), st.integers(1, 40), st.integers(2, 4000), st.sampled_from(["points", "median"]))
def test_the_usual_step_divides_domain_and_radius(above: int, below: int, length: int, what: str) -> None:
    radius = min(Fraction(above, below), Fraction(length))
    publication = static.SortedPoints() if what == "points" else static.Median()
    grid = gridded(ends_of(f"0..{length}"), None, publication, radius)
    assert grid.line.length % grid.line.step == 0
    assert radius % grid.line.step == 0
    assert radius / grid.line.step >= 1000


def test_where_no_step_is_even_it_is_asked_for() -> None:
    for what, radius in [("histogram", "3"), ("histogram", "60"), ("points", "0.9999999")]:
        law = ("--domain", "0..100", "--radius", radius, *LAW[4:])
        assert "--step" in refused(what, "ages.csv", *law)
    far = ("--domain", "0..1000000000", *LAW[2:])
    assert "--step" in refused("points", "ages.csv", *far)
    assert "too small" in refused("points", "ages.csv", *far, "--step", "0.001")


# ---- the store -------------------------------------------------------------------------------------------------------


def test_an_output_that_holds_something_else_is_refused_before_anything_is_drawn() -> None:
    Path("out.csv").write_text("point,value\n")
    assert "out.csv is there already" in refused("points", "ages.csv", *STEPPED, "--output", "out.csv")
    assert Path("out.csv").read_text() == "point,value\n"


def test_a_second_publication_has_to_be_meant() -> None:
    publish("points")
    assert "mechanism = SortedPoints" in refused("median", "ages.csv", *STEPPED)
    Path("other.csv").write_text("age\n41\n")
    assert "say with --stream" in refused("points", "other.csv", *STEPPED)
    publish("median", "--stream", "median")
    assert [row["stream"] for row in spent()] == ["ages", "median"]
    Path("ages.csv").write_text(Path("ages.csv").read_text() + f"p,{SECRET}\n")
    assert f"size = {N} and is opened with size = {N + 1}" in refused("points", "ages.csv", *STEPPED)


def test_people_share_a_budget() -> None:
    people = ("--population", "patients", "--population-epsilon", "2")
    publish("points", *people)
    publish("median", *people, "--stream", "median")
    third = ("histogram", "ages.csv", *LAW, "--step", "5", *people, "--stream", "third")
    assert '"patients" has 0 of 2 left' in refused(*third)
    code, out, _ = command("ledger", "show", "s.db")
    assert (code, '"patients": 2 for "ages", "median" together' in out) == (0, True)


def cut_short() -> None:
    law = static.SpatialNeighbourhood(epsilon=1, radius=1, grid="0..100/0.5")
    read = static.read_points("ages.csv")
    points = static.Points(read.values, "0..100/0.5", size_is_public=True)
    with ps.Store("s.db", at=crash_at("draw")) as store:
        keeper = static.Keeper(static.SortedPoints(), law, N, store, "ages", columns=read.columns)
        with pytest.raises(Crash):
            keeper.publish(points)


def test_what_was_cut_short_is_spent_and_told_as_such() -> None:
    cut_short()
    assert spent()[0]["announced"] == 1
    for _ in range(2):
        code, out, err = command("publish", "points", "ages.csv", *STEPPED)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert '"ages" was cut short' in err
        assert "under another name (--stream), for a budget of its own" in err
    assert spent()[0].items() >= {"t": 1, "remaining": "0", "announced": None}.items()
    assert "was cut short" in refused("s.db", "--stream", "ages", verb="export")
    assert "was cut short" in refused("s.db", "--stream", "ages", verb="query")
    code, out, _ = command("statement", "s.db")
    assert (code, "**Published:** no, and it never will be" in out) == (0, True)
    assert command("ledger", "verify", "s.db")[0] == 0
    publish("points", "--stream", "again")


def test_an_old_copy_is_adopted_as_spent() -> None:
    with ps.Store("s.db") as store:
        law = static.SpatialNeighbourhood(epsilon=1, radius=1, grid="0..100/0.5")
        static.Keeper(static.SortedPoints(), law, N, store, "ages", columns=["age"]).close()
    old = Path("s.db").read_bytes()
    publish("points")
    Path("s.db").write_bytes(old)
    for verb in ("publish", "export"):
        arguments = ("points", "ages.csv", *STEPPED) if verb == "publish" else ("s.db", "--stream", "ages")
        assert "is not the latest" in command(verb, *arguments)[2]
    code, _, err = command("ledger", "adopt", "s.db", "--stream", "ages", "--yes")
    assert (code, "adopted" in err) == (0, True), err
    assert "from a store that is gone" in refused("points", "ages.csv", *STEPPED)


def test_a_signal_waits_until_what_was_drawn_is_stored() -> None:
    """The process draws for a while, and is told to stop in the middle of it."""
    program = (
        "import os, time, penstock.static.base as base\n"
        "drawn = base.Publication.released\n"
        "def slowly(*given):\n"
        "    open('drawing', 'w').close(); time.sleep(1.5)\n"
        "    return drawn(*given)\n"
        "base.Publication.released = slowly\n"
        "from penstock.cli.main import run\n"
        "run()\n"
    )
    arguments = ["publish", "points", "ages.csv", *STEPPED]
    with subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=-1, stderr=-1) as child:
        while not Path("drawing").exists() and child.poll() is None:
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGTERM)
        child.communicate(timeout=30)
    assert child.returncode == -signal.SIGTERM
    assert len(table(publish("points"))) == N


# ---- what else is said of it -----------------------------------------------------------------------------------------


def test_counts_can_be_asked_and_places_cannot() -> None:
    publish("histogram", "--step", "50", "--method", "laplace")
    publish("histogram", "--step", "50", "--stream", "ends")
    publish("points", "--stream", "points")
    code, out, _ = command("query", "s.db", "--stream", "ages", "--where", "bin=0..50", "--json")
    (answer,) = json.loads(out)["counts"]
    assert (code, answer["low"] < answer["value"] < answer["high"]) == (0, True)
    code, out, err = command("query", "s.db", "--stream", "ends", "--by", "bin")
    assert (code, "no noise interval" in err) == (0, True)
    for verb in ("query", "table", "post"):
        more = ("--round", "5") if verb == "post" else ()
        assert "holds places of points" in refused("s.db", "--stream", "points", *more, verb=verb)
    publish("points", "--stream", "points", "--output", "out.csv")
    assert "holds no releases" in refused("out.csv", verb="query")
    assert "leave out" in refused("s.db", "--stream", "points", "--width", "3", verb="export")


def test_a_tree_in_a_plane_has_the_intervals_of_a_plane() -> None:
    law = ("--domain", "0..10,0..20", *LAW[2:], "--column", "x", "--column", "y", "--method", "quadtree")
    publish("histogram", file="places.csv", law=law)
    asked = ("--domain", "x=20,y=20", "--where", "x=0..9", "--where", "y=0..9", "--json")
    _, out, _ = command("query", "s.db", *asked)
    (answer,) = json.loads(out)["counts"]
    assert answer["noise_sd"] < 10 * 9  # a hundred cells by themselves would have ten times a cell's noise


@pytest.mark.parametrize(("what", "radius"), [("points", "1"), ("histogram", "domain"), ("median", "2.5")])
def test_the_statement_says_who_is_hidden_and_who_is_not(what: str, radius: str) -> None:
    publish(what, law=("--domain", "0..100", "--radius", radius, *LAW[4:], "--step", "5"))
    _, out, _ = command("statement", "s.db", "--json")
    (found,) = json.loads(out)
    promise = found["promise"]
    anywhere = radius == "domain"
    assert promise["protects"].startswith("Where the point of one person lies: moving it")
    assert ("anywhere in the domain" if anywhere else f"by up to {radius}, in the units") in promise["protects"]
    less = " ".join(promise["does_not_protect"])
    assert ("2 times as far the bound is 2 times epsilon" in less) == (not anywhere)
    assert "how many points there are: it is public" in less
    assert "for k of them the bound is k times epsilon" in less
    assert f"How many points there are: {N}." in found["public"]
    assert found["origin"]["proof"]["status"] == "proved"
    assert found["origin"]["proof"]["covers_model"]
    assert (found["promise"]["parameters"]["radius"], found["data"]["every"]) == (radius, "once")
    code, page, _ = command("statement", "s.db")
    assert (code, "not known to this installation" in page, "Time unit" in page) == (0, False, False)
    assert ("secret" in found["origin"]["noise"]) == (what == "median")


def test_ledger_and_backup_know_it() -> None:
    publish("points")
    code, out, _ = command("ledger", "show", "s.db")
    assert (code, "radius=1" in "".join(out.split())) == (0, True)
    assert spent()[0]["law"] == "spatial-neighbourhood, 1, radius=1"
    assert command("ledger", "show", "s.db", "--stream", "ages")[0] == 0
    code, _, err = command("backup", "s.db", "copy.db")
    assert (code, '"ages" up to t=1' in err) == (0, True)
    with Archive("copy.db") as archive:
        assert archive.account("ages").t == 1
    assert command("key", "rotate", "s.db")[0] == 0
    publish("points")


def test_the_page_shows_what_is_printed() -> None:
    page = (Path(__file__).parent.parent / "docs" / "points.md").read_text(encoding="utf-8")
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], {})
    printed = ""
    for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            code, out, err = command(*shlex.split(line)[1:])
            assert code == 0, err
            printed += out + err
    shown = re.findall(r"^    (done: .*)$", page, re.MULTILINE)
    assert len(shown) == 4
    assert set(shown) <= set(printed.splitlines())
    (sentence,) = re.findall(r"^    (error: .*)$", page, re.MULTILINE)
    law = ("--domain", "0..100", "--radius", "2", "--epsilon", "0.5", "--size-is-public", "--store", "town.db")
    fourth = ("--stream", "fourth", "--population", "residents")
    assert command("publish", "median", "ages.csv", *law, *fourth)[2].strip() == sentence
