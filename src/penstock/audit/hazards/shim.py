"""The library that stands between a process and its system calls: built with gcc, preloaded, and told what to do."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from penstock.errors import BadInput

SOURCE = Path(__file__).with_name("shim.c")
LIBRARY = "PENSTOCK_SHIM"  # the environment variable that says where the library is

# Ways in which a call is hit.
ONCE = 0
SHORT = 1
ALWAYS = 2
KILL = 3


def build(folder: Path) -> Path:
    """Compile the library; refused where there is no compiler for it."""
    compiler, library = shutil.which("gcc"), folder / "shim.so"
    if compiler is None or not sys.platform.startswith("linux"):
        raise BadInput("system calls are only made to fail on Linux with gcc; install gcc to try that.")
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if made.returncode:
        raise BadInput(f"the shim does not compile: {made.stderr.strip()}")
    return library


def run_preloaded(library: Path, arguments: Sequence[str]) -> int:
    """Run a Python module in a process that has the library preloaded. Returns its exit code."""
    environment = os.environ | {"LD_PRELOAD": str(library), LIBRARY: str(library)}
    return subprocess.run([sys.executable, "-m", *arguments], env=environment, check=False).returncode  # noqa: S603


def is_preloaded() -> bool:
    """Whether this process runs under the library."""
    return LIBRARY in os.environ


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ[LIBRARY])
    library.shim_arm.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    library.shim_seen.restype = ctypes.c_long
    library.shim_record.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.shim_note.argtypes = [ctypes.c_char_p]
    return library


def arm(folder: Path, calls: Sequence[str], number: int, mode: int, error: int) -> None:
    """Hit the n-th of these calls (of any, if none is named) on files of a folder."""
    names = f",{','.join(calls)}," if calls else ""
    _library().shim_arm(bytes(folder), names.encode(), number, mode, error)


def count_calls() -> int:
    """How many calls were made that could have been hit since it was armed."""
    return int(_library().shim_seen())


def record(folder: Path, into: Path) -> None:
    """Write down from now on what happens to the files of a folder."""
    _library().shim_record(bytes(folder), bytes(into))


def note(text: str) -> None:
    """Write down something else, in its place among the writes."""
    _library().shim_note(text.encode())


def ignore_locks() -> None:
    """Let every lock of a whole file succeed, as on a file system that ignores them."""
    _library().shim_ignore_locks(1)
