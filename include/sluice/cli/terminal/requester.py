"""The user who runs the command, for records."""

from __future__ import annotations

import getpass
import os


def requester() -> str:
    """Return the name of this process's user, marked as a user of the command line."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):  # a container may run under a uid without a name
        return f"user {os.getuid()} (command line)"
