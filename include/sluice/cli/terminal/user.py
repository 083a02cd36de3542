"""The user at the terminal: their name for records, and their confirmation of what cannot be undone."""

from __future__ import annotations

import getpass
import os
import sys

from sluice.cli.terminal.output import ask
from sluice.errors import RefusedError, SpecError


def user_name() -> str:
    """Return the name of this process's user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a uid without a name
        return f"user {os.getuid()}"


def requester() -> str:
    """Return the name of this process's user, marked as a user of the command line."""
    return f"{user_name()} (command line)"


def interactive() -> bool:
    """Whether a user can be asked, because stdin is a terminal."""
    return sys.stdin.isatty()


def confirm(word: str, *, yes: bool) -> None:
    """Return if the action is confirmed.

    Args:
        word: what the user must type.
        yes: whether it was confirmed on the command line.

    Raises:
        SpecError: it was not, and there is no terminal.
        RefusedError: the user typed something else.
    """
    if yes:
        return
    if not interactive():
        raise SpecError(
            "nothing was changed: this needs a confirmation, and there is no terminal.",
            fix="read the plan, then repeat the command with --yes.",
        )
    if ask(f"Type {word} to confirm:") != word:
        raise RefusedError(f"nothing was changed: not confirmed, because {word} was not typed.")
