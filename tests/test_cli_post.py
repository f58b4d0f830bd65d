"""``penstock post``: releases in, releases out; live, from files and stores, continued wherever it was stopped."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from in_process import command
from penstock.types import Published

COMMAND = str(Path(sys.executable).parent / "penstock")
LAW = ("--model", "event-level", "--epsilon", "1", "--mechanism", "uniform", "--every", "1")
ALL = ["out.csv", "out.jsonl", "out.parquet"]
TEXT = ALL[:2]
BINS = ("nation", "north", "south")
STEPS: list[tuple[str, ...]] = [
    ("--non-negative",),
    ("--smooth", "3"),
    ("--smooth", "4", "--median", "--round", "5"),
    ("--width", "3", "--non-negative"),
    ("--total", "100"),
    ("--smooth", "2", "--width", "3", "--levels", "levels.toml", "--total", "90", "--non-negative"),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store, its releases, and levels."""
    monkeypatch.chdir(tmp_path)
    run(12)
    Path("levels.toml").write_text('nation = ["north", "south"]\n')
    return tmp_path


def run(until: int, output: str = "releases.csv", *, store: str = "s.db", first: int = 1) -> str:
    counts = [f"{t},{5 + t},2,{3 + t}\n" for t in range(first, until + 1)]
    Path("in.csv").write_text("t,nation,north,south\n" + "".join(counts))
    code, out, err = command("run", "--input", "in.csv", "--store", store, "--output", output, *LAW)
    assert code == 0, err
    return out


def post(*arguments: object, stdin: str = "") -> str:
    code, out, err = command("post", *arguments, stdin=stdin)
    assert code == 0, err
    assert err.startswith("done: ")
    return out


def refused(*arguments: object, stdin: str = "") -> str:
    code, out, err = command("post", *arguments, stdin=stdin)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    return err


def read(path: str) -> list[Published]:
    with ps.streams.read_releases(path) as releases:
        return list(releases)


def written(path: str, releases: Sequence[Published]) -> None:
    with ps.streams.write(path, BINS) as sink:
        for release in releases:
            sink.write(release)


# ---- what comes out --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", STEPS, ids=" ".join)
@pytest.mark.parametrize("name", ALL)
def test_run_twice_changes_nothing_and_whatever_is_cut_off_comes_back(steps: tuple[str, ...], name: str) -> None:
    post("releases.csv", "-o", name, *steps)
    whole = Path(name).read_bytes()
    assert len(read(name)) == 12
    post("releases.csv", "-o", name, *steps)
    assert Path(name).read_bytes() == whole
    for cut in range(0, len(whole) if name in TEXT else 0, 331):
        Path(name).write_bytes(whole[:cut])
        post("releases.csv", "-o", name, *steps)
        assert Path(name).read_bytes() == whole


@pytest.mark.parametrize("steps", STEPS, ids=" ".join)
def test_an_input_that_grows_is_followed(steps: tuple[str, ...]) -> None:
    releases = read("releases.csv")
    for begin, end in pairwise((0, 1, 2, 5, 6, 12)):
        written("growing.csv", releases[begin:end])
        post("growing.csv", "-o", "out.csv", *steps)
    post("releases.csv", "-o", "at once.csv", *steps)
    assert Path("out.csv").read_bytes() == Path("at once.csv").read_bytes()


def test_all_promises_hold_together() -> None:
    post("releases.csv", "-o", "out.csv", "--levels", "levels.toml", "--total", "7", "--non-negative")
    for release, before in zip(read("out.csv"), read("releases.csv"), strict=True):
        nation, north, south = release.values.tolist()
        assert nation == north + south == 7
        assert min(north, south) >= 0
        assert (release.t, release.label, release.charged, release.link) == (
            before.t,
            before.label,
            before.charged,
            before.link,
        )
        assert release.mechanism == "Uniform, levels adding up, a total of 7, non-negative"


def test_it_is_what_the_library_does() -> None:
    chain = ps.post.Chain([ps.post.Smoothed(2), ps.post.SlidingSum(3), ps.post.NonNegative(), ps.post.Rounded(5)])
    post("releases.csv", "-o", "out.jsonl", "--round", "5", "--non-negative", "--width", "3", "--smooth", "2")
    expected = [chain(release) for release in read("releases.csv")]
    assert all(one.same_as(other) for one, other in zip(read("out.jsonl"), expected, strict=True))
    assert expected[0].mechanism == "Uniform, means of 2, sums of 3, non-negative, rounded to 5"


def test_a_total_for_every_unit() -> None:
    Path("totals.csv").write_text("t,total\n" + "".join(f"{t},{10 * t}\n" for t in range(1, 13)))
    post("releases.csv", "-o", "out.csv", "--total", "totals.csv")
    assert [release.values.sum() for release in read("out.csv")] == [10 * t for t in range(1, 13)]
    Path("totals.csv").write_text("t,total\n1,5\n")
    assert 'the total of "2" is not known' in refused("releases.csv", "--total", "totals.csv", "-o", "other.csv")


# ---- where releases come from ----------------------------------------------------------------------------------------


def test_a_store_is_read_like_the_file_it_was_written_to() -> None:
    post("releases.csv", "-o", "file.csv", "--smooth", "3")
    post("s.db", "-o", "store.csv", "--smooth", "3")
    post("s.db", "-o", "named.csv", "--smooth", "3", "--stream", "in")
    assert Path("file.csv").read_bytes() == Path("store.csv").read_bytes() == Path("named.csv").read_bytes()
    run(15)
    for source, output in (("s.db", "file.csv"), ("releases.csv", "store.csv")):
        post(source, "-o", output, "--smooth", "3")
    assert Path("file.csv").read_bytes() == Path("store.csv").read_bytes()
    assert len(read("file.csv")) == 15


def test_a_store_with_several_streams_has_to_be_told_which() -> None:
    assert command("run", "--input", "in.csv", "--store", "s.db", "--stream", "other", "-o", "o.csv", *LAW)[0] == 0
    assert 'has these streams: "in", "other"; say with --stream' in refused("s.db", "--round", "5")
    assert 'has no stream "third"' in refused("s.db", "--round", "5", "--stream", "third")
    post("s.db", "--round", "5", "--stream", "other")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_standard_input_and_output(form: str) -> None:
    written(f"plain.{form}", read("releases.csv"))
    formats = ("--input-format", form, "--output-format", form)
    shown = post("-", "--non-negative", *formats, stdin=Path(f"plain.{form}").read_text())
    post(f"plain.{form}", "-o", f"out.{form}", "--non-negative")
    assert shown == Path(f"out.{form}").read_text()


def test_a_pipe_that_begins_later_goes_on_where_nothing_from_before_is_needed() -> None:
    piped = run(12, "-")
    post("-", "--non-negative", "-o", "out.csv", stdin=piped)
    post("-", "--smooth", "3", "-o", "smooth.csv", stdin=piped)
    whole = run(14, "-")
    later = run(14, "-", first=13)
    post("-", "--non-negative", "-o", "out.csv", stdin=later)
    assert len(read("out.csv")) == 14
    assert "give them from t=10 on, or name" in refused("-", "--smooth", "3", "-o", "smooth.csv", stdin=later)
    assert "are of Uniform, non-negative, not of" in refused("-", "--round", "5", "-o", "out.csv", stdin=later)
    post("-", "--smooth", "3", "-o", "smooth.csv", stdin=whole)
    assert len(read("smooth.csv")) == 14


def test_releases_come_out_while_they_come_in() -> None:
    """Two processes and a pipe that stays open; killed in the middle, the second one goes on later."""
    lines = Path("releases.csv").read_bytes().splitlines(keepends=True)
    arguments = [COMMAND, "post", "-", "-o", "live.csv", "--smooth", "3"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(b"".join(lines[:6]) + lines[6][:20])
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while not Path("live.csv").exists() or Path("live.csv").read_bytes().count(b"\n") < 6:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    assert [release.t for release in read("live.csv")] == [1, 2, 3, 4, 5]
    post("releases.csv", "-o", "live.csv", "--smooth", "3")
    post("releases.csv", "-o", "whole.csv", "--smooth", "3")
    assert Path("live.csv").read_bytes() == Path("whole.csv").read_bytes()


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("releases.csv",), "say what to do with the releases: --smooth, "),
        (("releases.csv", "--median"), "--median needs to know"),
        (("in.csv", "--round", "5"), "in.csv holds no releases"),
        (("levels.toml", "--round", "5"), "say which format it has"),
        (("nothing.csv", "--round", "5"), "nothing.csv cannot be read"),
        (("-", "--round", "5"), "standard input holds no releases"),
        (("releases.csv", "--round", "0"), "the number to round to must be"),
        (("releases.csv", "--width", "0"), "width must be a whole number"),
        (("releases.csv", "--smooth", "0"), "width must be a whole number"),
        (("releases.csv", "--round", "5", "-o", "releases.csv"), "output and input are the same file"),
        (("s.db", "--round", "5", "-o", "s.db"), "output and input are the same file"),
        (("releases.csv", "--round", "5", "--stream", "in"), "is not a store; leave out --stream"),
        (("releases.csv", "--round", "5", "-o", "in.csv"), "holds something else"),
        (("releases.csv", "--levels", "nothing.toml"), "nothing.toml cannot be read"),
        (("releases.csv", "--levels", "in.csv"), "is not valid TOML"),
        (("releases.csv", "--levels", "bad.toml"), 'has to list the parts of "nation"'),
        (("releases.csv", "--levels", "other.toml"), "there is no bin 'east'"),
        (("releases.csv", "--total", "nothing.csv"), "nothing.csv cannot be read"),
        (("releases.csv", "--total", "in.csv"), 'has to begin with "t,total"'),
        (("releases.csv", "--total", "bad.csv"), "bad.csv, line 3: a line has a time, once, and a whole number"),
        (("releases.csv", "--total", "9" * 25), "a total must be a whole number from"),
        (("releases.csv", "--total", "9" * 5000), "cannot be read"),
        (("releases.csv", "--total=-3", "--non-negative"), "a total must be a whole number from 0"),
        (("releases.csv", "--round", "5", "-o", "out.parquet", "--output-format", "x"), "a format is one of"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    Path("bad.toml").write_text("nation = 7\n")
    Path("other.toml").write_text('nation = ["east"]\n')
    Path("bad.csv").write_text("t,total\n1,5\n1,6\n")
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    assert sentence in refused(*arguments)
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


@pytest.mark.parametrize("name", TEXT)
def test_an_output_of_other_steps_is_refused_and_left_as_it_is(name: str) -> None:
    post("releases.csv", "-o", name, "--total", "50")
    before = Path(name).read_bytes()
    assert "not of Uniform, rounded to 5; name another output" in refused("releases.csv", "-o", name, "--round", "5")
    assert Path(name).read_bytes() == before
    Path("totals.csv").write_text("t,total\n" + "".join(f"{t},{10 * t}\n" for t in range(1, 13)))
    post("releases.csv", "-o", f"more.{name}", "--total", "totals.csv")
    Path("totals.csv").write_text("t,total\n" + "".join(f"{t},{11 * t}\n" for t in range(1, 13)))
    assert "is not what this makes of" in refused("releases.csv", "-o", f"more.{name}", "--total", "totals.csv")


def test_an_output_of_other_releases_is_refused_and_left_as_it_is() -> None:
    run(12, "others.csv", store="other.db")
    written("short.csv", read("releases.csv")[:4])
    written("holey.csv", [release for release in read("releases.csv") if release.t != 12])
    for name in ALL:
        post("releases.csv", "-o", name, "--non-negative")
        before = Path(name).read_bytes()
        refused("others.csv", "-o", name, "--non-negative")
        assert Path(name).read_bytes() == before
        if name in TEXT:
            for source in ("short.csv", "holey.csv"):
                assert "is not what this makes of" in refused(source, "-o", name, "--non-negative")
                assert Path(name).read_bytes() == before


def test_a_spoilt_line_stops_it_after_those_before() -> None:
    lines = Path("releases.csv").read_text().splitlines(keepends=True)
    Path("spoilt.csv").write_text("".join([*lines[:5], "what?\n", *lines[6:]]))
    assert "spoilt.csv, line 6 is not a release" in refused("spoilt.csv", "-o", "out.csv", "--smooth", "2")
    assert [release.t for release in read("out.csv")] == [1, 2, 3, 4]
    post("releases.csv", "-o", "out.csv", "--smooth", "2")
    post("releases.csv", "-o", "whole.csv", "--smooth", "2")
    assert Path("out.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_values_on_other_levels_make_each_other_better() -> None:
    post("releases.csv", "-o", "out.csv", "--levels", "levels.toml")
    for one, other in zip(read("out.csv"), read("releases.csv"), strict=True):
        assert (one.noise_sd < other.noise_sd).all()
        assert one.noise_sd == pytest.approx(np.sqrt(2 / 3) * other.noise_sd)


def test_the_commands_of_the_manual_work() -> None:
    manual = (Path(__file__).parent.parent / "docs" / "post-processing.md").read_text(encoding="utf-8")
    Path("s.db").rename("flu.db")
    Path("s.db.head").rename("flu.db.head")
    (commands,) = re.findall(r"```sh\n(.*?)```", manual, re.DOTALL)
    for line in commands.splitlines():
        post(*shlex.split(line)[2:])
    assert len(read("tables.csv")) == len(read("smooth.jsonl")) == 12
    (levels,) = re.findall(r"```toml\n(.*?)```", manual, re.DOTALL)
    told = ps.post.Levels(["harbour", "nation", "north", "south", "hills"], tomllib.loads(levels))
    assert told.says == "levels adding up"
