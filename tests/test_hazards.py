"""Hazards of disks and machines, briefly, and planted faults that they have to find. ``make crash`` does more."""

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from penstock.audit.hazards import shim
from penstock.audit.hazards.__main__ import HAZARDS, NEED_SHIM
from penstock.audit.hazards.cuts import Disk, Event, read_events
from penstock.errors import BadInput

SECONDS = 2
COMPILER = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


def run(command: Sequence[str], library: Path | None = None) -> tuple[int, str]:
    """In a process of its own, because hazards fork; with the shim, if it is given."""
    preloaded = {} if library is None else {"LD_PRELOAD": str(library), shim.LIBRARY: str(library)}
    environment = os.environ | preloaded
    done = subprocess.run(
        [sys.executable, "-W", "error", *command], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    if shutil.which("gcc") is None:
        return None
    return shim.build(tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize("name", [pytest.param(name, marks=COMPILER if name in NEED_SHIM else ()) for name in HAZARDS])
def test_a_hazard_does_no_harm(name: str, library: Path | None) -> None:
    command = ["-m", "penstock.audit.hazards", name, "--minutes", str(SECONDS / 60)]
    code, told = run(command, library)
    assert code == 0, told
    assert f"{HAZARDS[name][0]}: " in told


# Files beside the store are written in one go, and the hazard is told to take half of what is written.
SHORT_WRITES = """
files.write_all = lambda handle, data, at=0: os.pwrite(handle, data, at)
faults.WAYS = {"short write": faults.WAYS["short write"]}
faults.product = lambda *_: [("uniform", True)]
arm, shim.arm = shim.arm, lambda folder, calls, *rest: arm(folder, ["pwrite"], *rest)
"""
PLANTED = {
    "a damaged file that is written to": ("flips", "holding.require_sound = lambda archive: None"),
    "a lost unit that costs nothing": ("flips", "ledger.Ledger.lose = lambda *_: None"),
    "a writer that trusts its lock": ("rivals", "holding.Holding._is_unchanged = lambda *_: True"),
    "a key that is cut short": ("calls", SHORT_WRITES),
    "a database that is not durable": ("cuts", "schema.DURABLE = ('synchronous = OFF',)"),
    "an output whose tail is not mended": (
        "cuts",
        "sinks.FileSink._whole_end = lambda sink, size: size - len(sink._line_before(size))",
    ),
}
HARMFUL = """
import os
from penstock import ledger
from penstock.audit.hazards import cuts, faults, flips, rivals, shim
from penstock.audit.hazards.__main__ import try_hazard
from penstock.errors import CheckFailed
from penstock.store import files, holding, schema
from penstock.streams import sinks
{plant}
try:
    print("survives", try_hazard("{name}", 60, 1))
except CheckFailed as fault:
    print("found:", fault)
"""


@pytest.mark.parametrize(
    "plant", [pytest.param(p, marks=COMPILER if PLANTED[p][0] in NEED_SHIM else ()) for p in PLANTED]
)
def test_a_planted_fault_is_found(plant: str, library: Path | None) -> None:
    name, code = PLANTED[plant]
    _, told = run(["-c", HARMFUL.format(name=name, plant=code)], library)
    assert told.startswith(f"found: {HAZARDS[name][0]}, number "), told


def test_without_a_compiler_the_rest_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadInput, match="install gcc"):
        shim.build(Path())
    code, told = run(["-m", "penstock.audit.hazards", "calls", "flips", "--minutes", "0.01"])
    assert (code, "without system calls that fail and power cuts" in told, "flipped bits: " in told) == (0, True, True)
    assert run(["-m", "penstock.audit.hazards", "calls"])[0] == 1


def test_a_disk_loses_what_was_not_synced_and_nothing_else(tmp_path: Path) -> None:
    """Of two files with two writes each, one is synced in between, and so is the folder."""
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    begun = [Event("c", 7, 0, first, b""), Event("w", 7, 0, "", b"one"), Event("s", 7, 0, first, b"")]
    synced = [*begun, Event("s", 1, 0, str(tmp_path), b"")]
    late = [Event("w", 7, 3, "", b"two"), Event("c", 8, 0, second, b""), Event("w", 8, 0, "", b"three")]
    found = set()
    for seed in range(300):
        disk = Disk.of(tmp_path)
        for event in synced + late:
            disk.take(event)
        disk.cut(np.random.default_rng(seed))
        disk.restore()
        found.add((Path(first).read_bytes(), Path(second).read_bytes() if Path(second).exists() else None))
        Path(first).unlink()
        Path(second).unlink(missing_ok=True)
    assert found == {(a, b) for a in (b"one", b"onetwo", b"one\0\0\0") for b in (None, b"", b"three", b"\0" * 5)}


def test_an_event_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    fields = struct.pack("<cQqII", b"w", 5, 77, 2, 3)
    (tmp_path / "record").write_bytes((fields + b"/axyz") * 2)
    assert read_events(tmp_path / "record") == [Event("w", 5, 77, "/a", b"xyz")] * 2
