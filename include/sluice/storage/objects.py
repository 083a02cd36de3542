"""The port for small objects that are written whole: records of epochs, snapshots of static inputs."""

from __future__ import annotations

from typing import Protocol

from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.bucket_objects import BucketObjects
from sluice.storage.folder import Folder
from sluice.storage.local_objects import LocalObjects


class Objects(Protocol):
    """The objects of one folder, by their names. An object is there whole, or not at all.

    Every method raises UnreachableError where the answer is unknown; so do both writers where it is unknown whether
    they have written.
    """

    def place(self, name: str) -> str:
        """Return where an object is, for messages."""
        ...

    def names(self) -> list[str]:
        """Return the names of all objects, in no order; none if there is no such folder."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is an object of a name."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return the bytes of an object; None if there is none."""
        ...

    def put(self, name: str, content: bytes) -> None:
        """Write an object durably, in the place of one of the same name."""
        ...

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """Write an object durably; of several writers of one name, one succeeds.

        Returns:
            False if there is one of that name, which is not changed.
        """
        ...


def objects_in(folder: Folder) -> Objects:
    """Return the objects of a folder, which need not be there yet."""
    return BucketObjects(folder) if isinstance(folder, BucketFolder) else LocalObjects(folder)
