"""Where releases go: what is written, how a file is continued, and what is never overwritten."""

import csv
import errno
import gc
import importlib
import itertools
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import BadInput
from penstock.streams.formats import Csv, Format, Jsonl
from penstock.types import Cause, Published

pq: Any = importlib.import_module("pyarrow.parquet")

BINS = ("north", "south")
AFTER = ["kind", "noise_sd", "charged", "remaining", "cause", "mechanism", "version", "sequence", "link"]
TEXT = ["out.csv", "out.jsonl"]
NAMES = st.text(min_size=1).filter(str.isprintable).filter(lambda name: name not in {"t", "unit", *AFTER})


def released(t: int, values: list[int] | None = None, **other: Any) -> Published:
    counts = np.array(values or [t, 10 * t], np.int64)
    shape = {"values": counts, "kind": np.zeros(len(counts), np.int8), "noise_sd": np.full(len(counts), 1.5)}
    spent = {"charged": ps.Epsilon("0.1"), "remaining": ps.Epsilon("0.9"), "cause": Cause.DECIDED, "sequence": t}
    origin = {"stream": "people", "label": f"2026-W{t:02d}", "mechanism": "Uniform", "version": "1"}
    told: dict[str, Any] = {"t": t, "link": f"{t:064x}"} | shape | spent | origin
    return Published(**told | other)


def write(path: Path, *releases: Published, bins: tuple[str, ...] = BINS) -> None:
    with ps.streams.write(path, bins) as sink:
        for release in releases:
            sink.write(release)


def rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        read: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return read
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines)) if path.suffix == ".csv" else [json.loads(line) for line in lines]


def publish(folder: Path, output: Path, counts: list[list[int]], store: str = "store.db") -> None:
    """Publish what is new of these counts into the output."""
    with (
        ps.Store(folder / store) as opened,
        ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=1, w=3)), opened, "people", bins=BINS) as publisher,
        ps.streams.write(output, BINS) as sink,
    ):
        list(publisher.run(ps.streams.Stream(counts), sink))


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file can grow above this size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_row_says_everything_about_a_release(tmp_path: Path) -> None:
    write(tmp_path / "out.csv", released(1))
    (row,) = rows(tmp_path / "out.csv")
    assert list(row) == ["t", "unit", *BINS, *AFTER]
    expected = {"t": "2026-W01", "unit": "1", "north": "1", "south": "10", "kind": "fresh", "noise_sd": "1.5"}
    assert row.items() >= expected.items()
    write(tmp_path / "out.jsonl", released(1))
    (line,) = rows(tmp_path / "out.jsonl")
    assert line["values"] == {"north": 1, "south": 10}
    assert (line["kind"], line["noise_sd"], line["charged"], line["stream"]) == ("fresh", 1.5, "0.1", "people")


def test_kinds_and_noise_that_differ_are_given_for_every_bin(tmp_path: Path) -> None:
    mixed = released(1, kind=np.array([0, 1], np.int8), noise_sd=np.array([1.5, 0.1]))
    for name in ("out.csv", "out.jsonl", "out.parquet"):
        write(tmp_path / name, mixed)
    assert [rows(tmp_path / "out.csv")[0][key] for key in ("kind", "noise_sd")] == ["fresh;republished", "1.5;0.1"]
    for name in ("out.jsonl", "out.parquet"):
        (row,) = rows(tmp_path / name)
        assert (row["kind"], row["noise_sd"]) == (["fresh", "republished"], [1.5, 0.1])


@pytest.mark.parametrize("clash", ["t", "unit", *AFTER])
def test_a_bin_that_clashes_with_a_column_is_refused(tmp_path: Path, clash: str) -> None:
    for name in ("out.csv", "out.parquet"):
        with pytest.raises(BadInput, match=f'"{clash}" would clash'):
            ps.streams.write(tmp_path / name, ("a", clash))
    assert list(tmp_path.iterdir()) == []
    write(tmp_path / "out.jsonl", released(1), bins=("a", clash))
    assert rows(tmp_path / "out.jsonl")[0]["values"] == {"a": 1, clash: 10}


@pytest.mark.parametrize("synced", [1, 100, 2**18], ids=["less than a header", "less than a row", "more than a file"])
@pytest.mark.parametrize("name", TEXT)
def test_a_file_is_continued_after_its_last_whole_row(
    tmp_path: Path, name: str, synced: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.streams.sinks.SYNCED_BYTES", synced)
    whole, path = tmp_path / f"whole.{name}", tmp_path / name
    write(whole, *map(released, range(1, 6)))
    content = whole.read_bytes()
    start = content.index(b"\n") + 1
    for cut in range(len(content)):
        path.write_bytes(content[:cut])
        with ps.streams.write(path, BINS) as sink:
            begun = content[:cut].count(b"\n") - (name == "out.csv")
            assert sink.last == max(begun, 0)
            for t in range((sink.last or 0) + 1, 6):
                sink.write(released(t))
        if cut < start or cut % 7 == 0:
            assert path.read_bytes() == content


def test_a_last_row_longer_than_one_look_back(tmp_path: Path) -> None:
    bins = tuple(f"bin {i}" for i in range(30_000))
    path = tmp_path / "out.jsonl"
    write(path, released(1, list(range(30_000))), released(2, list(range(30_000))), bins=bins)
    whole = path.read_bytes()
    path.write_bytes(whole[:-200_000])
    write(path, released(2, list(range(30_000))), bins=bins)
    assert path.read_bytes() == whole


FOREIGN = [
    b"a",
    b"my notes\n",
    b"my notes without an end",
    b"t,a\n1,5\n2,6\n",
    b'{\n "x": 1\n}',
    b'{"x": 1}\n',
    b"[1, 2]\n",
    b"\xff\xfe\n",
    b"x" * 5000,
    b"t,unit,north,kind,noise_sd,charged,remaining,cause,mechanism,version,sequence,link\n1,2\n",
]


@pytest.mark.parametrize("content", FOREIGN)
@pytest.mark.parametrize("name", [*TEXT, "out.parquet"])
def test_a_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadInput, match="exists"):
        write(path, released(1))
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", [*TEXT, "out.parquet"])
def test_an_output_that_cannot_be_written_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(BadInput, match="cannot be written"):
        write(tmp_path / name, released(1))
    with pytest.raises(BadInput, match="cannot be written"):
        write(tmp_path / "no folder" / name, released(1))


@pytest.mark.parametrize("name", TEXT)
def test_a_full_disk_tears_a_row_and_the_next_run_mends_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, released(1))
    with room_for(path.stat().st_size + 20), pytest.raises(BadInput, match="cannot be written"):
        write(path, released(2))
    write(path, *([released(2)] if rows_whole(path) == 1 else []), released(3))
    assert [int(row["unit"]) for row in rows(path)] == [1, 2, 3]


def rows_whole(path: Path) -> int:
    return path.read_bytes().count(b"\n") - (path.suffix == ".csv")


def test_a_full_disk_leaves_an_older_parquet_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    write(path, released(1))
    before = path.read_bytes()
    with room_for(10), pytest.raises(BadInput, match="cannot be written"):
        write(path, released(1), released(2))
    gc.collect()
    assert path.read_bytes() == before


def test_a_packed_output_is_packed_or_refused(tmp_path: Path) -> None:
    """Whatever is called .gz has to be read as such."""
    try:
        write(tmp_path / "out.jsonl.gz", released(1))
    except BadInput:
        return
    assert (tmp_path / "out.jsonl.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_parquet_comes_back_with_the_types_of_its_columns(tmp_path: Path) -> None:
    many = [released(t) for t in range(1, 1100)]
    write(tmp_path / "out.parquet", *many)
    read = rows(tmp_path / "out.parquet")
    assert list(read[0]) == ["t", "unit", *BINS, *AFTER]
    assert [(row["t"], row["unit"], row["north"], row["south"]) for row in read] == [
        (release.label, release.t, *release.values) for release in many
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


@pytest.mark.parametrize("name", [*TEXT, "out.parquet"])
def test_an_output_gets_what_it_has_missed(tmp_path: Path, name: str) -> None:
    counts = [[5, 6], [7, 8], [9, 10], [1, 2]]
    publish(tmp_path, tmp_path / "other.csv", counts[:2])
    publish(tmp_path, tmp_path / name, counts)
    assert [int(row["unit"]) for row in rows(tmp_path / name)] == [1, 2, 3, 4]
    publish(tmp_path, tmp_path / "other.csv", counts)
    links = {path: [row["link"] for row in rows(tmp_path / path)] for path in ("other.csv", name)}
    assert links["other.csv"] == links[name]


@pytest.mark.parametrize("name", [*TEXT, "out.parquet"])
def test_an_output_that_is_ahead_of_the_store_is_refused(tmp_path: Path, name: str) -> None:
    publish(tmp_path, tmp_path / name, [[5, 6], [7, 8]])
    before = (tmp_path / name).read_bytes()
    with pytest.raises(BadInput, match="not in the store, which ends at t=0"):
        publish(tmp_path, tmp_path / name, [[5, 6]], "new.db")
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("name", TEXT)
def test_an_output_of_another_store_is_refused(tmp_path: Path, name: str) -> None:
    publish(tmp_path, tmp_path / name, [[5, 6], [7, 8]])
    publish(tmp_path, tmp_path / "other.csv", [[5, 6], [7, 8]], "other.db")
    before = (tmp_path / name).read_bytes()
    with pytest.raises(BadInput, match="not in the store"):
        publish(tmp_path, tmp_path / name, [[5, 6], [7, 8], [9, 9]], "other.db")
    assert (tmp_path / name).read_bytes() == before


def test_parquet_does_not_go_to_standard_output() -> None:
    with pytest.raises(BadInput, match="cannot be written to standard output"):
        ps.streams.write("-", BINS, form="parquet")


@pytest.mark.parametrize(("name", "form"), [("out", None), ("out.txt", None), ("out", "cvs")])
def test_a_format_has_to_be_known(tmp_path: Path, name: str, form: str | None) -> None:
    with pytest.raises(BadInput, match="csv, "):
        ps.streams.write(tmp_path / name, BINS, form=form)
    assert list(tmp_path.iterdir()) == []


@given(
    names=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    label=st.text().filter(str.isprintable),
    data=st.data(),
)
def test_lines_come_back_whatever_bins_and_times_are_called(names: list[str], label: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(-(2**62), 2**62), min_size=len(names), max_size=len(names)))
    release = released(7, values, label=label)
    formats: tuple[Format, Format] = (Csv(names), Jsonl(names))
    lines = [form.line(release) for form in formats]
    table = list(csv.reader([*formats[0].header().splitlines(keepends=True), *lines[0].splitlines(keepends=True)]))
    if len(table) == 2:  # what else ends a line is torn by splitlines, not by a file
        assert table[0] == ["t", "unit", *names, *AFTER]
        assert table[1][:2] + [int(cell) for cell in table[1][2:-9]] == [label, "7", *values]
    assert lines[1].count("\n") == 1
    read = json.loads(lines[1])
    assert (read["t"], read["values"]) == (label, dict(zip(names, values, strict=True)))
    assert [form.source(line)[:2] for form, line in zip(formats, lines, strict=True)] == [(7, release.link)] * 2


def test_names_with_line_breaks_do_not_break_the_continued_file(tmp_path: Path) -> None:
    """A quoted cell may hold a line break, and a row is then no line."""
    path, bins = tmp_path / "out.csv", ("no\nrth", "so,uth")
    write(path, released(1, label="first\nweek"), bins=bins)
    write(path, released(2, label="second\nweek"), bins=bins)
    write(path, released(3), bins=bins)
    assert [row["t"] for row in rows(path)] == ["first\nweek", "second\nweek", "2026-W03"]


@pytest.mark.parametrize("name", [*TEXT, "out.parquet"])
def test_two_runs_do_not_write_one_output(tmp_path: Path, name: str) -> None:
    with ps.streams.write(tmp_path / name, BINS) as sink:
        sink.write(released(1))
        with pytest.raises(BadInput, match="another process is writing"):
            ps.streams.write(tmp_path / name, BINS)
        sink.write(released(2))
    write(tmp_path / name, *([released(1), released(2)] if name == "out.parquet" else []), released(3))
    assert [int(row["unit"]) for row in rows(tmp_path / name)] == [1, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_where_files_cannot_be_locked_the_output_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", fail)
    with pytest.raises(BadInput, match="cannot be written: No locks available"):
        ps.streams.write(tmp_path / "out.csv", BINS)


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("rest", ["lost", "kept"])
def test_rows_that_a_power_cut_has_spoilt_are_written_again(tmp_path: Path, name: str, rest: str) -> None:
    """Pages that had not reached the disk are zeros; those after them may have reached it."""
    counts, path = [[t, 2 * t] for t in range(40)], tmp_path / name
    publish(tmp_path, path, counts)
    whole = path.read_bytes()
    first = len(whole) // 8
    for begin, end in [(first, first + 512), (len(whole) - 700, len(whole) - 188), (len(whole) - 5, len(whole))]:
        tail = whole[end:] if rest == "kept" else b""
        path.write_bytes(whole[:begin] + bytes(end - begin) + tail)
        publish(tmp_path, path, counts)
        assert path.read_bytes() == whole


@pytest.mark.parametrize("name", TEXT)
def test_an_output_of_which_nothing_was_durable_begins_anew(tmp_path: Path, name: str) -> None:
    publish(tmp_path, tmp_path / "whole.csv", [[1, 2]])
    (tmp_path / name).write_bytes(bytes(300))
    publish(tmp_path, tmp_path / name, [[1, 2]])
    assert [row["unit"] for row in rows(tmp_path / name)] in ([1], ["1"])


@pytest.mark.parametrize("content", [b"\0\0notes", b"\0" * 300_000 + b"x", b'{"x": 1}\n\0\0', b"my notes\0\0"])
@pytest.mark.parametrize("name", TEXT)
def test_zeros_do_not_make_a_foreign_file_ours(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match="holds something else"):
        write(tmp_path / name, released(1))
    assert (tmp_path / name).read_bytes() == content


def test_no_more_of_an_output_can_be_spoilt_than_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows become durable whenever they add up, when the file is closed, and at its beginning."""
    durable, path, sync = list[int](), tmp_path / "out.csv", os.fsync

    def fsync(handle: int) -> None:
        if os.path.samestat(os.fstat(handle), path.stat()):
            durable.append(path.stat().st_size)
        sync(handle)

    monkeypatch.setattr("penstock.streams.sinks.SYNCED_BYTES", 1000)
    monkeypatch.setattr(os, "fsync", fsync)
    write(path, *map(released, range(1, 40)))
    size = path.stat().st_size
    assert (durable[0], durable[-1]) == (len(path.read_bytes().splitlines(keepends=True)[0]), size)
    assert all(after - before <= 1000 + size // 39 for before, after in itertools.pairwise(durable))
