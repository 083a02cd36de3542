"""Locks that a process holds for its life: the kernel lets go of them, however it ends."""

from __future__ import annotations

import fcntl


def try_lock(opened: int, kind: int) -> bool:
    """Take a lock of `kind` (`fcntl.LOCK_EX` or `LOCK_SH`) on an open file, and return whether that went at once."""
    try:
        fcntl.flock(opened, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
