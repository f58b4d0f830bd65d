"""Rows of files, pipes and data frames: what is read, what is refused, and that no refusal shows a value."""

import contextlib
import gc
import gzip
import importlib
import io
import json
import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import BadInput
from penstock.streams import Calendar, FrameSource, Source
from penstock.streams.lines import Lines
from penstock.streams.text import JsonlSource
from penstock.types import Snapshot, unseal

pd: Any = importlib.import_module("pandas")
pl: Any = importlib.import_module("polars")
pa: Any = importlib.import_module("pyarrow")
pq: Any = importlib.import_module("pyarrow.parquet")

SECRET = "31337"
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    lambda name: name.strip() and name.isprintable()
)
COUNTS = st.lists(st.lists(st.integers(0, 2**53), min_size=3, max_size=3), min_size=1, max_size=8)

Row = tuple[int, str, list[int]]


@pytest.fixture(autouse=True)
def _sweep() -> Iterator[None]:
    yield
    gc.collect()


def as_row(snapshot: Snapshot) -> Row:
    return snapshot.t, snapshot.label, unseal(snapshot).tolist()


def rows(source: Source) -> list[Row]:
    return [as_row(snapshot) for snapshot in source.snapshots(Calendar())]


def a_file(folder: Path, content: str | bytes, name: str = "in.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_until_refused(source: Source, **how: Any) -> tuple[list[Row], str]:
    seen: list[Row] = []
    with pytest.raises(BadInput) as fault:
        seen.extend(as_row(snapshot) for snapshot in source.snapshots(Calendar(**how)))
    return seen, str(fault.value)


TWO = [(1, "1", [5, 6]), (2, "2", [7, 8])]


@pytest.mark.parametrize(
    "content",
    [
        "t,a,b\n1,5,6\n2,7,8\n",
        "t,a,b\r\n1,5,6\r\n2,7,8\r\n",
        "\ufefft,a,b\n1,5,6\n2,7,8\n",
        '"t","a","b"\n"1","5","6"\n"2","7","8"\n',
        "\n\nt,a,b\n\n1,5,6\n\n\n2,7,8\n\n",
        "t,a,b\n 1 , 5 ,6\n2,7.0, 8e0\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_csv_is_read_however_it_is_written(tmp_path: Path, content: str, packed: bool) -> None:
    data = gzip.compress(content.encode()) if packed else content.encode()
    source = ps.streams.read(a_file(tmp_path, data, "in.csv.gz" if packed else "in.csv"))
    assert source.bins == ("a", "b")
    assert not source.live
    assert rows(source) == TWO


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["in.jsonl", "in.ndjson", "in.jsonl.gz"])
def test_json_lines_are_read_in_any_order_of_keys(tmp_path: Path, ending: str, name: str) -> None:
    text = ending.join(['\ufeff{"t": 1, "a": 5, "b": 6}', "", '{"b": 8, "t": "2", "a": 7.0}', ""])
    data = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    assert rows(ps.streams.read(a_file(tmp_path, data, name))) == TWO


def test_the_time_may_be_in_the_middle(tmp_path: Path) -> None:
    source = ps.streams.read(a_file(tmp_path, "a,day,b\n5,2026-11-15,6\n7,2026-11-16,8\n"), time="day")
    assert source.bins == ("a", "b")
    assert rows(source) == [(1, "2026-11-15", [5, 6]), (2, "2026-11-16", [7, 8])]
    with pytest.raises(BadInput, match=r"no column 'dya' for the time\. Did you mean day"):
        ps.streams.read(tmp_path / "in.csv", time="dya")


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ("2,5", "line 3"),
        ("2,5,6,31337", "line 3"),
        ("2,5,-31337", 'line 3, column 3 ("b")'),
        ("2,31337.5,6", 'line 3, column 2 ("a")'),
        ("2,NaN,31337", 'line 3, column 2 ("a")'),
        ("2,,31337", 'line 3, column 2 ("a")'),
        ("2,31337,9007199254740993", 'line 3, column 3 ("b")'),
        ("2,5,31337 people", 'line 3, column 3 ("b")'),
        ("2,5,31337\0", 'line 3, column 3 ("b")'),
        ("1,31337,6", "line 3, column 1: this row repeats"),
        ("0,31337,6", "line 3, column 1"),
        ("a31337,5,6", "line 3, column 1: the time is neither"),
        (",31337,6", "line 3, column 1: the time is empty"),
        ('2,"31337"x,6', "line 3"),
        ('2,"31337,6', "line 3"),
        ("2,\udcff31337,6", "line 3 is not UTF-8"),
    ],
)
def test_a_bad_row_is_named_by_line_and_column_and_never_by_value(tmp_path: Path, row: str, where: str) -> None:
    content = f"t,a,b\n1,5,6\n{row}\n".encode(errors="surrogateescape")
    seen, said = read_until_refused(ps.streams.read(a_file(tmp_path, content)))
    assert seen == [(1, "1", [5, 6])], said
    assert f"in.csv, {where}" in said
    assert SECRET not in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ('{"t": 2, "a": 31337}', 'line 2, column "b" is missing'),
        ('{"t": 2, "a": 5, "b": 6, "31337": 1}', "line 2, column 4: the first line has no such bin"),
        ('{"t": 2, "a": 5, "b": "31337"}', 'line 2, column 3 ("b")'),
        ('{"t": 2, "a": [31337], "b": 6}', 'line 2, column 2 ("a")'),
        ('{"t": 2, "a": null, "b": 31337}', 'line 2, column 2 ("a")'),
        ('{"t": 2, "a": true, "b": 31337}', 'line 2, column 2 ("a")'),
        ('{"t": 2, "a": 5, "a": 31337, "b": 6}', "line 2"),
        ('{"t": null, "a": 31337, "b": 6}', "line 2, column 1: the time"),
        ('{"t": 2, "a": 31337', "line 2"),
        ("[" * 100_000, "line 2"),
        ('{"t": 2, "a": ' + SECRET * 2000 + ', "b": 6}', "line 2"),
        ('{"t": 2, "a": 31337, "b": "\udcff"}', "line 2 is not UTF-8"),
    ],
)
def test_a_bad_json_line_is_named_likewise(tmp_path: Path, row: str, where: str) -> None:
    content = f'{{"t": 1, "a": 5, "b": 6}}\n{row}\n'.encode(errors="surrogateescape")
    seen, said = read_until_refused(ps.streams.read(a_file(tmp_path, content, "in.jsonl")))
    assert seen == [(1, "1", [5, 6])], said
    assert f"in.jsonl, {where}" in said
    assert SECRET not in said


def test_columns_of_json_lines_are_counted_as_they_stand(tmp_path: Path) -> None:
    content = '{"a": 1, "t": 1, "b": 2}\n{"a": -1, "t": 2, "b": 2}\n'
    said = read_until_refused(ps.streams.read(a_file(tmp_path, content, "in.jsonl"), time="t"))[1]
    assert 'column 1 ("a")' in said


def test_a_fault_far_down_a_file_is_named_by_its_line_and_the_rows_before_it_count(tmp_path: Path) -> None:
    lines = [f"{t},{t}" for t in range(1, 5000)]
    lines[3000] = "3001,\udcff31337"
    content = "\n".join(["t,a", *lines]).encode(errors="surrogateescape")
    seen, said = read_until_refused(ps.streams.read(a_file(tmp_path, content)))
    assert "in.csv, line 3002 " in said
    assert len(seen) == 3000


@pytest.mark.parametrize("harm", ["cut", "changed", "not packed", "longer"])
def test_a_spoilt_gz_file_is_refused_in_a_sentence(tmp_path: Path, harm: str) -> None:
    packed = gzip.compress("\n".join(["t,a", *(f"{t},{t * t % 9973}" for t in range(1, 3000))]).encode())
    middle = len(packed) // 2
    spoilt = {
        "cut": packed[:middle],
        "changed": packed[:20] + b"\xff" * 20 + packed[40:],
        "not packed": b"t,a\n1,31337\n",
        "longer": packed + b"31337",
    }
    with pytest.raises(BadInput, match=r"in\.csv\.gz"):
        rows(ps.streams.read(a_file(tmp_path, spoilt[harm], "in.csv.gz")))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("in.csv", ""),
        ("in.jsonl", ""),
        ("in.csv", "t\n1\n"),
        ("in.csv", "t,a,a\n"),
        ("in.csv", "t,a,,b\n"),
        ("in.csv", ",,,\n"),
        ("in.jsonl", '{"t": 1}'),
        ("in.jsonl", "31337"),
        ("in.parquet", "31337"),
        ("in.txt", "t,a\n"),
    ],
)
def test_a_file_without_a_header_that_can_be_used_is_refused(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(BadInput, match=r"in\.") as fault:
        ps.streams.read(a_file(tmp_path, content, name))
    assert SECRET not in str(fault.value)


@pytest.mark.parametrize("name", ["nothing.csv", "nothing.jsonl", "nothing.csv.gz", "nothing.parquet", "."])
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput):
        ps.streams.read(tmp_path / name, form="csv")


def test_a_row_without_a_name_is_refused_where_rows_are_named(tmp_path: Path) -> None:
    """A name that is not there cannot be found again."""
    seen, said = read_until_refused(ps.streams.read(a_file(tmp_path, "t,a\nx,1\n,2\n")), every="row")
    assert (len(seen), "line 3, column 1" in said) == (1, True)


@given(names=st.lists(NAMES, min_size=3, max_size=3, unique=True), counts=COUNTS)
def test_json_lines_come_back(names: list[str], counts: list[list[int]]) -> None:
    lines = [json.dumps({"\0time": t} | dict(zip(names, row, strict=True))) for t, row in enumerate(counts, start=1)]
    source = JsonlSource(Lines(io.BytesIO("\n".join(lines).encode()), "lines"), time="\0time")
    assert source.bins == tuple(names)
    assert [row[2] for row in rows(source)] == counts


FRAME = {"day": [date(2026, 11, 15), date(2026, 11, 16)], "a": [5, 7], "b": [6, 8]}
HOURS = [datetime(2026, 11, 15, 23), datetime(2026, 11, 16), datetime(2026, 11, 16, 1)]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_are_read(make: Any, tmp_path: Path) -> None:
    assert rows(FrameSource(make(FRAME))) == [(1, "2026-11-15", [5, 6]), (2, "2026-11-16", [7, 8])]
    hourly = FrameSource(make({"a": [1, 2, 3], "when": HOURS}), time="when")
    assert [row[0] for row in rows(hourly)] == [1, 2, 3]
    said = read_until_refused(FrameSource(make({"t": [1, 2], "a": [1, -31337]})))[1]
    assert 'the data frame, row 2, column 2 ("a")' in said
    assert SECRET not in said


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_days_of_a_pandas_column_stay_days(zone: str | None) -> None:
    frame = pd.DataFrame({"t": pd.date_range("2026-11-13", periods=3, tz=zone), "a": [1, 2, 3]})
    assert [row[0] for row in rows(FrameSource(frame))] == [1, 2, 3]


@pytest.mark.parametrize(
    "column", [pd.array([1, 2], dtype="Int64"), pd.array([1.0, 2.0]), pd.array([1, 2], dtype="uint8")]
)
def test_counts_of_every_whole_type_are_read(column: Sequence[int]) -> None:
    assert [row[2] for row in rows(FrameSource(pd.DataFrame({"t": [1, 2], "a": column, "b": [3, 4]})))] == [
        [1, 3],
        [2, 4],
    ]


@pytest.mark.parametrize("holes", [[None, 31337], ["31337", 1], [True, 31337], [float("nan"), 31337]])
def test_a_cell_of_a_frame_that_is_no_count_is_refused(holes: list[Any]) -> None:
    said = read_until_refused(
        FrameSource(pd.DataFrame({"t": [1, 2], "b": [0, 0], "a": pd.Series(holes, dtype=object)}))
    )[1]
    assert 'row 1, column 3 ("a")' in said
    assert SECRET not in said


def test_columns_without_names_of_their_own_are_refused_in_a_sentence() -> None:
    with pytest.raises(BadInput, match="name"):
        FrameSource(pd.DataFrame([[1, 2, 3]], columns=["t", "a", "a"]))


def test_columns_that_are_numbered_are_read_or_refused() -> None:
    with contextlib.suppress(BadInput):
        assert rows(FrameSource(pd.DataFrame([[1, 5], [2, 7]]))) == [(1, "1", [5]), (2, "2", [7])]


@pytest.mark.parametrize("thing", [31337, None, [[1, 2]], "t,a", pl.LazyFrame(FRAME)])
def test_what_is_no_data_frame_is_refused(thing: Any) -> None:
    with pytest.raises(BadInput, match="not a data frame"):
        FrameSource(thing)


def test_parquet_files_are_read_batch_by_batch(tmp_path: Path) -> None:
    size = 1500
    table = pa.table({"a": list(range(size)), "t": list(range(100, 100 + size)), "b": [0] * size})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=700)
    source = ps.streams.read(tmp_path / "in.parquet", time="t")
    assert rows(source) == [(i + 1, str(100 + i), [i, 0]) for i in range(size)]


@pytest.mark.parametrize("content", ["t,a\n1,5\n", "t,a\n1,x\n", "t\n"])
def test_a_file_is_closed_when_it_was_read_or_refused(tmp_path: Path, content: str) -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(BadInput):
            rows(ps.streams.read(a_file(tmp_path, content)))
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


@pytest.mark.parametrize("name", ["north", "beds", "a"])
def test_counts_in_the_first_column_are_not_published_as_times(tmp_path: Path, name: str) -> None:
    """A column of whole numbers that nobody calls a time may hold counts; called so, or named so, it is one."""
    file = tmp_path / "counts.csv"
    file.write_text(f"{name},south\n97,3\n98,4\n", encoding="utf-8")
    with contextlib.closing(ps.streams.read(str(file))) as source, pytest.raises(BadInput, match="--time"):
        next(iter(source.snapshots(Calendar("auto"))))
    with contextlib.closing(ps.streams.read(str(file), time=name)) as source:
        assert [snapshot.label for snapshot in source.snapshots(Calendar("auto"))] == ["97", "98"]
