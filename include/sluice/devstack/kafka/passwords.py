"""Passwords of the users of an embedded cluster, where the variables that should hold them are not set.

Each is drawn once and kept in a file of this user's own, like the administrator's.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from sluice.errors import NotReadyError
from sluice.launch.private import write_private
from sluice.secrecy.secret_values import FILE, SecretSource

_FOLDER = "passwords"


def generated_password(kafka: Path, variable: str) -> str:
    """Return a password, drawn the first time.

    Raises:
        OSError: the folder cannot be written.
    """
    file = kafka / _FOLDER / variable
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(file, secrets.token_urlsafe(32))
    return stored_password(kafka, variable)


def stored_source(kafka: Path, variable: str) -> SecretSource:
    """Return where a password is that was drawn, or will be."""
    return SecretSource(f"{variable}{FILE}", str(kafka / _FOLDER / variable))


def stored_password(kafka: Path, variable: str) -> str:
    """Return a password that was drawn.

    Raises:
        NotReadyError: it never was.
    """
    try:
        return (kafka / _FOLDER / variable).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotReadyError(
            f"{variable} is not set here, and no password was drawn for it: its user is not in the cluster yet.",
            fix="run the DAG `topics`, or `sluice topics apply`, which makes the users that are declared.",
        ) from None
