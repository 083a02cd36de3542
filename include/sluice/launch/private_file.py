"""Files that nobody else may read: secrets are in no process's arguments or variables, so they are in these."""

from __future__ import annotations

import os
from pathlib import Path

from sluice.disk import replacing


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else may read, whole or not at all.

    Raises:
        OSError: the folder cannot be written.
    """
    with replacing(path) as draft:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
