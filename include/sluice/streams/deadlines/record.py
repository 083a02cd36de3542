"""What was told of a stream's deadlines, as it is on record: one row per deadline, replaced version by version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class Deadline(StrEnum):
    """What can be declared, under the spec's keys."""

    LAG = "lag"
    LAG_RECORDS = "lag_records"
    AGE = "age"
    IDLE = "idle"
    LOSS_RISK = "loss_risk"


@dataclass(frozen=True)
class DeadlineRecord:
    """What was last told of one deadline of a stream.

    Attributes:
        version: counted from 1; the first one says that it is missed.
        missed: whether it is missed, or met again.
        since: since when (UTC).
        claimed_at: when somebody took it upon himself to tell (UTC).
        told_at: when that was done; None: not yet, or it was cut off.
    """

    unit: str
    stream: str
    deadline: Deadline
    version: int
    missed: bool
    since: datetime
    claimed_at: datetime
    told_at: datetime | None = None

    def told(self, at: datetime) -> DeadlineRecord:
        """Return the next version: somebody knows."""
        return replace(self, version=self.version + 1, told_at=at)

    @property
    def settled(self) -> bool:
        """Whether it is met, and somebody knows."""
        return not self.missed and self.told_at is not None


class DeadlineRecords(Protocol):
    """A part of `sluice.streams.registry.Registry`."""

    def deadline_records(self, unit: str) -> Sequence[DeadlineRecord]:
        """Return the newest record of each deadline of the unit's streams that was ever missed."""
        ...

    def replace_deadline_record(self, after: DeadlineRecord) -> bool:
        """Store a version whose predecessor is the newest one; return whether that was so."""
        ...
