"""The file of a feed's manifest: replaced whole, and written by one process at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from sluice.disk import sync_folder, write_text
from sluice.errors import CorruptionError, NotReadyError, RefusedError


class TopicManifest(BaseModel):
    """What every manifest says: of which feed it is, and in which topic its records are.

    Attributes:
        topic_id: the cluster's UUID: a topic that was created again has another one, and another manifest.
    """

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal[1] = 1
    feed: str
    topic: str
    topic_id: str


M = TypeVar("M", bound=TopicManifest)


class ManifestFile(Generic[M]):
    """Keeps one feed's manifest in a folder, and lets one process at a time send."""

    def __init__(self, folder: Path, model: type[M], *, name: str, rebuilt: str) -> None:
        """Name the file; nothing is read or written yet.

        Args:
            folder: of the feed. The lock is in it too, so that two kinds of manifests exclude each other.
            model: of the manifest.
            name: of the file, without `.json`.
            rebuilt: what happens if a person moves a broken file away, in words.
        """
        self.folder = folder
        self.path = folder / f"{name}.json"
        self._model, self._rebuilt = model, rebuilt

    def load(self) -> M | None:
        """Return the manifest, or None if nothing was ever sent.

        Raises:
            CorruptionError: the file is no manifest.
        """
        try:
            return self._model.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise CorruptionError(
                f"{self.path} is no manifest of a feed: {error.errors()[0]['msg']}.",
                fix=f"move it away; {self._rebuilt}.",
            ) from error

    def save(self, manifest: M) -> None:
        """Replace the manifest: whoever reads it sees the old one or the new one, also after a power cut.

        Raises:
            NotReadyError: the disk does not take it.
        """
        try:
            write_text(self.path, manifest.model_dump_json(indent=1))
            sync_folder(self.folder)
        except OSError as error:
            raise NotReadyError(
                f"{self.path} cannot be written: {error.strerror}.",
                fix="free some space, then run the command again: it resumes where it stopped.",
            ) from error

    def retire(self, manifest: M) -> None:
        """Put aside the manifest of a topic that no longer exists."""
        self.path.replace(self.folder / f"{self.path.stem}-{manifest.topic_id}.json")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the feed's lock; the operating system releases it with the process, however that ends.

        Raises:
            RefusedError: another process is sending this feed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RefusedError(
                    f"Another process is sending this feed (it holds {lock.name}).",
                    fix="wait until it is done, or stop it; then run the command again.",
                ) from None
            yield
