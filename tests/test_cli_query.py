"""``penstock query`` and ``penstock table``, end to end: from counts through a store to answers about attributes."""

from __future__ import annotations

import csv
import io
import json
import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from in_process import command

LAW = ("--model", "event-level", "--epsilon", "1", "--mechanism", "uniform", "--every", "1")
TREE = ("--set", "histogram=quadtree")
PEOPLE = ps.Domain({"age": range(3), "sex": ["f", "m"]})
UNITS = 5


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store and its releases in every format."""
    monkeypatch.chdir(tmp_path)
    run(PEOPLE.bins, "out.csv")
    with ps.streams.write("out.jsonl", PEOPLE.bins) as lines, ps.streams.write("out.parquet", PEOPLE.bins) as columns:
        for release in read("out.csv"):
            lines.write(release)
            columns.write(release)
    return tmp_path


def run(
    bins: Sequence[str],
    output: str,
    *options: str,
    store: str = "s.db",
    labels: Sequence[object] = range(1, UNITS + 1),
    law: Sequence[str] = LAW,
) -> str:
    """Publish bins that hold 1000 t + 100 j."""
    with Path("in.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", *bins])
        writer.writerows([label, *(1000 * t + 100 * j for j in range(len(bins)))] for t, label in enumerate(labels, 1))
    code, out, err = command(
        "run", "--input", "in.csv", "--time", "t", "--store", store, "--output", output, *law, *options
    )
    assert code == 0, err
    return out


def read(path: str) -> list[ps.Published]:
    with ps.streams.read_releases(path) as releases:
        return list(releases)


def relabelled(path: str, labels: Sequence[str], bins: Sequence[str] = PEOPLE.bins) -> None:
    """The releases of out.csv by other names."""
    with ps.streams.write(path, bins) as sink:
        for release, label in zip(read("out.csv"), labels, strict=False):
            sink.write(replace(release, label=label))


def asked(*arguments: object, stdin: str = "") -> list[dict[str, Any]]:
    """The rows of the answer."""
    code, out, err = command("query", *arguments, "--json", stdin=stdin)
    assert (code, err) == (0, "")
    counts: list[dict[str, Any]] = json.loads(out)["counts"]
    return counts


def shown(*arguments: object, stdin: str = "") -> tuple[str, str]:
    code, out, err = command("query", *arguments, stdin=stdin)
    assert code == 0, err
    return out, err


def refused(verb: str, *arguments: object, stdin: str = "") -> str:
    code, out, err = command(verb, *arguments, stdin=stdin)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert err.strip().endswith((".", "?"))
    return err


# ---- which bins ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["out.csv", "out.jsonl", "out.parquet", "s.db"])
def test_every_source_tells_the_same(source: str) -> None:
    last = read("out.csv")[-1]
    (row,) = asked(source, "--where", "age=1..", "--where", "sex=f")
    answer = ps.asking.count(last, PEOPLE.where(age="1..", sex="f"))
    assert row == {"time": "5", "group": {}} | {name: getattr(answer, name) for name in answer.__dataclass_fields__}
    assert row["low"] < row["value"] < row["high"]
    assert row["value"] == last.values[[2, 4]].sum()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_pipe_tells_the_same(form: str) -> None:
    text = Path(f"out.{form}").read_text()
    assert asked("-", "--input-format", form, "--by", "age", stdin=text) == asked("s.db", "--by", "age")


def test_a_row_for_every_value() -> None:
    rows, values = asked("out.csv", "--by", "sex", "--where", "age=0|2"), read("out.csv")[-1].values
    assert [(row["group"]["sex"], row["value"]) for row in rows] == [
        ("f", values[[0, 4]].sum()),
        ("m", values[[1, 5]].sum()),
    ]
    assert [row["group"] for row in asked("out.csv", "--by", "sex", "--where", "sex=m")] == [{"sex": "m"}]
    out, err = shown("out.csv", "--by", "age", "--at", "2")
    assert err == ""
    assert [line.split("│")[1].strip() for line in out.splitlines()[2:]] == ["0", "1", "2"]


def test_a_row_for_every_pair_of_values() -> None:
    rows = asked("out.csv", "--by", "sex", "--by", "age")
    assert [tuple(row["group"].items()) for row in rows] == [
        (("sex", sex), ("age", age)) for sex in ("f", "m") for age in ("0", "1", "2")
    ]
    assert [row["value"] for row in rows] == read("out.csv")[-1].values[[0, 2, 4, 1, 3, 5]].tolist()
    assert "each attribute once" in refused("query", "out.csv", "--by", "sex", "--by", "sex")


def test_a_table_is_csv() -> None:
    assert "written as CSV" in refused("table", "out.csv", "-o", "people.parquet")
    assert not Path("people.parquet").exists()


def test_bins_can_be_told_what_they_are_made_of() -> None:
    values = read("out.csv")[-1].values
    (row,) = asked("out.csv", "--domain", "row=2,column=3", "--where", "row=1")
    assert row["value"] == values[3:].sum()
    rows = asked("out.csv", "--domain", "side=left|right,place=3", "--by", "side")
    assert [row["group"]["side"] for row in rows] == [
        "left",
        "right",
    ]


def test_plain_bins_are_asked_for_by_name() -> None:
    run(["north", "south", "far east"], "plain.csv", store="plain.db")
    values = read("plain.csv")[-1].values
    (row,) = asked("plain.csv", "--where", "bin=north|far east")
    assert row["value"] == values[[0, 2]].sum()
    assert [row["value"] for row in asked("plain.csv", "--by", "bin")] == values.tolist()


ODD_VALUES = [
    ["a", "b", "a|b"],
    ["north|south", "west"],
    ["1..3", "1", "3"],
    ["..", "x"],
    [" a", "a"],
    ["a ", "b"],
    ["x=y", "y="],
    ["[red]", "[bold]x", "[/]", "[/b]"],
    [":smile:", "\\[x]"],
    ["-", "--"],
]


@pytest.mark.parametrize(
    "bins", [*ODD_VALUES, *([f"x={value}" for value in values] for values in [*ODD_VALUES, ["", "x"]])], ids=str
)
def test_a_row_for_every_value_whatever_it_is_called(bins: list[str]) -> None:
    run(bins, "odd.jsonl", store="odd.db")
    ((attribute, told),) = ps.Domain.of_bins(bins).attributes.items()
    rows = asked("odd.jsonl", "--by", attribute)
    assert [value for row in rows for value in row["group"].values()] == list(told)
    assert [row["value"] for row in rows] == read("odd.jsonl")[-1].values.tolist()
    out, _ = shown("odd.jsonl", "--by", attribute)
    assert [line.split("│")[1].strip() for line in out.splitlines()[2:]] == [each.strip() for each in told]


@pytest.mark.parametrize(
    "name", ["time", "value", "values", "fresh", "confidence", "low", "high", "noise_sd", "warning"]
)
def test_an_attribute_may_be_called_like_a_column(name: str) -> None:
    domain = ps.Domain({name: ["morning", "noon"], "other": range(2)})
    run(domain.bins, "clash.csv", store="clash.db")
    values = read("clash.csv")[-1].values
    out, _ = shown("clash.csv", "--by", name)
    cells = [[cell.strip() for cell in line.split("│")] for line in out.splitlines()[2:]]
    assert [row[:3] for row in cells] == [
        ["5", "morning", str(values[:2].sum())],
        ["5", "noon", str(values[2:].sum())],
    ]
    text = command("query", "clash.csv", "--by", name, "--json")[1]
    for each in ("morning", "noon", *(str(values[i : i + 2].sum()) for i in (0, 2)), '"5"'):
        assert each in text


def test_long_names_are_shown_in_full() -> None:
    run(["name=" + 150 * "l" + str(i) for i in range(3)], "long.csv", store="long.db")
    out, _ = shown("long.csv", "--by", "name")
    assert len({re.sub(r"\W", "", line) for line in out.splitlines()}) >= 5
    assert "…" not in out


def test_a_row_for_every_one_of_many_bins_does_not_take_a_square_of_memory() -> None:
    run([f"place {i}" for i in range(6000)], "many.csv", store="many.db", labels=[1])
    tracemalloc.start()
    try:
        assert len(asked("many.csv", "--by", "bin")) == 6000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6000**2 / 2


# ---- which time ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["out.csv", "s.db"])
@pytest.mark.parametrize(
    ("options", "times"),
    [
        ((), ["5"]),
        (("--at", "2"), ["2"]),
        (("--from", "4"), ["4", "5"]),
        (("--to", "2"), ["1", "2"]),
        (("--from", "2", "--to", "4"), ["2", "3", "4"]),
        (("--from", "2", "--to", "2"), ["2"]),
        (("--from", "2", "--to", "4", "--sum"), ["2 to 4"]),
        (("--from", "t=1", "--sum"), ["1 to 5"]),
        (("--at", "3", "--sum"), ["3"]),
        (("--from", "1", "--sum"), ["1 to 5"]),
    ],
    ids=str,
)
def test_times(source: str, options: tuple[str, ...], times: list[str]) -> None:
    rows = asked(source, *options)
    assert [row["time"] for row in rows] == times
    totals = {str(release.t): int(release.values.sum()) for release in read("out.csv")}
    for row in rows:
        begin, _, end = row["time"].partition(" to ")
        units = range(int(begin), int(end or begin) + 1)
        assert row["value"] == sum(totals[str(t)] for t in units)
        assert row["values"] == row["fresh"] == len(PEOPLE) * len(units)


def test_a_sum_over_no_time_in_particular_is_refused() -> None:
    """Else it would add up all units, while without --sum the last one is meant."""
    for where in ((), ("--where", "sex=f"), ("--by", "age")):
        assert "say over which time --sum adds up" in refused("query", "out.csv", "--sum", *where)


def test_labels_and_numbers() -> None:
    run(PEOPLE.bins, "dated.csv", store="d.db", labels=[f"2024-02-0{i}" for i in range(3, 8)], law=LAW[:-2])
    for name in ("2024-02-05", "t=3"):
        assert [row["time"] for row in asked("dated.csv", "--at", name)] == ["2024-02-05"]
    rows = asked("dated.csv", "--from", "2024-02-06", "--to", "t=5")
    assert [row["time"] for row in rows] == ["2024-02-06", "2024-02-07"]
    refused("query", "dated.csv", "--at", "3")


def test_units_counted_from_0_are_called_as_in_the_file() -> None:
    """The file calls its second unit 1, and so does whoever reads it."""
    run(PEOPLE.bins, "zero.csv", store="z.db", labels=range(UNITS))
    assert [row["time"] for row in asked("zero.csv", "--at", "0")] == ["0"]
    assert [row["time"] for row in asked("zero.csv", "--at", "1")] == ["1"]
    assert [row["time"] for row in asked("zero.csv", "--from", "1", "--to", "3")] == ["1", "2", "3"]
    code, out, _ = command("table", "zero.csv", "--at", "1")
    assert code == 0
    assert len(out.splitlines()) - 1 == read("zero.csv")[1].values.sum()


@pytest.mark.parametrize("name", ["labels.csv", "labels.jsonl"])
@pytest.mark.parametrize(
    ("labels", "at", "unit"),
    [
        (["a", "b", "5", "d", "e"], "5", 3),  # before the unit with that number
        (["a", "b", "c", "d", "1"], "1", 5),  # after it
        (["5", "4", "3", "2", "1"], "2", 4),
        (["5", "4", "3", "2", "1"], "t=2", 2),
        (["a", "b", "c", "d", "e"], "t=2", 2),
    ],
)
def test_a_bare_number_is_a_label(name: str, labels: list[str], at: str, unit: int) -> None:
    relabelled(name, labels)
    for option in ("--at", "--from"):
        row = asked(name, option, at)[0]
        assert row["time"] == labels[unit - 1]
        assert row["value"] == read("out.csv")[unit - 1].values.sum()


@pytest.mark.parametrize("label", ["[week] 1", "[/week]", "[red]", ":smile:"])
def test_labels_are_shown_as_they_are(label: str) -> None:
    relabelled("odd.csv", [label])
    out, err = shown("odd.csv")
    assert label in out
    code, _, err = command("table", "odd.csv")
    assert code == 0
    assert err.endswith(f"made-up records of {label}.\n")


# ---- intervals -------------------------------------------------------------------------------------------------------


def test_confidence() -> None:
    widths = []
    for confidence in ("0.5", "0.95", "0.999999"):
        (row,) = asked("out.csv", "--confidence", confidence)
        assert row["confidence"] == float(confidence)
        widths.append(row["high"] - row["low"])
    assert widths == sorted(set(widths))
    assert "99% noise interval" in shown("out.csv", "--confidence", "0.99")[0]
    assert "95% noise interval" in shown("out.csv")[0]


def test_a_warning_is_shown_once() -> None:
    assert command("post", "out.csv", "-o", "post.csv", "--non-negative")[0] == 0
    out, err = shown("post.csv", "--from", "1", "--by", "age")
    assert len(out.splitlines()) == 2 + 3 * UNITS
    assert all(line.split("│")[-1].strip() == "-" for line in out.splitlines()[2:])
    assert err == (
        "no noise interval: these releases are of Uniform, non-negative; ask those of before for a noise interval.\n"
    )
    assert {row["low"] for row in asked("post.csv", "--from", "1", "--by", "age")} == {None}
    code, _, err = command("query", "post.csv", "--json")
    assert (code, err) == (0, "")  # there it is a part of the answer


def test_sums_written_by_a_run_have_no_interval() -> None:
    run(PEOPLE.bins, "sums.csv", "--width", "3", store="w.db")
    assert asked("sums.csv")[0]["low"] is None
    assert asked("w.db")[0]["low"] is not None  # the store has what was measured


def test_a_tree_knows_its_shape_by_itself_and_goes_on() -> None:
    grid = ps.Domain({"row": range(4), "column": range(4)})
    run(grid.bins, "tree.csv", *TREE, store="tree.db", labels=[1, 2])
    run(grid.bins, "tree.csv", *TREE, store="tree.db")
    assert [release.mechanism for release in read("tree.csv")] == ["Uniform by quadtree 4x4"] * UNITS
    (row,) = asked("tree.csv", "--where", "row=0..1", "--where", "column=0..1")
    assert row == asked("tree.db", "--where", "row=0..1", "--where", "column=0..1")[0]
    last = read("tree.csv")[-1]
    mask = grid.where(row="0..1", column="0..1")
    noises = ps.histograms.Quadtree().noises((4, 4), last.noise_sd, mask.astype(np.float64))
    assert row["noise_sd"] == pytest.approx(np.linalg.norm(noises))
    (row,) = asked("tree.csv", "--from", "1", "--sum")
    assert row["low"] < row["value"] < row["high"]
    (other,) = asked("tree.csv", "--domain", "x=16", "--where", "x=0|1|4|5")  # asked otherwise, measured the same
    assert other["noise_sd"] == pytest.approx(np.linalg.norm(noises))
    assert "fine: " in command("run", "--check", "--input", "in.csv", "--store", "tree.db", *LAW, *TREE)[2]


def test_a_shape_that_was_told_stays_and_plain_names_have_none() -> None:
    run(PEOPLE.bins, "told.csv", *TREE, "--set", "shape=2x3", store="told.db")
    assert read("told.csv")[0].mechanism == "Uniform by quadtree 2x3"
    run(["a", "b", "c"], "plain.csv", *TREE, store="plain.db")
    assert read("plain.csv")[0].mechanism == "Uniform by quadtree"
    assert read("out.csv")[0].mechanism == "Uniform"
    refused("run", "--input", "in.csv", "--store", "no.db", "-o", "no.csv", *LAW, *TREE, "--set", "shape=2x3")


@pytest.mark.parametrize("source", ["auto.csv", "auto.jsonl", "auto.parquet", "auto.db"])
def test_intervals_of_releases_are_shown_for_single_counts(source: str) -> None:
    run(PEOPLE.bins, "auto.csv", store="auto.db", law=(*LAW[:4], "--mechanism", "auto", "--every", "1"))
    releases = read("auto.csv")
    with (
        ps.streams.write("auto.jsonl", PEOPLE.bins, intervals=True) as lines,
        ps.streams.write("auto.parquet", PEOPLE.bins, intervals=True) as columns,
    ):
        for release in releases:
            lines.write(release)
            columns.write(release)
    low, high = releases[-1].low, releases[-1].high
    assert low is not None
    assert high is not None
    rows = asked(source, "--by", "age", "--by", "sex")
    assert [row["credible_low"] for row in rows] == low.tolist()
    assert [row["credible_high"] for row in rows] == high.tolist()
    out, err = shown(source, "--by", "age", "--by", "sex")
    assert f"{low[0]} to {high[0]}" in out
    assert "95% credible interval" in out
    assert "no credible interval" not in err
    out, err = shown(source, "--by", "age")
    assert "no credible interval: releases have one for each count" in err
    assert {row["credible_low"] for row in asked(source)} == {None}


def test_without_such_intervals_no_column_is_shown() -> None:
    assert "credible" not in shown("out.csv", "--by", "age", "--by", "sex")[0]


def test_republished_values_say_so() -> None:
    law = ("--model", "w-event", "--w", "3", "--epsilon", "1", "--mechanism", "sample", "--every", "1")
    run(PEOPLE.bins, "sample.csv", store="sample.db", law=law)
    assert [row["low"] is None for row in asked("sample.csv", "--from", "1")] == [False, True, True, False, True]
    _, err = shown("sample.csv", "--from", "1")
    assert err.splitlines() == [
        "no noise interval: all values are republished, and what has changed since is not known."
    ]


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["out.csv", "out.jsonl", "out.parquet", "s.db"])
def test_a_table_is_written(source: str) -> None:
    code, out, err = command("table", source, "-o", "table.csv", "--at", "2", "--seed", "4")
    values = ps.post.NonNegative()(read("out.csv")[1]).values
    assert (code, out) == (0, "")
    assert err == f"done: {values.sum()} made-up records of 2.\n"
    with Path("table.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["age", "sex"]
    assert Counter(f"age={age}&sex={sex}" for age, sex in rows) == dict(zip(PEOPLE.bins, values.tolist(), strict=True))
    code, out, _ = command("table", source, "--at", "2", "--seed", "4")
    assert out == Path("table.csv").read_text()


def test_a_table_of_so_many_rows() -> None:
    _, out, err = command("table", "out.csv", "--rows", "7", "--seed", "1", "--domain", "x=6")
    header, *rows = csv.reader(io.StringIO(out))
    assert header == ["x"]
    assert len(rows) == 7
    assert err == "done: 7 made-up records of 5.\n"
    assert command("table", "out.csv", "--rows", "7", "--seed", "2", "--domain", "x=6")[1] != out


def test_values_with_commas_and_quotes_are_written_so_that_they_can_be_read() -> None:
    run(["x=a,b", 'x="q"', "x=[red]"], "odd.csv", store="odd.db")
    _, out, _ = command("table", "odd.csv", "--seed", "1")
    assert {value for (value,) in list(csv.reader(io.StringIO(out)))[1:]} == {"a,b", '"q"', "[red]"}


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("out.csv", "--where", "colour=red"), "there is no attribute 'colour'; there is age, sex."),
        (("out.csv", "--where", "Age=1"), "Did you mean age?"),
        (("out.csv", "--where", "age=7"), "\"age\" has no value '7'"),
        (("out.csv", "--where", "age="), '"age" has no value'),
        (("out.csv", "--where", "age"), "a condition is written attribute=value"),
        (("out.csv", "--where", "age=1", "--where", "age=2"), "each attribute once"),
        (("out.csv", "--where", "age=2..1"), 'no value of "age" is meant'),
        (("out.csv", "--where", "bin=age=0&sex=f"), "there is no attribute 'bin'"),
        (("out.csv", "--by", "colour"), "there is no attribute 'colour'"),
        (("out.csv", "--at", "9"), "no release is called 9"),
        (("out.csv", "--at", ""), "no release is called"),
        (("out.csv", "--from", ""), "no release is called"),
        (("out.csv", "--from", "9"), "no release is called 9"),
        (("out.csv", "--to", "9"), "no release is called 9"),
        (("out.csv", "--at", "0"), "no release is called 0"),
        (("out.csv", "--from", "4", "--to", "2"), "4"),
        (("out.csv", "--at", "1", "--from", "2"), "ask about one unit with --at"),
        (("out.csv", "--at", "1", "--to", "2"), "ask about one unit with --at"),
        (("out.csv", "--confidence", "0"), "confidence must lie between 0 and 1"),
        (("out.csv", "--confidence", "1"), "confidence must lie between 0 and 1"),
        (("out.csv", "--confidence", "0.99999999"), "ask for a confidence of"),
        (("out.csv", "--domain", "row=2,column=2"), "has 4 bins, and the releases have 6"),
        (("out.csv", "--domain", "row"), "a domain is told as"),
        (("out.csv", "--stream", "in"), "is not a store"),
        (("s.db", "--stream", "other"), 'has no stream "other"'),
        (("two.db",), 'has these streams: "in", "other"; say with --stream'),
        (("empty.csv",), "empty.csv holds no releases"),
        (("empty.jsonl",), "empty.jsonl holds no releases"),
        (("header.csv",), "there are no releases yet"),
        (("in.csv",), "in.csv holds no releases"),
        (("nothing.csv",), "nothing.csv cannot be read"),
        (("nothing.db",), "nothing.db"),
        (("-",), "standard input holds no releases"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    for name in ("empty.csv", "empty.jsonl"):
        Path(name).touch()
    Path("header.csv").write_text(Path("out.csv").read_text().splitlines(keepends=True)[0])
    if "two.db" in arguments:
        run(PEOPLE.bins, "a.csv", store="two.db")
        run(PEOPLE.bins, "b.csv", "--stream", "other", store="two.db")
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    assert sentence in refused("query", *arguments)
    assert sentence in refused("query", *arguments, "--json")
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


def test_from_after_to_is_called_what_it_is() -> None:
    """There is a release called 2; what is wrong is the order."""
    assert "no release is called 2" not in refused("query", "out.csv", "--from", "4", "--to", "2")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("out.csv", "-o", "in.csv"), "in.csv is there already"),
        (("out.csv", "-o", "out.csv"), "out.csv is there already"),
        (("out.csv", "-o", "nowhere/table.csv"), "nowhere/table.csv cannot be written"),
        (("out.csv", "-o", "t.csv", "--at", "9"), "no release is called 9"),
        (("out.csv", "-o", "t.csv", "--at", ""), "no release is called"),
        (("out.csv", "-o", "t.csv", "--rows", "0"), "rows must be a whole number"),
        (("out.csv", "-o", "t.csv", "--rows", "1000000000"), "a table has at most"),
        (("out.csv", "-o", "t.csv", "--seed", "-1"), "seed"),
        (("out.csv", "-o", "t.csv", "--domain", "x=5"), "has 5 bins, and the releases have 6"),
        (("header.csv", "-o", "t.csv"), "there are no releases yet"),
        (("nothing.csv", "-o", "t.csv"), "nothing.csv cannot be read"),
    ],
    ids=str,
)
def test_what_cannot_be_made_up_is_refused_in_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    Path("header.csv").write_text(Path("out.csv").read_text().splitlines(keepends=True)[0])
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    assert sentence in refused("table", *arguments)
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "mechanism", ["Uniform by quadtree 9x9", "Uniform by quux", "Uniform by [/b]", "Uniform, [/b]"]
)
def test_a_file_of_strange_origin_crashes_nothing(mechanism: str) -> None:
    with ps.streams.write("strange.csv", PEOPLE.bins) as sink:
        for release in read("out.csv"):
            sink.write(replace(release, mechanism=mechanism))
    code, out, err = command("query", "strange.csv")
    assert code in (0, 2)
    assert len(err.splitlines()) == 1
    assert code == 2 or out.splitlines()[-1].split("│")[-1].strip() == "-"


@pytest.mark.parametrize("noise_sd", ["nan", "inf", "-3", "1e300"])
@pytest.mark.parametrize("mechanism", ["Uniform", "Uniform by quadtree"])
@pytest.mark.filterwarnings("error")
def test_a_file_with_strange_noise_crashes_nothing(noise_sd: str, mechanism: str) -> None:
    with ps.streams.write("strange.csv", PEOPLE.bins) as sink:
        for release in read("out.csv"):
            sink.write(replace(release, mechanism=mechanism, noise_sd=np.full(6, float(noise_sd))))
    refused("query", "strange.csv")


def test_it_is_said_how_a_unit_is_called() -> None:
    """A unit has a label and a number, and these can differ."""
    for verb in ("query", "table"):
        assert "by its label, or as t=5" in " ".join(command(verb, "--help")[1].replace("│", " ").split())
