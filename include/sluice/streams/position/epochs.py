"""The reset epochs of a stream: where each begins, on record beside the checkpoints, so a driver needs no database.

`<stream>.epochs/<number>.json` says where an epoch begins, and in which topic. Epoch 0 is the stream as it was first
started; its checkpoint is `<stream>`. Every reset begins the next one, whose checkpoint is `<stream>.epochs/<number>`.
No checkpoint is ever deleted, and no record is ever changed: it is there as a whole or not at all. Records may be kept
elsewhere than checkpoints, which can be made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sluice.errors import CorruptionError, RefusedError
from sluice.storage.local_objects import LocalObjects
from sluice.storage.objects import Objects
from sluice.streams.position.checkpoint import Checkpoint, CheckpointState
from sluice.streams.position.fencing import FencedError

_JOINT = "+"


@dataclass(frozen=True)
class Epoch:
    """A record: where an epoch begins.

    Attributes:
        number: 0 for the first start, from 1 for resets.
        topic_id: the cluster's UUID of the topic that the offsets count in; of several, see `joined_ids`.
        offsets: first offset per `topic/partition`; a partition that is missing begins at its first record.
        to: what was asked for: `earliest`, `latest`, a time, offsets.
        by: who asked.
        why: the reason.
        at: when it was recorded (UTC).
        continues: whether the topic is a copy of the one before, in which the stream goes on: what it has not read of
            either is still to be read.
    """

    number: int
    topic_id: str
    offsets: Mapping[str, int]
    to: str
    by: str
    why: str
    at: datetime
    continues: bool = False

    @property
    def topic_ids(self) -> tuple[str, ...]:
        """The id of each topic, in the order in which the stream reads them, and the names of tables behind."""
        return tuple(self.topic_id.split(_JOINT))


@dataclass(frozen=True)
class EpochInForce:
    """The epoch that an attempt goes on with.

    Attributes:
        number: of the epoch.
        checkpoint: its folder.
        start: first offset per `topic/partition`, for a checkpoint that has read nothing; one that is missing, and
            without them all: the partition's first record.
        topics: ids of every topic that the stream has begun to read, oldest first.
        records: where a later reset would be on record; None where nothing can be reset.
        beginning: the epoch that says what is never read: the newest one that continues no other; None: nothing is.
    """

    number: int
    checkpoint: Path
    start: Mapping[str, int] | None = None
    topics: tuple[str, ...] = ()
    records: Objects | None = None
    beginning: Epoch | None = None

    @property
    def topic_id(self) -> str:
        """Id of the topic that its offsets count in; empty if nothing is on record."""
        return self.topics[-1] if self.topics else ""

    def refuse_superseded(self) -> None:
        """Make sure that the stream was not reset since this attempt began, by one file name.

        Raises:
            FencedError: it was; nothing may be written under this epoch any more.
        """
        following = _name(self.number + 1)
        if self.records is not None and self.records.has(following):
            raise FencedError(
                f"a reset to epoch {self.number + 1} is on record ({self.records.place(following)}); this driver began "
                f"with epoch {self.number} and publishes nothing more.",
                fix="start the unit again: its next attempt continues with the new epoch.",
            )


def joined_ids(ids: Iterable[str]) -> str:
    """Return what names the topics that one stream reads: another one if any of them is created again."""
    return _JOINT.join(ids)


class Epochs:
    """The epochs of one stream.

    Args:
        checkpoint: the folder of the stream's first checkpoint; those of later epochs lie beside it.
        records: where its records are; None: beside it, too.
    """

    def __init__(self, checkpoint: Path, records: Objects | None = None) -> None:
        self._first = checkpoint
        self._folder = checkpoint.with_name(f"{checkpoint.name}.epochs")
        self._records = LocalObjects(self._folder) if records is None else records

    @property
    def number(self) -> int:
        """The newest epoch's."""
        return max(self._numbers(), default=0)

    def all(self) -> tuple[Epoch, ...]:
        """Return all records, oldest first."""
        return tuple(epoch for number in sorted(self._numbers()) if (epoch := self._read(number)) is not None)

    def newest(self) -> Epoch | None:
        """Return the newest epoch's record; None before the first start."""
        return self._read(self.number)

    def of(self, number: int) -> Epoch | None:
        """Return the record of an epoch."""
        return self._read(number)

    @property
    def topics(self) -> tuple[str, ...]:
        """Ids of the topics that the stream has begun to read, oldest first: one that was created again has another."""
        return _topics(self.all())

    @property
    def fresh(self) -> bool:
        """Whether the stream has never read anything and nothing says yet where it begins."""
        return not self._numbers() and Checkpoint(self._first).origin() is None

    def in_force(self, first: Epoch | None = None) -> EpochInForce:
        """Return what an attempt that begins now goes on with.

        Args:
            first: what it will put on record before it reads anything; it counts only while nothing is on record.
        """
        records = self.all()  # listed once: a reset in between must not lend its offsets to the epoch before
        records = records or (() if first is None else (first,))
        return self._going_on(records)

    def in_future(self, epoch: Epoch) -> EpochInForce:
        """Return what an attempt goes on with that will put this epoch, the next one, on record."""
        return self._going_on((*self.all(), epoch))

    def _going_on(self, records: Sequence[Epoch]) -> EpochInForce:
        newest = records[-1] if records else None
        number = newest.number if newest else 0
        return EpochInForce(
            number,
            self._checkpoint(number),
            newest.offsets if newest else None,
            _topics(records),
            self._records,
            next((epoch for epoch in reversed(records) if not epoch.continues), None),
        )

    def checkpoint(self) -> EpochCheckpoint:
        """Return the reader of the newest epoch's checkpoint."""
        number = self.number
        return EpochCheckpoint(self._checkpoint(number), number, self)

    def record(self, epoch: Epoch) -> None:
        """Put an epoch on record, durably. Of two that record the same number, one is refused.

        Raises:
            RefusedError: there is a record of that number.
            UnreachableError: it cannot be written; in a bucket it may have been.
        """
        name = _name(epoch.number)
        if not self._records.put_if_absent(name, _adapter().dump_json(epoch, indent=1)):
            raise RefusedError(
                f"another reset has begun epoch {epoch.number} meanwhile ({self._records.place(name)}); nothing was "
                "changed.",
                fix="check what they did, then repeat the command if it is still needed.",
            )

    def _checkpoint(self, number: int) -> Path:
        return self._folder / str(number) if number else self._first

    def _numbers(self) -> list[int]:
        names = self._records.names()
        return [int(name[:-5]) for name in names if name.endswith(".json") and name[:-5].isdigit()]

    def _read(self, number: int) -> Epoch | None:
        name = _name(number)
        if (text := self._records.read(name)) is None:
            return None
        try:
            return _adapter().validate_json(text)
        except ValidationError as error:
            raise CorruptionError(
                f"{self._records.place(name)} is no record of an epoch: {error}.",
                fix="it is written once and never changed; restore it from a copy.",
            ) from error


def _name(number: int) -> str:
    return f"{number}.json"


def _topics(epochs: Sequence[Epoch]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(epoch.topic_id for epoch in epochs))


@cache
def _adapter() -> TypeAdapter[Epoch]:
    return TypeAdapter(Epoch)


class EpochCheckpoint(Checkpoint):
    """The checkpoint of one epoch. Before its first batch the stream stands where the epoch begins."""

    def __init__(self, folder: Path, number: int, epochs: Epochs) -> None:
        super().__init__(folder)
        self._number = number
        self._epochs = epochs

    def read(self, after: int = -1) -> CheckpointState:
        """See `Checkpoint`."""
        return self._placed(super().read(after))

    def follow(self, before: CheckpointState | None) -> CheckpointState:
        """See `Checkpoint`."""
        return self._placed(super().follow(before))

    def _placed(self, found: CheckpointState) -> CheckpointState:
        if found.batches:
            return found if found.epoch == self._number else replace(found, epoch=self._number)
        record = self._epochs.of(self._number)
        return replace(found, epoch=self._number, start={} if record is None else record.offsets)
