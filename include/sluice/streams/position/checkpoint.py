"""What a Spark checkpoint says about its stream, read from its files without Spark.

`offsets/N` is written before batch N runs and `commits/N` after it, so the position of a stream is `offsets/N` of the
newest N that has a commit: never the newest offsets file, which is only a plan. Line 1 is the version, line 2 the
batch's metadata, and each further line the end offsets of one source (Kafka: `{topic: {partition: offset}}`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from sluice.errors import CorruptionError, SluiceError, UnreachableError

_VERSIONS = ("v1", "v2")

MAX_FOLLOWED = 30
"""Who follows a checkpoint reads at most so many batches at once: the newest tell how the stream does, and after a long
gap ten thousand streams must not be read file by file."""


_MORE = 65_536
"""Bytes that are read at once of a file that is longer than it said."""


def location(folder: Path) -> str:
    """Return the absolute URI under which any driver finds a checkpoint, wherever its cluster looks by default.

    Hadoop takes such a text as it is, so nothing is quoted: a blank in a path stays one.
    """
    return f"file://{folder.absolute()}"


class IncompatibleStateError(SluiceError):
    """A checkpoint holds the state of a query of another kind than the one that is to continue from it."""


@dataclass(frozen=True)
class PlannedBatch:
    """`offsets/N`.

    Attributes:
        batch_id: N.
        offsets: next offset to read per `topic/partition` once this batch is committed.
        watermark: the watermark that this batch evicts by; None before the first event.
        planned_at: when the file appeared (UTC), which is when the offsets were fixed; None if it was not read.
    """

    batch_id: int
    offsets: Mapping[str, int]
    watermark: datetime | None
    planned_at: datetime | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class CommittedBatch(PlannedBatch):
    """A planned batch that has `commits/N`; `committed_at` is when that file appeared (UTC)."""

    committed_at: datetime


@dataclass(frozen=True)
class CheckpointState:
    """What a checkpoint says at one moment.

    Attributes:
        batches: those with a commit that are newer than what was known, newest first; always the newest one.
        running: the batch that is planned and has no commit.
        watermark: what the newest committed batch leaves to the next one; None before the first event.
        epoch: the reset epoch whose checkpoint it is.
        start: where the stream stands before its first batch, per `topic/partition`; {}: where its topic begins.
    """

    batches: tuple[CommittedBatch, ...] = ()
    running: PlannedBatch | None = None
    watermark: datetime | None = None
    epoch: int = 0
    start: Mapping[str, int] = field(default_factory=dict)

    @property
    def newest(self) -> CommittedBatch | None:
        """The stream's position; None before the first batch."""
        return self.batches[0] if self.batches else None


class Checkpoint:
    """Reads one checkpoint folder. Nothing is cached: a driver may be writing to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._prefix = f"{folder}/"  # pathlib costs more than the check itself, ten thousand times a minute

    def _path(self, name: str) -> str:
        return self._prefix + name

    def lineage(self) -> str | None:
        """Return the id that Spark gave this checkpoint, or None if it was never started."""
        text = self._read("metadata")
        return None if text is None else str(_parse(text, self._path("metadata"))["id"])

    def origin(self) -> Mapping[str, int] | None:
        """Return the first offset of each `topic/partition` that it ever read; None before its first batch."""
        names = [f"sources/{number}/0" for number in self._sources()]
        found = {name: text for name in names if (text := self._read(name)) is not None}
        if not found:
            return None
        # Spark puts a zero byte and the version in front of the offsets, for readers of Spark 2.1.
        each = (_flatten(_parse(text[text.find("{") :], self._path(name))) for name, text in found.items())
        return {partition: offset for offsets in each for partition, offset in offsets.items()}

    def _sources(self) -> list[str]:
        try:
            return sorted(os.listdir(self._path("sources")), key=len)  # noqa: PTH208 - see `_prefix`
        except FileNotFoundError:
            return []

    def planned(self, batch_id: int) -> PlannedBatch | None:
        """Return `offsets/<batch_id>`, or None if it does not exist (yet, or no longer)."""
        path = self._path(f"offsets/{batch_id}")
        found = _content_of(path)
        if found is None:
            return None
        text, planned_at = found
        version, *lines = text.splitlines() or [""]
        if version not in _VERSIONS or not lines:
            raise CorruptionError(
                f"{path} starts with {version!r} and has {len(lines)} further lines; an offset log has a version "
                f"({' or '.join(_VERSIONS)}), metadata and one line per source.",
                fix="keep a copy of the checkpoint; see the runbook for a damaged checkpoint.",
            )
        try:
            sources = [_flatten(_parse(line, path)) for line in lines[1:] if line != "-"]  # "-": no data yet
        except (TypeError, ValueError) as error:
            raise _unreadable(path, error) from error
        watermark = _watermark(_parse(lines[0], path).get("batchWatermarkMs", 0), path)
        offsets = {p: o for source in sources for p, o in source.items()}
        return PlannedBatch(batch_id, offsets, watermark, planned_at=planned_at)

    def read(self, after: int = -1) -> CheckpointState:
        """Return what is new. Cheap when called often: files of batches that are known are not read again.

        Args:
            after: the newest batch that is known already.
        """
        batches = tuple(self.committed(after))
        running = self.planned(batches[0].batch_id + 1 if batches else 0)
        return CheckpointState(batches, running, self.next_watermark())

    def follow(self, before: CheckpointState | None) -> CheckpointState:
        """Return what is new since an earlier check of the same folder. Of a stream at rest no file is read.

        Spark never changes a file of a batch, and commits batches one after another. So if the newest commit is still
        the file that it was, what is news has the numbers after it. If it is not, the folder is another one.

        Args:
            before: the earlier check; None: there was none.
        """
        newest = None if before is None else before.newest
        if before is None or newest is None or self._changed_at(f"commits/{newest.batch_id}") != newest.committed_at:
            return self._read_newest()
        news: list[CommittedBatch] = []
        watermark = before.watermark
        while (found := self._committed(newest.batch_id + len(news) + 1)) is not None:
            batch, watermark = found
            news.append(batch)
            if len(news) == MAX_FOLLOWED:
                return self._read_newest()
        batches = (*reversed(news), newest)[: max(1, len(news))]
        return CheckpointState(batches, self._running(batches[0].batch_id + 1, before.running), watermark)

    def _read_newest(self) -> CheckpointState:
        newest = max(self._batch_ids("commits"), default=-1)
        return self.read(after=max(-1, newest - MAX_FOLLOWED))

    def _committed(self, batch_id: int) -> tuple[CommittedBatch, datetime | None] | None:
        """Return a batch that has a commit, and the watermark that it leaves to the next one."""
        path = self._path(f"commits/{batch_id}")
        commit = _content_of(path)
        planned = None if commit is None else self.planned(batch_id)
        if commit is None or planned is None:
            return None
        text, committed_at = commit
        batch = CommittedBatch(
            batch_id, planned.offsets, planned.watermark, committed_at, planned_at=planned.planned_at
        )
        return batch, _watermark_left(text, path)

    def _running(self, batch_id: int, before: PlannedBatch | None) -> PlannedBatch | None:
        """Return the plan of a batch; it is not read again if its file is the one that was read."""
        known = before is not None and before.batch_id == batch_id
        if known and before is not None and self._changed_at(f"offsets/{batch_id}") == before.planned_at:
            return before
        return self.planned(batch_id)

    def newest_committed(self) -> CommittedBatch | None:
        """Return the stream's position, or None if no batch was ever committed."""
        return next(self.committed(), None)

    def committed(self, after: int = -1) -> Iterator[CommittedBatch]:
        """Yield the committed batches that the checkpoint still keeps (about 100), newest first.

        Args:
            after: only those with a higher number; the newest one always.
        """
        batch_ids = sorted(self._batch_ids("commits"), reverse=True)
        for batch_id in (number for number in batch_ids if number > after or number == batch_ids[0]):
            planned = self.planned(batch_id)
            if planned is None and batch_id != batch_ids[0]:
                return  # Spark has just purged it
            if planned is None:
                raise CorruptionError(
                    f"{self.folder} has commits/{batch_id} but no offsets/{batch_id}.",
                    fix="keep a copy of the checkpoint; see the runbook for a damaged checkpoint.",
                )
            committed_at = self._changed_at(f"commits/{batch_id}")
            if committed_at is None:
                return  # the same
            yield CommittedBatch(
                batch_id, planned.offsets, planned.watermark, committed_at, planned_at=planned.planned_at
            )

    def next_watermark(self) -> datetime | None:
        """Return the watermark that the newest committed batch leaves to the next one: its state knows nothing newer.

        That is the newest event time which the stream ever took, less the watermark's delay. None before the first.
        """
        newest = max(self._batch_ids("commits"), default=None)
        text = None if newest is None else self._read(f"commits/{newest}")
        return None if text is None else _watermark_left(text, self._path(f"commits/{newest}"))

    def _batch_ids(self, log: str) -> list[int]:
        try:
            return [int(name) for name in os.listdir(self._path(log)) if name.isdigit()]  # noqa: PTH208 - see __init__
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnreachableError(f"cannot list {self.folder / log}: {error}.") from error

    def _changed_at(self, name: str) -> datetime | None:
        try:
            return datetime.fromtimestamp(os.stat(self._path(name)).st_mtime, UTC)  # noqa: PTH116 - the same
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnreachableError(f"cannot read {self.folder / name}: {error}.") from error

    def _read(self, name: str) -> str | None:
        found = _content_of(self._path(name))
        return None if found is None else found[0]


def _content_of(path: str) -> tuple[str, datetime] | None:
    """Return what a file holds and when it was changed (UTC), or None if there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # three calls, where a file object makes seven
        try:
            found = os.fstat(file)
            content = os.read(file, found.st_size + 1)
            while len(content) != found.st_size and (more := os.read(file, _MORE)):
                content += more
        finally:
            os.close(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreachableError(f"cannot read {path}: {error}.") from error
    return content.decode("utf-8", "replace"), datetime.fromtimestamp(found.st_mtime, UTC)


def _parse(text: str, path: str) -> dict[str, Any]:
    try:
        value = from_json(text)
    except ValueError as error:
        raise CorruptionError(f"{path} holds {text[:80]!r}, which is no JSON: {error}.") from error
    if not isinstance(value, dict):
        raise CorruptionError(f"{path} holds {text[:80]!r} where an object belongs.")
    return value


def _watermark_left(commit: str, path: str) -> datetime | None:
    version, _, content = commit.partition("\n")
    if version not in _VERSIONS:
        raise CorruptionError(f"{path} starts with {version!r}; a commit log has a version and one line.")
    return _watermark(_parse(content, path).get("nextBatchWatermarkMs", 0), path)


def _watermark(milliseconds: float | str, path: str) -> datetime | None:
    """Spark writes 0 before the first event."""
    try:
        return datetime.fromtimestamp(int(milliseconds) / 1000, UTC) if int(milliseconds) > 0 else None
    except (TypeError, ValueError, OverflowError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> CorruptionError:
    return CorruptionError(f"{path} holds a number that cannot be read: {error}.")


def _flatten(source: Mapping[str, Any]) -> dict[str, int]:
    return {
        f"{topic}/{partition}": int(offset)
        for topic, partitions in source.items()
        if isinstance(partitions, dict)
        for partition, offset in partitions.items()
    }
