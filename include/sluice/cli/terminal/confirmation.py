"""Confirmation of what cannot be undone: a user types a word, or a script passes --yes."""

from __future__ import annotations

import sys

from sluice.cli.terminal.output import ask
from sluice.errors import RefusedError, SpecError


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
