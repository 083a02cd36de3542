"""What names a folder of a deployment's storage, or a file in it: a path of this machine, or a place in a bucket.

A path stays `pathlib`'s own: a watcher asks for ten thousand files a minute. A place in a bucket has those of its
members that both need, under the same names, so most code does not ask which it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from os import stat_result
from pathlib import Path
from shutil import rmtree
from typing import TypeAlias

from sluice.errors import UnreachableError
from sluice.storage.bucket_folder import BucketFolder

Folder: TypeAlias = Path | BucketFolder
_EMPTY = "_empty"
"""Whoever reads data passes over names that begin so."""


@dataclass(frozen=True)
class StoredFile:
    """A file as its folder lists it.

    Attributes:
        place: of the file.
        modified: when it was written (UTC), by the clock of the disk or of the store.
        size: bytes.
    """

    place: Folder
    modified: datetime
    size: int


def files_in(folder: Folder, suffix: str = "") -> Iterator[StoredFile]:
    """Yield the files right in a folder whose names end so, in no order; none if there is no such folder.

    Raises:
        UnreachableError: a bucket does not answer.
        OSError: a folder of this machine cannot be listed.
    """
    if isinstance(folder, BucketFolder):
        for name, modified, size in folder.files():
            if name.endswith(suffix):
                yield StoredFile(folder / name, modified, size)
        return
    for path in folder.glob(f"*{suffix}"):
        if (state := _state(path)) is not None:
            yield StoredFile(path, datetime.fromtimestamp(state.st_mtime, UTC), state.st_size)


def _state(path: Path) -> stat_result | None:
    """Return what a disk says of a file or folder; None if somebody has removed it since it was listed."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def below(folder: Folder, names: Collection[str]) -> set[str]:
    """Return which of these names, with slashes, are there below a folder. Raises what `files_in` does."""
    if isinstance(folder, BucketFolder):  # one listing costs less than a question for each
        return set(folder.below()) & set(names) if names else set()
    return {name for name in names if (folder / name).exists()}


def remove_folder(folder: Folder) -> None:
    """Delete a folder with all that is in it, if it is there. What cannot be deleted stays, and no error is raised."""
    if isinstance(folder, BucketFolder):
        with suppress(UnreachableError):
            folder.remove()
    else:
        rmtree(folder, ignore_errors=True)


def empty_folder(folder: Folder) -> None:
    """Make a folder that Spark finds although nothing is in it; what was in it is deleted.

    Raises:
        UnreachableError: a bucket does not answer.
        OSError: a folder of this machine cannot be made.
    """
    remove_folder(folder)
    if isinstance(folder, BucketFolder):
        (folder / _EMPTY).write_bytes(b"")
    else:
        folder.mkdir(parents=True)


def untouched_since(folder: Folder, before: datetime) -> list[Folder]:
    """Return the folders right in a folder in which nothing was written since a time (UTC).

    Raises:
        UnreachableError: a bucket does not answer.
    """
    if not isinstance(folder, BucketFolder):
        states = ((each, _state(each)) for each in folder.glob("*"))
        return [each for each, state in states if state is not None and state.st_mtime < before.timestamp()]
    newest: dict[str, datetime] = {}
    for key, modified in folder.walk():
        name, inside, _ = key.partition("/")
        if inside:
            newest[name] = max(modified, newest.get(name, modified))
    return [folder / name for name, modified in newest.items() if modified < before]


def modified_at(place: Folder) -> datetime:
    """Return when a file was written (UTC).

    Raises:
        FileNotFoundError: it is not there.
        UnreachableError: a bucket does not answer.
    """
    if isinstance(place, BucketFolder):
        return place.modified()
    return datetime.fromtimestamp(place.stat().st_mtime, UTC)


def folder_at(storage: str) -> Folder:
    """Return the folder that a deployment's `storage` names.

    Args:
        storage: an absolute path, or `s3://bucket/prefix`.
    """
    return BucketFolder.at(storage) if storage.startswith("s3://") else Path(storage)
