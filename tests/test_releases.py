"""Releases read back: everything that is written comes back, and nothing else passes for a release."""

from __future__ import annotations

import gzip
import importlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import BadInput
from penstock.types import Cause, Kind, Published

thorough = settings(derandomize=True, deadline=None, max_examples=100)

COLUMNS = {"t", "unit", "kind", "noise_sd", "charged", "remaining", "cause", "mechanism", "version", "sequence", "link"}
PRINTABLE = st.text(max_size=8).filter(str.isprintable)
ALL = ["out.csv", "out.jsonl", "out.parquet"]
TEXT = ALL[:2]
AMOUNTS = st.integers(0, 10**15).map(ps.Epsilon.of_nano)


@st.composite
def histories(draw: st.DrawFn) -> tuple[tuple[str, ...], list[Published]]:
    """Names of bins, and releases with anything in them that a release may have."""
    names = st.text(min_size=1, max_size=6).filter(str.isprintable).filter(lambda name: name not in COLUMNS)
    bins = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    units = draw(st.lists(st.integers(1, 2**40), min_size=1, max_size=4, unique=True).map(sorted))

    def each(kind: Any, of: st.SearchStrategy[Any]) -> Any:
        one = st.builds(lambda value: [value] * len(bins), of)
        return np.array(draw(one | st.lists(of, min_size=len(bins), max_size=len(bins))), kind)

    def release(t: int) -> Published:
        return Published(
            t=t,
            values=each(np.int64, st.integers(-(2**63), 2**63 - 1)),
            kind=each(np.int8, st.sampled_from([int(kind) for kind in Kind])),
            noise_sd=each(np.float64, st.floats(0, 1e50)),
            charged=draw(AMOUNTS),
            stream="people",
            label=draw(PRINTABLE),
            cause=draw(st.sampled_from(Cause)),
            remaining=draw(AMOUNTS),
            sequence=draw(st.integers(0, 2**40)),
            mechanism=draw(PRINTABLE),
            version=draw(PRINTABLE),
            link=draw(st.text("0123456789abcdef", max_size=64)),
        )

    return tuple(bins), [release(t) for t in units]


def write(path: Path, bins: tuple[str, ...], releases: list[Published]) -> None:
    with ps.streams.write(path, bins) as sink:
        for release in releases:
            sink.write(release)


def same(one: Published, other: Published) -> bool:
    others = [each.name for each in fields(Published) if each.name not in ("values", "kind", "noise_sd")]
    return one.same_as(other) and all(getattr(one, name) == getattr(other, name) for name in others)


def simple(t: int, **other: Any) -> Published:
    return replace(
        Published(
            t,
            np.array([t, -t]),
            np.zeros(2, np.int8),
            np.full(2, 1.5),
            ps.Epsilon("0.1"),
            "people",
            f"2026-W{t:02d}",
            Cause.DECIDED,
            ps.Epsilon(1),
            t,
            "Uniform",
            "1",
            f"{t:064x}",
        ),
        **other,
    )


BINS = ("north", "süd")


@pytest.fixture(params=ALL)
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of five releases."""
    path = tmp_path / str(request.param)
    write(path, BINS, [simple(t) for t in range(1, 6)])
    return path


@pytest.mark.parametrize("name", ALL)
@thorough
@given(history=histories())
def test_everything_that_is_written_comes_back(name: str, history: tuple[tuple[str, ...], list[Published]]) -> None:
    bins, releases = history
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, bins, releases)
        with ps.streams.read_releases(path) as read:
            assert read.bins == bins
            stream = "people" if name == "out.jsonl" else ""
            found = list(read)
            assert len(found) == len(releases)
            assert all(same(one, replace(other, stream=stream)) for one, other in zip(found, releases, strict=True))


@pytest.mark.parametrize("name", TEXT)
def test_a_packed_file_is_unpacked(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, BINS, [simple(1), simple(2)])
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    assert [release.t for release in ps.streams.read_releases(packed)] == [1, 2]


def test_thirty_thousand_bins_of_different_kinds_come_back_and_are_continued(tmp_path: Path) -> None:
    """Their kinds are one cell, which is longer than Python's reader takes unless it is told to."""
    kinds = np.arange(30_000, dtype=np.int8) % 4
    many = [simple(t, values=np.arange(30_000), kind=kinds, noise_sd=np.arange(30_000.0)) for t in (1, 2)]
    bins = tuple(f"bin {i}" for i in range(30_000))
    for release in many:
        write(tmp_path / "out.csv", bins, [release])
    with ps.streams.read_releases(tmp_path / "out.csv") as read:
        assert all(one.same_as(other) for one, other in zip(read, many, strict=True))


@pytest.mark.parametrize("name", TEXT)
def test_a_last_line_that_is_not_finished_is_left_out(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, BINS, [simple(t, label="Zürich") for t in range(1, 4)])
    content = path.read_bytes()
    for cut in range(content.index(b"\n") + 1, len(content)):
        path.write_bytes(content[:cut])
        begun = content[:cut].count(b"\n") - (name == "out.csv")
        assert [release.t for release in ps.streams.read_releases(path)] == list(range(1, begun + 1))


@pytest.mark.parametrize("name", TEXT)
def test_a_pipe_is_read_line_by_line(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release is there as soon as its line is, whoever may write the next one."""
    path = tmp_path / name
    write(path, BINS, [simple(t) for t in range(1, 4)])
    lines = path.read_bytes().splitlines(keepends=True)
    ahead = 2  # all but the first release, and a header, if there is one
    reading, writing = os.pipe()
    with open(writing, "wb", buffering=0) as end, open(reading) as beginning:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", beginning)
        end.write(b"".join(lines[:-ahead]))
        found = iter(ps.streams.read_releases("-", form=path.suffix[1:]))
        assert next(found).t == 1
        for t, line in enumerate(lines[-ahead:], start=2):
            end.write(line)
            assert next(found).t == t
        end.close()
        assert list(found) == []


def test_a_named_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    write(tmp_path / "out.csv", BINS, [simple(1), simple(2)])
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[(tmp_path / "out.csv").read_bytes()])
    writer.start()
    with ps.streams.read_releases(path) as read:
        assert [release.t for release in read] == [1, 2]
    writer.join()


FOREIGN = {
    "empty": b"",
    "counts": b"t,a,b\n1,5,6\n",
    "object": b'{"t": 1, "a": 5}\n',
    "no bins": b"t,unit,kind,noise_sd,charged,remaining,cause,mechanism,version,sequence,link\n",
    "a torn header": b"t,unit,north,kin",
    "empty values": b'{"values": {}}\n',
    "a bin like a column": b"t,unit,t,kind,noise_sd,charged,remaining,cause,mechanism,version,sequence,link\n",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    for name in TEXT:
        (tmp_path / name).write_bytes(content)
        if name == "out.jsonl" and content[:2] == b"t,":
            content = content.replace(b"\n", b"")  # a line that is no object is refused as such
        with pytest.raises(
            BadInput, match=r"holds no releases; give a file that .*\.$|every line is a JSON object|holds JSON, not CSV"
        ):
            ps.streams.read_releases(tmp_path / name)


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    importlib.import_module("polars").DataFrame({"t": [1], "a": [2]}).write_parquet(tmp_path / "out.parquet")
    with pytest.raises(BadInput, match="holds no releases"):
        ps.streams.read_releases(tmp_path / "out.parquet")
    (tmp_path / "out.parquet").write_bytes(b"PAR?")
    with pytest.raises(BadInput, match="cannot be read as a Parquet file"):
        ps.streams.read_releases(tmp_path / "out.parquet")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name in ALL:
        with pytest.raises(BadInput, match="cannot be read"):
            ps.streams.read_releases(tmp_path / name)
    with pytest.raises(BadInput, match="say which format"):
        ps.streams.read_releases(tmp_path / "out.txt")


def spoilt() -> Iterator[tuple[str, str, str]]:
    """Whatever is wrong with the third line of a file."""
    for before, after in [("2026-W03,3,3,-3", "2026-W03,3,3"), (",3,3,-3,", ",3,3.5,-3,"), (",3,3,-3,", ",0,3,-3,")]:
        yield "out.csv", before, after
    for before, after in [("fresh", "stale"), ("1.5,", "1.5;2;3,"), ("1.5,", "much,"), ("decided", "?"), ("0.1", "-1")]:
        yield "out.csv", before, after
    yield "out.csv", ",3,3,-3,", f",3,{2**63},-3,"
    for noise in ("nan", "inf", "-1.5"):
        yield "out.csv", "1.5,", f"{noise},"
    for before, after in [('"unit": 3', '"unit": 3.5'), ('"unit": 3, ', ""), ("-3}", '"x"}'), ("-3}", '-3, "x": 1}')]:
        yield "out.jsonl", before, after
    for before, after in [('"fresh"', "[]"), ('"fresh"', "7"), ('"0.1"', "0.1"), ('"cause"', '"because"')]:
        yield "out.jsonl", before, after
    yield "out.jsonl", '{"north": 3, "süd": -3}', "7"


@pytest.mark.parametrize(("name", "before", "after"), list(spoilt()))
def test_a_spoilt_line_is_refused_with_its_number(tmp_path: Path, name: str, before: str, after: str) -> None:
    path = tmp_path / name
    write(path, BINS, [simple(t) for t in range(1, 6)])
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    number = 3 + (name == "out.csv")
    assert before in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(before, after, 1)
    path.write_text("".join(lines), encoding="utf-8")
    read = iter(ps.streams.read_releases(path))
    assert [next(read).t, next(read).t] == [1, 2]
    with pytest.raises(BadInput, match=rf"^{name}, line {number} is not a release; .*\.$"):
        next(read)


def test_units_come_in_order(whole: Path) -> None:
    whole.unlink()
    write(whole, BINS, [simple(1), simple(3), simple(3)])
    place = "row" if whole.suffix == ".parquet" else "line"
    with pytest.raises(BadInput, match=rf"{place} \d: this release is not later than the one before"):
        list(ps.streams.read_releases(whole))


def test_reading_leaves_no_file_open(whole: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with ps.streams.read_releases(whole) as read:
            assert next(iter(read)).t == 1
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_nothing_on_standard_input_are_no_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(BadInput, match="standard input holds no releases"):
        ps.streams.read_releases("-")
