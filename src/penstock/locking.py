"""Locks on open files. The operating system takes one back when its process ends, however it ends."""

from __future__ import annotations

import fcntl


def take_lock(handle: int) -> bool:
    """Lock an open file for this process alone; False if another one has locked it.

    An OSError says that the file system has no locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
