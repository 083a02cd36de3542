"""What cannot be taken back is confirmed: by a person who types a word, or by a script that says so."""

from __future__ import annotations

import sys

from sluice.cli.terminal.output import ask
from sluice.errors import RefusedError, SpecError


def interactive() -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty()


def confirm(word: str, *, yes: bool) -> None:
    """Return if it is confirmed.

    Args:
        word: what to type.
        yes: it was confirmed on the command line.

    Raises:
        SpecError: nobody can be asked.
        RefusedError: something else was typed.
    """
    if yes:
        return
    if not interactive():
        raise SpecError(
            "nothing was changed: this must be confirmed, and there is no terminal to ask at.",
            fix="read what it would do, then repeat the command with --yes.",
        )
    if ask(f"Type {word} to do it:") != word:
        raise RefusedError(f"nothing was changed: it was not confirmed by typing {word}.")
