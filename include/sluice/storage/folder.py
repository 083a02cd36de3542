"""What names a folder of a deployment's storage, or a file in it: a path of this machine, or a place in a bucket.

A path stays `pathlib`'s own: a watcher asks for ten thousand files a minute. A place in a bucket has those of its
members that both need, under the same names, so most code does not ask which it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from sluice.storage.bucket_folder import BucketFolder

Folder: TypeAlias = Path | BucketFolder


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
        state = path.stat()
        yield StoredFile(path, datetime.fromtimestamp(state.st_mtime, UTC), state.st_size)


def below(folder: Folder, names: Collection[str]) -> set[str]:
    """Return which of these names, with slashes, are there below a folder. Raises what `files_in` does."""
    if isinstance(folder, BucketFolder):  # one listing costs less than a question for each
        return set(folder.below()) & set(names) if names else set()
    return {name for name in names if (folder / name).exists()}


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
