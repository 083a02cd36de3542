"""Files that are whole or not there, and names that survive a power cut: they are on disk only once their folder is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a draft to write, which then takes a file's place: a reader sees the old file or the new one, never a part.

    If writing fails, the draft is removed: on a full disk it would stay for ever.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        with suppress(OSError):  # what failed first is the reason
            draft.unlink()
        raise


def write_text(path: Path, text: str) -> None:
    """Replace a text file (UTF-8), and return when its bytes are on disk. Its folder is made.

    Raises:
        OSError: the folder cannot be written, or the disk is full or failed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as draft, draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on disk.

    Raises:
        OSError: the folder cannot be opened, or the disk failed.
    """
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
