"""Small objects as files of a folder: written to a draft, synced, and put in place by one call of the system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from sluice.disk import disk_remedy, replacing, sync_folder
from sluice.errors import UnreachableError


@dataclass(frozen=True)
class LocalObjects:
    """Implements `sluice.storage.objects.Objects`.

    Attributes:
        folder: of the files; names that begin with a point are drafts.
    """

    folder: Path

    def place(self, name: str) -> str:
        """See the port."""
        return str(self.folder / name)

    def names(self) -> list[str]:
        """See the port."""
        try:
            found = os.listdir(self.folder)  # noqa: PTH208 - a watcher asks ten thousand times a minute
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnreachableError(f"cannot list {self.folder}: {error}.") from error
        return [name for name in found if not name.startswith(".")]

    def has(self, name: str) -> bool:
        """See the port."""
        return (self.folder / name).exists()

    def read(self, name: str) -> bytes | None:
        """See the port."""
        path = self.folder / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnreachableError(f"cannot read {path}: {error}.") from error

    def put(self, name: str, content: bytes) -> None:
        """See the port."""
        with self._writing(name):
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self.folder / name) as draft:
                _write(draft, content, "wb")
            sync_folder(self.folder)

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """See the port."""
        with self._writing(name):
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = self.folder / f".{uuid4().hex}"
            try:
                _write(draft, content, "xb")
                os.link(draft, self.folder / name)  # unlike a rename, it never replaces what is there
            except FileExistsError:
                return False
            finally:
                draft.unlink(missing_ok=True)
            sync_folder(self.folder)
        return True

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            fix = disk_remedy(error.errno, "repeat the command.")
            raise UnreachableError(f"cannot write {self.place(name)}: {error}.", fix=fix) from error


def _write(path: Path, content: bytes, mode: str) -> None:
    with path.open(mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
