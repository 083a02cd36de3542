"""Small objects in a bucket, by conditional writes: a store that lost its answer is asked whose object is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from sluice.errors import UnreachableError
from sluice.storage.bucket_folder import BucketFolder, asking, first_line

if TYPE_CHECKING:
    from obstore.store import MemoryStore, S3Store

_NONCE = "nonce"
"""The object's metadata that says which call has written it: the content itself stays what the caller gave."""
_TRIES = 3


@dataclass(frozen=True)
class BucketObjects:
    """Implements `sluice.storage.objects.Objects`.

    Attributes:
        folder: of the objects.
        client: that is asked instead of the bucket's own.
    """

    folder: BucketFolder
    client: S3Store | MemoryStore | None = None

    @property
    def _store(self) -> S3Store | MemoryStore:
        return self.folder.store if self.client is None else self.client

    def place(self, name: str) -> str:
        """See the port."""
        return str(self.folder / name)

    def names(self) -> list[str]:
        """See the port."""
        with asking(self.folder):
            found = self._store.list_with_delimiter(self.folder.key or None)["objects"]
        return [each["path"].rpartition("/")[2] for each in found]

    def has(self, name: str) -> bool:
        """See the port."""
        with asking(self.folder / name):
            try:
                self._store.head(self._key(name))
            except FileNotFoundError:
                return False
        return True

    def read(self, name: str) -> bytes | None:
        """See the port."""
        with asking(self.folder / name):
            try:
                return bytes(self._store.get(self._key(name)).bytes())
            except FileNotFoundError:
                return None

    def put(self, name: str, content: bytes) -> None:
        """See the port. Of a write whose answer was lost, the same bytes are written once more."""
        with asking(self.folder / name):
            self._store.put(self._key(name), content)

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """See the port.

        A request may be carried out and its answer be lost. The client then asks once more, and finds its own object
        in the way; or it gives up. Either way the object's nonce says whose it is. A request that is still under way
        when it is repeated carries the same nonce: whichever of the two comes first, the object is this call's.
        """
        from obstore.exceptions import AlreadyExistsError, BaseError  # noqa: PLC0415 - a local deployment needs none

        key, nonce = self._key(name), uuid4().hex
        why: Exception | None = None
        for _ in range(_TRIES):
            try:
                self._store.put(key, content, mode="create", attributes={_NONCE: nonce})
            except AlreadyExistsError:
                return self._nonce(name) == nonce
            except (BaseError, OSError) as error:
                why = error
                if (found := self._nonce(name)) is not None:
                    return found == nonce
            else:
                return True
        raise UnreachableError(
            f"whether {self.place(name)} was written is unknown: {'' if why is None else first_line(why)}.",
            fix="look whether it is there, then repeat the command if it is not.",
        ) from why

    def _key(self, name: str) -> str:
        return (self.folder / name).key

    def _nonce(self, name: str) -> str | None:
        """Return the nonce of an object, empty if it has none; None if there is no object."""
        with asking(self.folder / name):
            try:
                attributes = self._store.get(self._key(name)).attributes
            except FileNotFoundError:
                return None
        return str(attributes.get(_NONCE, ""))
