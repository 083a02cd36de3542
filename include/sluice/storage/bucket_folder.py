"""A place in a bucket that speaks the S3 protocol. Whatever it is asked is asked of the bucket, each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sluice.errors import UnreachableError

if TYPE_CHECKING:
    from obstore.store import S3Store

_TRIED_FOR = timedelta(seconds=60)
MOST_RETRIES = 10
"""How long, and how often, a store is asked again that answers with 5xx or not at all."""


@dataclass(frozen=True, order=True)
class BucketFolder:
    """A folder of a bucket, or a file: a store knows only keys, so the same name may be both.

    Addresses and credentials come from the standard variables of AWS, which obstore and delta-rs read themselves.

    Attributes:
        bucket: its name.
        key: without a slash at either end; empty for all of the bucket.
    """

    bucket: str
    key: str = ""

    @classmethod
    def at(cls, address: str) -> BucketFolder:
        """Return the place of an address, `s3://bucket/key`."""
        bucket, _, key = address.removeprefix("s3://").partition("/")
        return cls(bucket, key.strip("/"))

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    def __truediv__(self, name: str) -> BucketFolder:
        return BucketFolder(self.bucket, f"{self.key}/{name}" if self.key else name)

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without what follows its last point."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> BucketFolder:
        """The folder that this one is in."""
        return BucketFolder(self.bucket, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> BucketFolder:
        """Return what lies beside it under another name."""
        return self.parent / name

    def with_suffix(self, suffix: str) -> BucketFolder:
        """Return what lies beside it under the same stem."""
        return self.with_name(f"{self.stem}{suffix}")

    def as_uri(self) -> str:
        """Return its address, with what an address cannot hold escaped."""
        return f"s3://{self.bucket}/{quote(self.key)}"

    def exists(self) -> bool:
        """Whether there is an object of this key, or one below it.

        Raises:
            UnreachableError: the store does not answer.
        """
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Whether there is an object of this key. Raises what `exists` does."""
        with asking(self):
            try:
                self.store.head(self.key)
            except FileNotFoundError:
                return False
        return True

    def is_dir(self) -> bool:
        """Whether there is an object below this key. Raises what `exists` does."""
        with asking(self):
            return any(self.store.list(f"{self.key}/", chunk_size=1))

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a bucket has no folders to make."""

    def read_bytes(self) -> bytes:
        """Return the bytes of the object.

        Raises:
            FileNotFoundError: there is none.
            UnreachableError: the store does not answer.
        """
        with asking(self):
            return bytes(self.store.get(self.key).bytes())

    def write_bytes(self, content: bytes) -> int:
        """Write the object, in the place of one of the same key, and return the number of its bytes.

        Raises:
            UnreachableError: the store does not answer; it may have been written.
        """
        with asking(self):
            self.store.put(self.key, content)
        return len(content)

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Delete the object. Raises UnreachableError where the store does not answer.

        Args:
            missing_ok: must be true: a store does not say whether there was one.
        """
        if not missing_ok:
            raise AssertionError("an object that must be there cannot be deleted in one request")
        with asking(self):
            self.store.delete(self.key)

    def files(self) -> Iterator[tuple[str, datetime, int]]:
        """Yield name, time of writing (UTC) and bytes of each object right in the folder.

        Raises:
            UnreachableError: the store does not answer.
        """
        with asking(self):
            found = self.store.list_with_delimiter(self.key or None)["objects"]
        for each in found:
            yield each["path"].rpartition("/")[2], each["last_modified"], each["size"]

    def below(self) -> Iterator[str]:
        """Yield the key of each object at any depth of the folder, without the folder's own. See `walk`."""
        return (key for key, _ in self.walk())

    def walk(self) -> Iterator[tuple[str, datetime]]:
        """Yield the same, each with its time of writing (UTC).

        Raises:
            UnreachableError: the store does not answer.
        """
        with asking(self):
            for chunk in self.store.list(f"{self.key}/"):
                yield from ((each["path"].removeprefix(f"{self.key}/"), each["last_modified"]) for each in chunk)

    def remove(self) -> None:
        """Delete every object at any depth of the folder. Raises what `walk` does."""
        keys = [f"{self.key}/{key}" for key in self.below()]
        with asking(self):
            if keys:
                self.store.delete(keys)

    def modified(self) -> datetime:
        """Return when the object was written (UTC, by the store's clock). Raises what `read_bytes` does."""
        with asking(self):
            return self.store.head(self.key)["last_modified"]

    def upload(self, file: Path) -> None:
        """Write a file of this machine to the object, of any size.

        Raises:
            UnreachableError: the store does not answer; it may have been written.
        """
        with asking(self):
            self.store.put(self.key, file)

    def copy_to(self, target: BucketFolder) -> None:
        """Write the object to another one of the bucket, which the store does by itself.

        Raises:
            FileNotFoundError: there is none.
            UnreachableError: the store does not answer; it may have been written.
        """
        with asking(self):
            self.store.copy(self.key, target.key)

    @property
    def store(self) -> S3Store:
        """The client of its bucket, of which a process has one."""
        return _store(self.bucket)


@lru_cache
def _store(bucket: str) -> S3Store:
    from obstore.store import S3Store  # noqa: PLC0415 - a local deployment needs none

    return S3Store(bucket, retry_config={"max_retries": MOST_RETRIES, "retry_timeout": _TRIED_FOR})


def forget_stores() -> None:
    """Let the next question read the variables of AWS again, for tests that change them."""
    _store.cache_clear()


@contextmanager
def asking(place: BucketFolder) -> Iterator[None]:
    """Turn what a store refuses into a sentence; FileNotFoundError goes through.

    Raises:
        UnreachableError: it refused, or did not answer.
    """
    from obstore.exceptions import BaseError  # noqa: PLC0415 - a local deployment needs none

    try:
        yield
    except FileNotFoundError:
        raise
    except (BaseError, OSError) as error:
        raise UnreachableError(
            f"{place} could not be asked for: {first_line(error)}.",
            fix="check AWS_ENDPOINT_URL, AWS_REGION, the credentials and the bucket's name, then repeat it.",
        ) from error


def first_line(error: Exception) -> str:
    """Return what a store's client says, without the Rust behind it."""
    return str(error).strip().partition("\n")[0].rstrip(".")
