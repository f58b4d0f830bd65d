"""Files that one process writes at a time, and whose bytes and names outlive a power cut."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path


def take_lock(handle: int) -> bool:
    """Lock an open file for this process alone; False if another one has locked it.

    The operating system takes the lock back when the process ends, however it ends. An OSError says that the file
    system has no locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_all(handle: int, data: bytes, at: int = 0) -> None:
    """Write to a place in a file, again until all of it is written: the system may take less than it is given."""
    while data:
        taken = os.pwrite(handle, data, at)
        if not taken:
            raise OSError(errno.EIO, "nothing was written")
        data, at = data[taken:], at + taken


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
