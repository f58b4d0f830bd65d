"""How commands end when their output cannot be written, when nobody reads it, and when nothing has foreseen a fault."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from in_process import command
from penstock.cli import main

RUN = ("run", "--store", "s.db", "--model", "w-event", "--epsilon", "1", "--w", "5", "--mechanism", "uniform")
PENSTOCK = [sys.executable, "-W", "error", "-m", "penstock"]
COUNT = "7712345"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("folder")
    (made / "in.csv").write_text("t,a,b\n" + "".join(f"{t},{COUNT},{t}\n" for t in range(1, 400)))
    (made / "null.parquet").symlink_to("/dev/null")
    (made / "weights.csv").write_text("t,weight\n1,2\n2,1\n")
    subprocess.run([*PENSTOCK, *RUN, "-i", "in.csv", "-o", "out.csv"], cwd=made, check=True, capture_output=True)
    return made


def ended(folder: Path, *arguments: str, **options: Any) -> tuple[int, str]:
    done = subprocess.run(
        [*PENSTOCK, *arguments], cwd=folder, stderr=subprocess.PIPE, timeout=60, check=False, **options
    )
    return done.returncode, done.stderr.decode()


WRITERS = [
    ("query", "out.csv"),
    ("query", "out.csv", "--json"),
    ("table", "out.csv", "--rows", "50"),
    ("post", "out.csv", "--round", "5"),
    ("export", "s.db", "--stream", "in"),
    ("ledger", "show", "s.db", "--stream", "in", "--last", "300"),
    ("ledger", "verify", "s.db"),
    ("statement", "s.db"),
    ("mechanisms",),
    ("--version",),
]


@pytest.mark.parametrize("arguments", WRITERS, ids=" ".join)
def test_an_output_that_is_full_is_told_in_one_sentence(folder: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        code, said = ended(folder, *arguments, stdout=full)
    assert (code, said.count("error: "), "Traceback" in said, "Exception" in said) == (2, 1, False, False), said
    assert "standard output cannot be written: No space left on device" in said or "cannot be used" in said


@pytest.mark.parametrize("arguments", WRITERS[:-1], ids=" ".join)
def test_a_reader_who_leaves_is_no_fault(folder: Path, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        code, said = ended(folder, *arguments, stdout=writing)
    finally:
        os.close(writing)
    assert (code, "error" in said, "Traceback" in said) == (128 + signal.SIGPIPE, False, False), said


def test_streams_that_are_closed_take_no_file_with_them(folder: Path) -> None:
    """A file that is opened would get their numbers, and then all that is printed."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        line = f'"{sys.executable}" -m penstock query out.csv {closed}'
        done = subprocess.run(line, cwd=folder, shell=True, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        assert done.returncode == (2 if ">&-" in closed.replace("2>&-", "") else 0), (closed, done)
    assert ended(folder, "ledger", "verify", "s.db", "--output", "out.csv", stdout=subprocess.DEVNULL)[0] == 0


def test_a_message_that_nobody_can_read_changes_nothing(folder: Path) -> None:
    line = f'"{sys.executable}" -m penstock post out.csv --round 5 -o rounded.csv 2>/dev/full'
    assert subprocess.run(line, cwd=folder, shell=True, check=False).returncode == 0
    assert len((folder / "rounded.csv").read_text().splitlines()) == 400


def test_a_statement_neither_reads_a_pipe_nor_takes_its_place(folder: Path) -> None:
    """Nor that of a device: a pipe of one's own is as good a test, and nothing is lost if it fails."""
    os.mkfifo(folder / "pipe.md")
    read = subprocess.Popen(["head", "-c", "20", "pipe.md"], cwd=folder, stdout=subprocess.PIPE)
    try:
        code, _ = ended(folder, "statement", "s.db", "-o", "pipe.md", stdout=subprocess.DEVNULL)
    finally:
        read.kill()
        said = read.communicate()[0]
    assert (code in (0, 128 + signal.SIGPIPE), said) == (True, b"# Privacy statement:")
    assert (folder / "pipe.md").is_fifo()


def test_a_statement_behind_a_link_is_renewed_where_it_lies(folder: Path) -> None:
    (folder / "real").mkdir(exist_ok=True)
    (folder / "link.md").symlink_to("real/privacy.md")
    for _ in range(2):
        assert ended(folder, "statement", "s.db", "-o", "link.md", stdout=subprocess.DEVNULL)[0] == 0
    assert (folder / "link.md").is_symlink()
    assert (folder / "real" / "privacy.md").read_text().startswith("# Privacy statement: ")


def test_parquet_does_not_take_the_place_of_a_device(folder: Path) -> None:
    code, said = ended(folder, "export", "s.db", "--stream", "in", "-o", "null.parquet", stdout=subprocess.DEVNULL)
    assert (code, "or it is no file" in said) == (2, True)
    assert Path("/dev/null").is_char_device()


def test_a_command_can_be_stopped_while_nobody_reads_its_output(folder: Path) -> None:
    """Opening a pipe waits for its reader, and no signal may be left waiting with it."""
    os.mkfifo(folder / "pipe.csv")
    words = [*PENSTOCK, *RUN, "-i", "in.csv", "-o", "pipe.csv"]
    child = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE)
    try:
        time.sleep(2)
        deadline = time.monotonic() + 40
        while child.poll() is None and time.monotonic() < deadline:  # until it is far enough to be told
            child.send_signal(signal.SIGTERM)
            time.sleep(0.5)
        assert child.wait(timeout=1) in (128 + signal.SIGTERM, -signal.SIGTERM)
    finally:
        child.kill()
        said = child.communicate()[1].decode()
    assert "Traceback" not in said


def test_what_nothing_has_foreseen_is_named_without_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of an exception may hold a count."""

    def fail() -> None:
        int(f"{COUNT}x")

    monkeypatch.setattr(main, "app", fail)
    code, out, err = command()
    assert (code, out, COUNT in err, "Traceback" in err) == (1, "", False, False)
    assert "a fault of Penstock itself, a ValueError in test_ending.py" in " ".join(err.split())


@pytest.mark.parametrize(
    ("fault", "said", "ended"),
    [
        (MemoryError(), "there is not enough memory", 2),
        (OSError(5, "Input/output error", "x.csv"), "x.csv cannot be used: Input/output error", 2),
        (RecursionError(), "a RecursionError in test_ending.py", 1),
    ],
)
def test_faults_of_the_machine_are_sentences(
    monkeypatch: pytest.MonkeyPatch, fault: Exception, said: str, ended: int
) -> None:
    def fail() -> None:
        raise fault

    monkeypatch.setattr(main, "app", fail)
    code, _, err = command()
    assert (code, said in " ".join(err.split())) == (ended, True), err


def test_characters_that_an_output_cannot_hold_are_told(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("t,ä\n1,5\n", encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "ascii:strict"}
    code, said = ended(tmp_path, *RUN, "-i", "in.csv", stdout=subprocess.DEVNULL, env=environment)
    assert (code, "it takes ascii only" in " ".join(said.split())) == (2, True), said


@pytest.mark.parametrize("wait", [0.15, 0.3, 0.6])
def test_a_command_that_is_still_loading_can_be_stopped_without_a_traceback(wait: float) -> None:
    """Python itself takes a moment, in which nobody else has a say."""
    program = "import penstock_command; print(flush=True); penstock_command.run()"
    words = [sys.executable, "-c", program, "query", "-"]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(wait)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert (child.returncode in (-signal.SIGINT, 128 + signal.SIGINT), said) == (True, b"")
