"""``ledger verify --output`` beside a publisher that is running, and beside one that is not."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock as ps
from in_process import command
from penstock.cli import comparing
from penstock.streams import Calendar

UNITS = 400


class Slow:
    """Counts that come one after another, as from a pipe."""

    bins: tuple[str, ...] = ("a", "b")
    live = True

    def __init__(self, until: threading.Event) -> None:
        self._until = until

    def snapshots(self, calendar: Calendar) -> Iterator[ps.Snapshot]:
        for t in range(1, UNITS):
            if self._until.is_set():
                return
            time.sleep(0.001)
            yield ps.Snapshot(t, [5, t])

    def close(self) -> None:
        """Nothing to let go of."""


def publish(folder: Path, until: threading.Event) -> None:
    with (
        ps.Store(folder / "s.db") as store,
        ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=1, w=5)), store, "s", bins=Slow.bins) as publisher,
        ps.streams.write(folder / "out.csv", Slow.bins) as sink,
    ):
        for _ in publisher.run(Slow(until), sink):
            pass


def verified(folder: Path) -> tuple[int, str, str]:
    return command("ledger", "verify", folder / "s.db", "--output", folder / "out.csv")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, running = tmp_path_factory.mktemp("published"), threading.Event()
    threading.Timer(0.5, running.set).start()
    publish(folder, running)
    return folder


def test_an_output_is_what_the_store_has_while_it_is_being_written(tmp_path: Path) -> None:
    enough = threading.Event()
    writer = threading.Thread(target=publish, args=(tmp_path, enough))
    writer.start()
    try:
        while not (tmp_path / "out.csv").exists():
            time.sleep(0.01)
        outcomes = [verified(tmp_path) for _ in range(6)]
    finally:
        enough.set()
        writer.join()
    assert {code for code, _, _ in outcomes} == {0}, outcomes


@pytest.fixture
def impatient(published: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An output that a test may change, and that is not waited for as long as usual."""
    output = published / "out.csv"
    whole = output.read_bytes()
    monkeypatch.setattr(comparing, "PATIENCE", 0.3)
    yield output
    output.write_bytes(whole)


def append(output: Path, rest: bytes) -> None:
    with output.open("ab") as file:
        file.write(rest)


@pytest.mark.parametrize("missing", [1, 30])
def test_a_row_that_arrives_shortly_is_waited_for_and_one_that_never_does_is_missed(
    impatient: Path, missing: int
) -> None:
    whole = impatient.read_bytes()
    impatient.write_bytes(whole[:-missing])
    code, out, err = verified(impatient.parent)
    assert (code, out, "is not what the store has" in err) == (2, "", True)
    rest = threading.Timer(0.1, append, (impatient, whole[-missing:]))
    rest.start()
    code = verified(impatient.parent)[0]
    rest.join()
    assert code == 0


@pytest.mark.parametrize("more", [b"\n", b"1", b"\0", b"t,unit\n"])
def test_what_the_store_does_not_have_is_refused_at_the_end_too(impatient: Path, more: bytes) -> None:
    append(impatient, more)
    assert verified(impatient.parent)[0] == 2


def test_a_device_is_not_read_to_an_end_that_it_does_not_have(published: Path) -> None:
    code, _, err = command("ledger", "verify", published / "s.db", "--output", "/dev/zero")
    assert (code, "give the path of a file of releases" in err) == (2, True)
