"""``penstock run`` from outside: pipes, signals, kills, and mistakes after which nothing is lost and nothing spent."""

import array
import contextlib
import fcntl
import gc
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import termios
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from unittest import mock

import pytest

import penstock as ps
from in_process import command as penstock

LAW = ("--mechanism", "uniform", "--model", "w-event", "--epsilon", "1", "--w", "3")
COMMAND = [str(Path(sys.executable).parent / "penstock")]
SECRET = "31337"


class Desk:
    """A folder with an input, a store and an output, and the command at hand."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, folder / "store.db"
        self.input, self.output = folder / "in.csv", folder / "out.csv"

    def arguments(self, *more: object, **paths: object) -> list[str]:
        given = {"input": self.input, "output": self.output, "store": self.store} | paths
        return ["run", *(f"--{name}={path}" for name, path in given.items()), *LAW, *map(str, more)]

    def run(self, *more: object, stdin: str | bytes = "", **paths: object) -> tuple[int, str, str]:
        return penstock(*self.arguments(*more, **paths), stdin=stdin)

    def refused(self, *more: object, **paths: Path) -> str:
        """One sentence, exit code 2, nothing spent."""
        before = self.ledger()
        code, out, err = penstock(*self.arguments(*more, **paths))
        assert (code, out) == (2, ""), err
        assert err.startswith("error: ")
        assert len(err.splitlines()) == 1
        assert SECRET not in err
        assert self.ledger() == before
        return err

    def ledger(self) -> list[dict[str, Any]]:
        if not self.store.exists():
            return []
        code, out, err = penstock("ledger", "show", self.store, "--json")
        assert code == 0, err
        return [stream for stream in json.loads(out) if stream["t"]]

    def units(self) -> list[int]:
        lines = self.output.read_text().splitlines()[1:]
        return [int(line.split(",")[1]) for line in lines]

    def verified(self) -> dict[str, Any]:
        code, out, err = penstock("ledger", "verify", self.store, "--json")
        assert code == 0, err
        (found,) = json.loads(out)
        return dict(found)

    def start(self, *more: object, **paths: object) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*COMMAND, *self.arguments(*more, **paths)], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    yield Desk(tmp_path)
    gc.collect()


def put(pipe: IO[str] | None, text: str) -> None:
    assert pipe is not None
    pipe.write(text)
    pipe.flush()


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        ("2026-01-03,5,6,31337", "line 4"),
        ("2026-01-02,31337,6", "line 4, column 1"),
        ("2026-01-01,31337,6", "line 4, column 1"),
        ("2026-01-05,31337,6", "line 4, column 1"),
        ("2026-01-03,-31337,6", 'line 4, column 2 ("a")'),
        ("2026-01-03,31337,x31337", 'line 4, column 3 ("b")'),
    ],
)
def test_a_bad_row_stops_the_run_and_once_mended_it_goes_on(desk: Desk, bad: str, where: str) -> None:
    good = "t,a,b\n2026-01-01,5,6\n2026-01-02,7,8\n"
    desk.input.write_text(f"{good}{bad}\n2026-01-04,1,1\n")
    code, _, err = desk.run()
    assert (code, f"in.csv, {where}" in err) == (2, True), err
    assert SECRET not in err
    assert desk.units() == [1, 2]
    before = desk.output.read_bytes()
    assert where in desk.refused()
    desk.input.write_text(f"{good}2026-01-03,9,9\n2026-01-04,1,1\n")
    assert desk.run()[0] == 0
    assert desk.output.read_bytes().startswith(before)
    assert desk.units() == [1, 2, 3, 4]
    assert desk.verified()["lost"] == 0


def spoil(desk: Desk, how: str) -> Callable[[], object]:
    """Make something unusable; returns how to make it good again."""
    key, moved = desk.folder / "store.db.key", desk.folder / "moved"
    match how:
        case "no key":
            key.rename(moved)
            return lambda: moved.rename(key)
        case "locked":
            other = sqlite3.connect(desk.store, isolation_level=None)
            other.execute("BEGIN EXCLUSIVE")
            return other.close
        case "held":
            store = ps.Store(desk.store)
            writer = ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=1, w=3)), store, "in", bins=["a"])
            return lambda: [each.close() for each in (writer, store)]
        case "full":
            usage = namedtuple("usage", "total used free")
            full = mock.patch.object(shutil, "disk_usage", return_value=usage(10, 10, 0))
            full.start()
            return full.stop
        case "new bin":
            desk.input.write_text("t,a,b\n1,31337,0\n")
            return lambda: None
        case _:
            desk.input.write_text("")
            return lambda: None


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("no key", "key file"),
        ("locked", "locked by another program"),
        ("held", "another process is publishing"),
        ("full", "is full"),
        ("new bin", '"b" was not among them'),
        ("empty", "in.csv is empty"),
    ],
)
def test_what_is_spoilt_is_said_and_once_mended_the_run_goes_on(desk: Desk, how: str, sentence: str) -> None:
    desk.input.write_text("t,a\n1,5\n")
    assert desk.run()[0] == 0
    desk.input.write_text("t,a\n1,5\n2,31337\n")
    before, spent = desk.output.read_bytes(), desk.ledger()
    mend = spoil(desk, how)
    try:
        code, out, err = desk.run()
    finally:
        mend()
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert sentence in err
    assert SECRET not in err
    assert (desk.output.read_bytes(), desk.ledger()) == (before, spent)
    desk.input.write_text("t,a\n1,5\n2,31337\n")
    code, _, err = desk.run()
    assert code == 0, err
    assert desk.units() == [1, 2]
    assert desk.verified()["lost"] == 0


def test_the_input_is_never_the_output(desk: Desk) -> None:
    desk.input.write_text("t,a\n1,5\n2,6\n")
    for name in ("in.csv", "./in.csv"):
        desk.refused(output=desk.folder / name)
        assert desk.input.read_text() == "t,a\n1,5\n2,6\n"
    shutil.copy(desk.input, desk.folder / "in.jsonl")
    desk.refused(output=desk.folder / "in.jsonl")
    assert (desk.folder / "in.jsonl").read_text() == "t,a\n1,5\n2,6\n"


def test_a_longer_file_goes_on_where_it_was(desk: Desk) -> None:
    rows = [f"2020-W{week},{week}\n" for week in range(50, 54)] + ["2021-W01,1\n", "2021-W02,2\n"]
    for length in (1, 3, 3, 6):
        desk.input.write_text("t,a\n" + "".join(rows[:length]))
        assert desk.run()[0] == 0
        assert desk.units() == list(range(1, length + 1))


def test_gaps_repeat_the_last_release_under_its_own_time(desk: Desk) -> None:
    desk.input.write_text("t,a\n2026-01-01T00:00,5\n2026-01-01T01:00,5\n2026-01-01T04:00,5\n")
    assert "2 time units are missing" in desk.run()[2]
    assert desk.run("--gaps")[0] == 0
    lines = [line.split(",") for line in desk.output.read_text().splitlines()[1:]]
    assert [line[0][11:13] for line in lines] == ["00", "01", "02", "03", "04"]
    assert [line[7] for line in lines] == ["decided", "decided", "missing", "missing", "decided"]
    assert lines[1][2] == lines[2][2] == lines[3][2]


def test_the_same_rows_piped_again_give_the_same_bytes(desk: Desk) -> None:
    rows = "t,a\n2026-11,5\n2026-12,6\n2027-01,7\n"
    code, first, err = desk.run(input="-", output="-", stdin=rows)
    assert (code, first.count("\n")) == (0, 4)
    assert err.startswith("the input ended (a pipe does not tell whether all was written): stream")
    assert desk.run(input="-", output="-", stdin=b"\xef\xbb\xbf" + rows.replace("\n", "\r\n").encode())[1] == first
    only_new = desk.run(input="-", output="-", stdin="t,a\n2027-02,7\n")[1].splitlines()
    assert only_new[0] == first.splitlines()[0]
    assert only_new[1].startswith("2027-02,4,")
    code, out, err = desk.run("--every", "row", input="-", output="-", stdin="t,a\n2027-01,7\n")
    assert (code, out, "was begun with every = auto" in err) == (2, "", True)  # other units would be drawn anew


def test_a_producer_that_is_killed_is_not_taken_for_one_that_was_done(desk: Desk) -> None:
    """A pipe ends alike: what was cut off in a line is refused, and what may have been cut off after one is said."""
    rows = "t,a\n" + "".join(f"{t},{t}\n" for t in range(1, 7))
    code, _, err = desk.run(input="-", stdin=rows + "7,1234"[:3])
    assert (code, "is not finished" in err, "done" in err) == (2, True, False)
    code, out, err = desk.run("--json", input="-", stdin=rows)
    assert (code, json.loads(out)["piped"], json.loads(out)["t"], "done" in err) == (0, True, 6, False)
    assert "the input ended" in desk.run(input="-", stdin=rows)[2]
    desk.input.write_text(rows)
    assert desk.run("--stream", "stream")[2].startswith("done: stream ")
    assert json.loads(desk.run("--stream", "stream", "--json")[1])["piped"] is False


def test_a_row_without_a_name_is_not_published_twice(desk: Desk) -> None:
    desk.input.write_text("t,a\nx,5\n,31337\n")
    for _ in range(2):
        desk.run("--every", "row")
    assert desk.ledger()[0]["t"] <= 2


def test_a_live_pipe_answers_before_the_next_row_and_stops_when_told(desk: Desk) -> None:
    for number, (told, code) in enumerate([(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]):
        with desk.start(input="-", output="-") as child:
            assert child.stdout is not None
            put(child.stdin, "t,a\n")
            for t in range(2 * number + 1, 2 * number + 3):
                put(child.stdin, f"{t},{t}\n")
                header = child.stdout.readline() if t == 2 * number + 1 else "t,"
                assert (header[:2], child.stdout.readline().split(",")[:2]) == ("t,", [str(t), str(t)])
            child.send_signal(told)
            out, err = child.communicate(timeout=20)
        assert (child.returncode, out) == (code, "")
        assert len(err.splitlines()) == 1
    assert desk.verified().items() >= {"units": 6, "lost": 0}.items()


def unread(pipe: IO[str] | None) -> int:
    """How many bytes the other end has not read."""
    assert pipe is not None
    found = array.array("i", [0])
    fcntl.ioctl(pipe.fileno(), termios.FIONREAD, found)
    return found[0]


def test_a_pipe_that_has_no_row_yet_begins_nothing(desk: Desk) -> None:
    for row, code in (("", 143), ("1,5\n", 0)):
        with desk.start("--population=p", "--population-epsilon=1", input="-") as child:
            put(child.stdin, "t,a\n")
            while unread(child.stdin):
                time.sleep(0.01)
            time.sleep(0.5)  # in which it would make a store
            assert list(desk.folder.iterdir()) == []
            if code:
                child.send_signal(signal.SIGTERM)
            err = child.communicate(row, timeout=60)[1]
        assert (child.returncode, len(err.splitlines())) == (code, 1)
    assert desk.units() == [1]


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_while_busy_goes_on(desk: Desk, told: signal.Signals) -> None:
    desk.input.write_text("t,a\n" + "".join(f"{t},{t}\n" for t in range(1, 301)))
    with desk.start() as child:
        while child.poll() is None and (not desk.output.exists() or desk.output.stat().st_size < 5000):
            time.sleep(0.002)
        child.send_signal(told)
        err = child.communicate(timeout=20)[1]
    codes = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL}
    assert (child.returncode, "Traceback" in err) == (codes[told], False)
    before = desk.output.read_bytes()
    assert len(before.splitlines()) < 300
    clean = told != signal.SIGKILL
    assert not clean or desk.verified()["lost"] == 0
    assert desk.run()[0] == 0
    assert desk.output.read_bytes().startswith(before[: before.rindex(b"\n") + 1])
    assert desk.units() == list(range(1, 301))
    assert desk.verified()["lost"] <= (not clean)


def test_a_reader_that_has_seen_enough_closes_the_pipe_quietly(desk: Desk) -> None:
    desk.input.write_text("t,a\n" + "".join(f"{t},{t}\n" for t in range(1, 401)))
    with desk.start(output="-") as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(3)]
        child.stdout.close()
        assert child.stderr is not None
        assert child.stderr.read() == ""
    assert desk.verified()["lost"] == 0
    assert desk.run(output="-")[1].splitlines(keepends=True)[:3] == lines
    assert child.returncode in (0, 128 + signal.SIGPIPE, -signal.SIGPIPE)


def test_a_run_that_fills_a_gap_without_end_stops_when_told(desk: Desk) -> None:
    desk.input.write_text("t,a\n1,5\n2,6\n2000000000,7\n")
    with desk.start("--gaps") as child:
        while child.poll() is None and (not desk.output.exists() or desk.output.stat().st_size < 5000):
            time.sleep(0.002)
        child.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=3)
        child.kill()
    assert child.returncode in (143, 2)


def test_a_check_reads_everything_and_spends_nothing(desk: Desk) -> None:
    desk.input.write_text("t,a\n1,5\n2,6\n")
    code, out, err = desk.run("--check")
    assert (code, out, desk.ledger()) == (0, "", [])
    assert "fine: 2 rows, 1 to 2, 1 bin" in err
    desk.run()
    desk.input.write_text("t,a\n1,5\n2,6\n4,7\n")
    before = desk.ledger()
    code, out, err = desk.run("--check")
    assert (code, out, desk.ledger()) == (2, "", before)
    assert "line 4, column 1: 1 time unit is missing" in err


def test_what_was_written_again_is_not_called_new(desk: Desk) -> None:
    desk.input.write_text("t,a\n" + "".join(f"{t},5\n" for t in range(1, 6)))
    assert "5 new releases, 5 fresh." in desk.run()[2]
    desk.output.unlink()
    desk.input.write_text("t,a\n" + "".join(f"{t},5\n" for t in range(1, 8)))
    assert "is at t=7; 2 new releases, 2 fresh; 5 older written again." in desk.run()[2]
    assert "is at t=7; nothing new." in desk.run()[2]


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        ("2026-W01,31337,6", "looks like a row"),
        ("1,31337,6", "looks like a row"),
        ("cases,week,tests", 'is the time in the column "week"?'),
    ],
)
def test_counts_are_not_taken_for_names(desk: Desk, first: str, sentence: str) -> None:
    desk.input.write_text(f"{first}\n41,1,90\n")
    code, out, err = desk.run()
    assert (code, out, "31337" in err, desk.ledger()) == (2, "", False, [])
    assert sentence in err


def test_a_second_stream_in_a_store_has_to_be_meant(desk: Desk, tmp_path: Path) -> None:
    desk.input.write_text("t,a\n1,5\n")
    desk.run()
    (tmp_path / "other.csv").write_text("t,a\n1,5\n")
    code, _, err = desk.run(input=str(tmp_path / "other.csv"), output="-")
    assert (code, "say with --stream" in err) == (2, True)
    assert desk.run("--stream", "other", input=str(tmp_path / "other.csv"), output="-")[0] == 0


def test_another_length_of_a_unit_does_not_draw_rows_anew(desk: Desk) -> None:
    desk.input.write_text("t,a\n2026-W01,5\n2026-W03,6\n2026-W04,7\n")
    assert "1 time unit is missing" in desk.run()[2]
    code, _, err = desk.run("--every", "2w", "--gaps")
    assert (code, "was begun with every = auto" in err) == (2, True)
    assert desk.run("--gaps")[0] == 0
    assert [line.split(",")[0] for line in desk.output.read_text().splitlines()[1:]] == [
        f"2026-W0{week}" for week in range(1, 5)
    ]


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
def test_an_output_is_compared_with_the_store_line_by_line(desk: Desk, tmp_path: Path, name: str) -> None:
    output = tmp_path / name
    desk.input.write_text("t,a\n1,5\n2,6\n3,7\n")
    desk.run(output=str(output))
    assert penstock("ledger", "verify", desk.store, "--output", output)[0] == 0
    good = output.read_text()
    for bad in (good.replace("fresh", "frosh", 1), good[:-20], good + good.splitlines(keepends=True)[-1]):
        output.write_text(bad)
        code, out, err = penstock("ledger", "verify", desk.store, "--output", output)
        assert (code, out, f"{name}, line " in err) == (2, "", True)


def test_a_stream_of_told_units_is_adopted_and_goes_on_in_its_output(desk: Desk) -> None:
    days = [f"2026-11-{day},5" for day in range(10, 18)]
    desk.input.write_text("\n".join(["t,a", *days[:3], ""]))
    desk.run("--every", "1d")
    old = desk.store.read_bytes()
    desk.input.write_text("\n".join(["t,a", *days[:6], ""]))
    desk.run("--every", "1d")
    desk.store.write_bytes(old)
    assert desk.run("--every", "1d")[0] == 2
    assert penstock("ledger", "adopt", desk.store, "--stream", "in", "--yes")[0] == 0
    desk.input.write_text("\n".join(["t,a", *days, ""]))
    assert desk.run("--every", "1d", "--check")[0] == 0
    assert desk.run("--every", "1d")[0] == 0
    assert desk.units() == list(range(1, 9))
    verify = "ledger", "verify", desk.store, "--output", desk.output
    code, out, _ = penstock(*verify)
    assert (code, "but for 3 lines of units that were adopted" in out) == (0, True)
    lines = desk.output.read_text().splitlines(keepends=True)
    desk.output.write_text("".join(lines[:4] + lines[7:]))  # as an export would write it
    code, out, _ = penstock(*verify)
    assert (code, "but for" in out) == (0, False)
    for wrong in (lines[:3] + lines[4:], lines[:7] + lines[6:], lines[:-1]):
        desk.output.write_text("".join(wrong))
        assert penstock(*verify)[0] == 2


def test_a_folder_that_is_missing_is_named_and_once_it_is_there_the_run_goes_on(desk: Desk) -> None:
    desk.input.write_text("t,a\n1,5\n")
    key = desk.folder / "etc" / "flu.key"
    code, _, err = desk.run(key=key)
    assert (code, f"there is no folder {key.parent} to put flu.key into" in err) == (2, True)
    key.parent.mkdir()
    assert desk.run(key=key)[0] == 0
    assert desk.units() == [1]


def test_without_a_head_file_the_last_release_is_left_out_and_that_is_said(desk: Desk) -> None:
    """A copy has none, and a configuration may keep it elsewhere."""
    desk.input.write_text("t,a\n1,5\n2,6\n3,7\n")
    desk.run()
    copy = desk.folder / "copy.db"
    assert penstock("backup", desk.store, copy)[0] == 0
    for reader in (("export", copy, "--stream", "in"), ("query", copy), ("ledger", "show", copy)):
        assert penstock(*reader, "--head", f"{desk.store}.head")[::2] == (0, "")
        code, _, err = penstock(*reader)
        assert (code, "and it is left out" in err, "--head" in err) == (0, True, True)
    assert len(penstock("export", copy, "--stream", "in")[1].splitlines()) == 3  # a header, and all but the last
    assert "name it with --head" in penstock("ledger", "verify", copy)[2]
