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

    bins = ("a", "b")
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


@pytest.mark.parametrize("missing", [1, 30])
def test_a_row_that_arrives_shortly_is_waited_for_and_one_that_never_does_is_missed(
    published: Path, monkeypatch: pytest.MonkeyPatch, missing: int
) -> None:
    output = published / "out.csv"
    whole = output.read_bytes()
    monkeypatch.setattr(comparing, "PATIENCE", 0.3)
    try:
        output.write_bytes(whole[:-missing])
        code, out, err = verified(published)
        assert (code, out, "is not what the store has" in err) == (2, "", True)
        with output.open("ab") as file:
            rest = threading.Timer(0.1, lambda: (file.write(whole[-missing:]), file.flush()))
            rest.start()
            code = verified(published)[0]
            rest.join()
        assert code == 0
    finally:
        output.write_bytes(whole)


@pytest.mark.parametrize("more", [b"\n", b"1", b"\0", b"t,unit\n"])
def test_what_the_store_does_not_have_is_refused_at_the_end_too(
    published: Path, monkeypatch: pytest.MonkeyPatch, more: bytes
) -> None:
    output = published / "out.csv"
    whole = output.read_bytes()
    monkeypatch.setattr(comparing, "PATIENCE", 0.05)
    try:
        output.write_bytes(whole + more)
        assert verified(published)[0] == 2
    finally:
        output.write_bytes(whole)
    assert verified(published)[0] == 0


def test_a_device_is_not_read_to_an_end_that_it_does_not_have(published: Path) -> None:
    code, _, err = command("ledger", "verify", published / "s.db", "--output", "/dev/zero")
    assert (code, "give the path of a file of releases" in err) == (2, True)
