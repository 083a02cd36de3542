"""Files on a disk: written whole or not at all, synced so that they survive a power cut, and errors explained.

An error of the operating system becomes a sentence with what to do, where it would be a traceback.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import NotReadyError

_ROOM = "free some space on its disk, then repeat it; what was recorded before is there."
_WRITABLE = "make it writable for this user, or name another state folder with SLUICE_STATE."
_FOLDER = "move away the file that is where a folder belongs, or name another state folder with SLUICE_STATE."
_HARDWARE = "see what the kernel's log says of this disk, and repair or replace it."

_REMEDIES: Mapping[int, str] = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: _WRITABLE,
    errno.EACCES: _WRITABLE,
    errno.EPERM: _WRITABLE,
    errno.ENOTDIR: _FOLDER,
    errno.EEXIST: _FOLDER,
    errno.EIO: _HARDWARE,
    errno.ESTALE: _HARDWARE,
    errno.ENAMETOOLONG: "name a shorter state folder with SLUICE_STATE.",
}
_SMALL_BYTES = 64 * 1024
_FROM_SQLITE: Mapping[int, int] = {8: errno.EROFS, 10: errno.EIO, 13: errno.ENOSPC}
"""SQLite's primary codes (READONLY, IOERR, FULL) by what they mean."""


def disk_remedy(number: int | None, otherwise: str = "") -> str:
    """Return what to do about an error of the operating system.

    Args:
        number: of the error (errno).
        otherwise: what to do about one that is not of the disk.
    """
    return otherwise if number is None else _REMEDIES.get(number, otherwise)


def is_full(folder: Path) -> bool:
    """Whether the disk of a folder has no room left for even a small file."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _SMALL_BYTES


def sqlite_remedy(error: BaseException, folder: Path | None, otherwise: str) -> str:
    """Return what to do about an error of SQLite's; `otherwise` if it is not about the disk.

    Args:
        error: SQLite's.
        folder: of the database: where it is full, SQLite says anything from "disk I/O error" to "readonly database".
        otherwise: what to do about anything else.
    """
    code = getattr(error, "sqlite_errorcode", None)
    number = None if code is None else _FROM_SQLITE.get(code & 0xFF)
    if number is not None and folder is not None and is_full(folder):
        number = errno.ENOSPC
    return disk_remedy(number, otherwise)


def disk_error(error: OSError) -> NotReadyError | None:
    """Return the sentence about a file that the disk refused; None where it is about something else."""
    if not (remedy := disk_remedy(error.errno)) or error.errno is None:
        return None
    where = error.filename2 or error.filename
    what = (
        "A file or the output"
        if where is None
        else os.fsdecode(where)
        if isinstance(where, str | bytes)
        else str(where)
    )
    return NotReadyError(f"{what} cannot be used: {os.strerror(error.errno)}.", fix=remedy)


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


def append_line(file: Path, line: bytes) -> None:
    """Add a line to a file, in one write, and return when it is on disk. The file is made for its owner only.

    A line before that a crash has torn, or a full disk, is ended first, so that it costs no other.

    Args:
        file: open in no other way than for appending, by whatever processes.
        line: with its line break.

    Raises:
        OSError: the disk does not take it.
    """
    opened = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(opened).st_size
        torn = size > 0 and os.pread(opened, 1, size - 1) != b"\n"
        data = b"\n" + line if torn else line
        while data:
            data = data[os.write(opened, data) :]
        os.fsync(opened)
    finally:
        os.close(opened)


@dataclass(frozen=True)
class NumberedFiles:
    """Files of bounded size and number, appended to one after the other: `<name>-00000001.jsonl` is the first.

    Attributes:
        folder: where they are.
        name: what their names begin with.
        file_bytes: a file of this size is closed and the next one begun.
        most: how many files are kept.
    """

    folder: Path
    name: str
    file_bytes: int
    most: int

    def existing(self) -> list[Path]:
        """Return the files, oldest first.

        Raises:
            OSError: the folder may not be read.
        """
        form = re.compile(rf"{self.name}-\d{{8}}\.jsonl")
        return sorted(path for path in self.folder.iterdir() if form.fullmatch(path.name))

    def current(self) -> tuple[Path, list[Path]]:
        """Return the file to append to, and those that must go because it is a new one.

        Of several processes that ask at once, each gets the same.
        """
        existing = self.existing()
        if existing and existing[-1].stat().st_size < self.file_bytes:
            return existing[-1], []
        newest = int(existing[-1].stem.rpartition("-")[2]) if existing else 0
        return self.folder / f"{self.name}-{newest + 1:08}.jsonl", existing[: len(existing) + 1 - self.most]


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
