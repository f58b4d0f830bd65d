"""What ``penstock run`` takes in: formats it finds out, tables it refuses, and that a refusal leaves nothing behind."""

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from in_process import command

LAW = ("--mechanism", "uniform", "--model", "w-event", "--epsilon", "1", "--w", "3")
PEOPLE = ("--population", "people", "--population-epsilon", "1.5")
SECRET = "31337"

Contents = dict[str, bytes | None]


def contents(folder: Path) -> Contents:
    """Every file and folder, to the byte."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*more: object, stdin: str | bytes = "", **paths: object) -> tuple[int, str, str]:
    given = {"input": "in.csv", "output": "out.csv", "store": "store.db"} | paths
    return command("run", *(f"--{name}={path}" for name, path in given.items()), *LAW, *more, stdin=stdin)


def refused(*more: object, stdin: str | bytes = "", **paths: object) -> str:
    """One sentence, without what is secret, and a folder that is what it was to the byte."""
    before = contents(Path())
    code, out, err = run(*more, stdin=stdin, **paths)
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert SECRET not in err
    assert contents(Path()) == before
    return err


def released(path: str = "out.csv") -> list[ps.Published]:
    with ps.streams.read_releases(path) as releases:
        return list(releases)


# ---- which format ----------------------------------------------------------------------------------------------------

ROWS = [{"t": 1, "a": 31337, "b": 5}, {"t": 2, "a": 31338, "b": 6}]
JSON_LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize("before", ["", "\n \n", "\ufeff"])
@pytest.mark.parametrize("more", [(), ("--every", "row")])
def test_json_lines_are_known_on_a_pipe(before: str, more: tuple[str, ...]) -> None:
    """They were read as CSV, so that counts became the names of bins."""
    code, _, err = run(*more, input="-", stdin=before + JSON_LINES)
    assert code == 0, err
    with ps.streams.read_releases("out.csv") as releases:
        assert releases.bins == ("a", "b")
        assert [release.label for release in releases] == ["1", "2"]


@pytest.mark.parametrize(
    ("stdin", "sentence"),
    [
        (json.dumps(ROWS), "holds a JSON array; write one JSON object a line"),
        (json.dumps(ROWS, indent=1), "holds a JSON array"),
        (json.dumps(ROWS[0], indent=1), "every line is a JSON object"),
        (f"{ROWS[0]}\n", "every line is a JSON object"),
        (gzip.compress(JSON_LINES.encode()), "is packed"),
        (b"PK\x03\x04 31337", "is a spreadsheet"),
        (b"PAR1 31337", "is Parquet"),
        ("t,a\n1,31337\n".encode("utf-16"), "is UTF-16 text"),
    ],
)
def test_what_a_pipe_cannot_hold_is_refused(stdin: str | bytes, sentence: str) -> None:
    assert sentence in refused("--every", "row", input="-", stdin=stdin)


def test_a_format_that_is_told_is_not_guessed_otherwise() -> None:
    assert "holds JSON, not CSV" in refused("--input-format", "csv", input="-", stdin=JSON_LINES)
    Path("in.csv").write_text(JSON_LINES)
    assert "holds JSON, not CSV" in refused()
    assert "JSON object" in refused("--input-format", "jsonl", input="-", stdin="t,a\n1,31337\n")


def test_releases_and_points_are_known_on_a_pipe_too() -> None:
    Path("in.csv").write_text("t,a,b\n1,5,6\n")
    assert run(output="out.jsonl")[0] == 0
    code, out, err = command("query", "-", "--json", stdin=Path("out.jsonl").read_text())
    assert (code, json.loads(out)["counts"][0]["time"]) == (0, "1"), err
    about = ("--domain", "0..100", "--radius", "2", "--epsilon", "1", "--step", "5", "--size-is-public")
    before = contents(Path())
    code, out, err = command("publish", "points", "-", *about, "--store", "p.db", stdin='{"x": 31337, "y": 7}\n')
    assert (code, out, SECRET in err, contents(Path()) == before) == (2, "", False, True)


# ---- which names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "where"),
    [
        ("2026-W01,31337,6", "the first line looks like a row"),
        ("week 1,31337,6", "column 2"),
        ("week one,x,31337", "column 3"),
        ("t,31337,6", "column 2"),
        ("t,a,31337.5", "column 3"),
        ('t,a,"31,337"', "column 3"),
        ("t,a,31337%", "column 3"),
        ("t,a,2026-01-31", "column 3"),
        ('x,"{""n"": 31337",b', "column 2"),
        ('x, "n": 31337, "m": 5}', "column 2"),
        ("t=1,a=31337,b=5", "the first line looks like a row"),
        ("time: 31337,a: 5", "the first line looks like a row"),
        ("t,a,a", "columns 2 and 3"),
        ("31337x,31337x,t", "columns 1 and 2"),
        ("t,a,,b", "column 3"),
        ("t,a\0,b", "column 2"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--every", "row"), ("--time", "31336")])
def test_names_that_may_be_counts_are_refused_by_their_column(header: str, where: str, more: tuple[str, ...]) -> None:
    Path("in.csv").write_text(f"{header}\n2,5,7\n")
    told = refused(*more, *PEOPLE)
    assert where in told or "no column '31336'" in told or "is the time in" in told


def test_names_that_are_numbers_are_taken_from_whoever_names_the_time() -> None:
    Path("in.csv").write_text("t,0,1,2\n1,5,6,7\n")
    assert "say with --time" in refused()
    assert run("--time", "t")[0] == 0
    assert run("--time", "t")[0] == 0  # and it goes on


@pytest.mark.parametrize(
    ("names", "column"),
    [
        ("user_id,a", 2),
        ("a,id", 3),
        ("patientId,b", 2),
        ("a,UUID", 3),
        ("a,lat,lon", 3),
        ("pickup_longitude,a", 2),
        ("zipcode,a", 2),
        ("=cmd(),b", 2),
        ("a,@SUM(1)", 3),
        ("a,+cmd|x", 3),
        ("region,count", 3),
        ("age,n", 3),
    ],
)
def test_columns_of_people_places_formulas_and_long_tables_are_refused(names: str, column: int) -> None:
    Path("in.csv").write_text(f"t,{names}\n1,{','.join('5' * (names.count(',') + 1))}\n")
    assert f"in.csv, column {column}: " in refused(*PEOPLE)


STATES = "AK AL AR AZ CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE".split()  # noqa: SIM905


@pytest.mark.parametrize(
    "names", [STATES, ["covid", "Idaho", "LatAm", "0_4", "5-24", "65+"], ["count"], ["n", "e", "s", "w"], ["paid", "-"]]
)
def test_names_of_groups_are_taken(names: list[str]) -> None:
    Path("in.csv").write_text(f"t,{','.join(names)}\n1,{','.join('5' for _ in names)}\n")
    code, _, err = run()
    assert code == 0, err


def test_a_stream_that_has_begun_goes_on_under_its_names() -> None:
    bins = ["user_id", "=x"]
    with (
        ps.Store("store.db") as store,
        ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=1, w=3)), store, "in", bins=bins) as publisher,
    ):
        publisher.publish(ps.Snapshot(1, [5, 6], label="1"))
    Path("in.csv").write_text("t,user_id,=x\n1,5,6\n2,5,6\n")
    assert run()[0] == 0
    assert len(released()) == 2


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("t,region,people\n1,north,31337\n", "line 2, column 2: "),
        ("t,age,people\n1,0,31337\n1,1,31338\n", "line 3: this row repeats the time unit of the row before"),
        ("t;age;people\n2026-01-01;0;31337\n2026-01-01;1;31338\n", "line 3: this row repeats"),
    ],
)
def test_a_row_for_every_group_is_told_how_it_should_be(rows: str, sentence: str) -> None:
    Path("in.csv").write_text(rows)
    told = refused(*PEOPLE)
    assert sentence in told
    assert "a column for every group" in told


def test_a_header_above_words_may_be_a_row_of_people_and_is_not_shown() -> None:
    Path("in.csv").write_text("anna,berta\nclara,dora\n")
    told = refused("--every", "row")
    assert not any(name in told for name in ("anna", "berta", "clara", "dora"))


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=6), st.sampled_from([",", ";", "\t"]), st.booleans())
def test_a_row_of_counts_is_never_taken_for_a_header(counts: list[int], separator: str, quoted: bool) -> None:
    line = io.StringIO()
    dialect = csv.unix_dialect if quoted else csv.excel  # the former quotes all
    csv.writer(line, dialect, delimiter=separator).writerow(["week 7", *counts])
    before = contents(Path())
    code, _, err = run("--every", "row", input="-", stdin=line.getvalue() * 2)
    assert (code, "looks like a row" in err or "the same name" in err, contents(Path()) == before) == (2, True, True)


# ---- spreadsheets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "week;north;south\n2026-W01;5;6\n2026-W02;7;8\n",
        "week\tnorth\tsouth\n2026-W01\t5\t6\n2026-W02\t7\t8\n",
        "\ufeffweek;north;south;;\r\n2026-W01;5;6;;\r\n2026-W02;7;8;;\r\n;;;;\r\n",
        "sep=;\r\nweek;north;south\r\n2026-W01;5;6\r\n2026-W02;7;8\r\n",
        "week,north,south,\n2026-W01,5,6,\n2026-W02,7,8\n",
        "week,north,south\n2026-W01,5,6,,\n,,\n2026-W02,7,8\n,,\n",
        '"week";"north";"south"\n"2026-W01";"5";"6"\n"2026-W02";"7";"8"\n',
    ],
)
@pytest.mark.parametrize("source", ["in.csv", "-"])
def test_spreadsheets_are_read_as_they_write(text: str, source: str) -> None:
    Path("in.csv").write_text(text, newline="")
    code, _, err = run(input=source, stdin=text)
    assert code == 0, err
    with ps.streams.read_releases("out.csv") as releases:
        assert releases.bins == ("north", "south")
        assert [release.label for release in releases] == ["2026-W01", "2026-W02"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("t;a;b\n1;1.337;6\n", "line 2, column 2"),
        ("t;a;b\n1;5;3.133.700\n", "line 2, column 3"),
        ("t\ta\tb\n1\t5\t31.337\n", "line 2, column 3"),
        ("t;a;b\n1;3133,7;6\n", "line 2, column 2"),
        ("t,a,b,\n1,5,6,31337\n", "line 2"),
        ("t|a|b\n1|31337|6\n", "with commas, semicolons or tabs between them"),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(text: str, where: str) -> None:
    Path("in.csv").write_text(text)
    assert where in refused(*PEOPLE)


# ---- nothing is left behind ------------------------------------------------------------------------------------------

GOOD = "t,a\n1,5\n2,6\n"


@pytest.mark.parametrize(
    ("text", "more", "paths"),
    [
        ("t,a\n1,x31337\n", (), {}),
        ("t,a\n1,-31337\n", (), {}),
        ("t,a\n1\n", (), {}),
        ("t,a\nnever,31337\n", (), {}),
        ("north,a\n31337,5\n", (), {}),
        ("", (), {}),
        (GOOD, (), {"output": "none/out.csv"}),
        (GOOD, (), {"output": "."}),
        (GOOD, (), {"output": "out.csv.gz"}),
        (GOOD, (), {"output": "taken.csv"}),
        (GOOD, (), {"output": "other.csv"}),
        (GOOD, ("--output-format", "parquet"), {"output": "-"}),
        ("t,kind\n1,5\n", (), {}),
        (GOOD, (), {"store": "none/store.db"}),
        (GOOD, (), {"store": "taken.csv"}),
        (GOOD, (), {"key": "none/key"}),
        (GOOD, (), {"key": "taken.csv"}),
        (GOOD, (), {"head": "taken.csv"}),
        (GOOD, ("--population", "new"), {}),
        (GOOD, ("--population", "small", "--population-epsilon", "0.5"), {}),
        (GOOD, ("--mechanism", "planned", "--set", "weights=every monday: 1"), {}),
        (GOOD, ("--mechanism", "ba", "--set", "histogram=quadtree", "--set", "shape=2x2"), {}),
    ],
    ids=str,
)
@pytest.mark.parametrize("store", ["new", "used"])
def test_a_refused_first_run_leaves_the_folder_as_it_was(
    text: str, more: tuple[str, ...], paths: dict[str, str], store: str
) -> None:
    Path("other.csv").write_text("t,a\n1,5\n")
    run(input="other.csv", output="other.csv.out.csv", store="other.db")
    Path("other.csv").write_bytes(Path("other.csv.out.csv").read_bytes())  # the releases of another store
    Path("taken.csv").write_text("something else\n")
    if store == "used":
        Path("first.csv").write_text("t,a\n1,5\n")
        assert run("--stream", "first", *PEOPLE, input="first.csv", output="first.out.csv")[0] == 0
    Path("in.csv").write_text(text)
    refused("--stream", "in", *more, **paths)


@pytest.mark.parametrize(
    ("present", "sentence"),
    [
        ("t,user\n1,31337\n", "more records than the users present can have"),
        ("t,user\n2,31337\n", "more records than the users present can have"),
        ("t,who\n1,31337\n", 'and the other "user"'),
        ("t,user\n1,31337\n1,31337\n", "listed twice"),
    ],
)
def test_a_first_unit_that_is_not_paid_for_begins_nothing(present: str, sentence: str) -> None:
    Path("in.csv").write_text("t,a,b\n1,1,1\n2,0,1\n")
    Path("present.csv").write_text(present)
    before = contents(Path())
    law = ("--model", "m-context", "--epsilon", "1", "--m", "3", "--presence", "present.csv")
    code, out, err = command("run", "--input", "in.csv", "-o", "out.csv", "--store", "store.db", *law, *PEOPLE)
    assert (code, out, sentence in err, SECRET in err) == (2, "", True, False), err
    assert contents(Path()) == before


def test_a_refused_first_run_reserves_nothing_and_the_next_one_goes_through() -> None:
    Path("in.csv").write_text("t,a\n1,x\n")
    refused(*PEOPLE)
    Path("in.csv").write_text("t,b,c\n1,5,6\n")
    code, _, err = run("--stream", "another", "--population", "people", "--population-epsilon", "1")
    assert code == 0, err


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("t,a\n1,5\n2,6\n3,x31337\n", ()),
        ("t,a\n1,5\n2,6\n4,31337\n", ()),
        ("1,31337\n2,31337\n", ()),
        ("t,b\n3,31337\n", ()),
        ("t,a,b\n3,5,31337\n", ()),
        ("t,a\n3,31337\n", ("--epsilon", "2")),
        ("t,a\n3,31337\n", PEOPLE),
        ("t,a\n3,31337\n", ("--every", "row")),
        ("t,a\n3,31337\n", ("--output", "other.csv")),
        ("", ()),
    ],
    ids=str,
)
def test_a_refused_later_run_leaves_the_folder_as_it_was(text: str, more: tuple[str, ...]) -> None:
    Path("in.csv").write_text(GOOD)
    assert run()[0] == 0
    Path("other.csv").write_text("something else\n")
    Path("in.csv").write_text(text)
    refused(*more)


@pytest.mark.parametrize(
    ("source", "stdin", "stream", "end"),
    [
        ("in.csv", "", "in", "done"),
        ("-", "t,a\n", "stream", "the input ended (a pipe does not tell whether all was written)"),
    ],
)
def test_an_input_without_rows_begins_nothing(source: str, stdin: str, stream: str, end: str) -> None:
    Path("in.csv").write_text("t,a\n")
    before = contents(Path())
    code, out, err = run(*PEOPLE, input=source, stdin=stdin)
    assert (code, out, contents(Path()) == before) == (0, "", True)
    assert err == f'{end}: no row has come yet, so stream "{stream}" was not begun.\n'


def test_a_check_refuses_what_a_run_would() -> None:
    Path("in.csv").write_text("t,user_id,a\n1,5,6\n")
    assert "column 2" in refused("--check")
    Path("in.csv").write_text(GOOD)
    assert "cannot be written" in refused("--check", output="none/out.csv")


def test_a_publication_whose_output_is_refused_is_not_begun() -> None:
    Path("points.csv").write_text("x\n5\n7\n")
    Path("out.csv").write_text("mine\n")
    before = contents(Path())
    about = (
        "--domain",
        "0..100",
        "--radius",
        "2",
        "--epsilon",
        "1",
        "--step",
        "5",
        "--size-is-public",
        "-o",
        "out.csv",
    )
    code, _, err = command("publish", "points", "points.csv", *about, "--store", "p.db", *PEOPLE)
    assert (code, "is there already" in err, contents(Path()) == before) == (2, True, True)


def test_no_traceback_shows_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one of a fault that nobody thought of."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"cannot use {SECRET}")

    Path("in.csv").write_text(GOOD)
    monkeypatch.setattr("penstock.cli.intake.Session", fail)
    code, out, err = run()
    assert (code, out, SECRET in err) == (1, "", False)
    assert "RuntimeError" in err
    assert len(err.splitlines()) == 1


# ---- past rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["out.csv", "-"])
def test_rows_of_released_units_are_said_to_be_ignored_whether_changed_or_not(output: str) -> None:
    """What is said depends on times alone: that a count has changed would be something about it."""
    Path("in.csv").write_text("t,a\n1,5\n2,6\n")
    assert "gnored" not in run(output=output)[2]
    told = []
    for first in ("5", SECRET):
        Path("in.csv").write_text(f"t,a\n1,{first}\n2,6\n")
        told.append(run(output=output)[2])
    assert told[0] == told[1]
    assert told[0].endswith("Ignored, changed or not: 2 rows of units released before.\n")
    Path("in.csv").write_text("t,a\n2,5\n3,6\n")
    code, out, _ = run("--json")
    assert (code, json.loads(out)["ignored"]) == (0, 1)
