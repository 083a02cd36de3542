"""Who asks, for the record."""

from __future__ import annotations

import getpass
import os


def asker() -> str:
    """Return the name of this process's user, and that the command line was used."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):  # a container may run under a number that has no name
        return f"user {os.getuid()} (command line)"
