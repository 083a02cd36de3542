"""Files that no other user may read, and this user's own folder below the machine's temporary one.

Secrets are in no process's arguments or variables, so they are in private files. The folder holds what all stacks of a
user share, and keeps paths short. Everyone may write beside it, so it is only used if it is this user's own: who made
it first could answer in our place.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sluice.disk import replacing
from sluice.errors import NotReadyError


def private_folder() -> Path:
    """Return the folder's path, whether or not it is there."""
    return Path(tempfile.gettempdir()) / f"sluice-{os.getuid()}"


def made_private_folder() -> Path:
    """Return the folder; make it if it is not there.

    Raises:
        NotReadyError: it cannot be made, or belongs to another user.
    """
    folder = private_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner, writable = folder.stat().st_uid, os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        raise NotReadyError(
            f"{folder} cannot be made: {error.strerror or error}.", fix="set TMPDIR to a folder that you may write to."
        ) from error
    if owner != os.getuid() or not writable:
        whose = f"belongs to user {owner}" if owner != os.getuid() else "cannot be written"
        raise NotReadyError(
            f"{folder} {whose}, and its owner could answer in our place.",
            fix="remove it, or set TMPDIR to a folder of your own.",
        )
    return folder


def write_private(path: Path, text: str) -> None:
    """Write a file that no other user may read, whole or not at all.

    Raises:
        OSError: the folder cannot be written.
    """
    with replacing(path) as draft:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
