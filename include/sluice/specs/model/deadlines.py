"""What a stream promises while it runs. A missed deadline is an alert."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from pydantic import Field, field_validator

from sluice.specs.model.duration import Duration, format_duration
from sluice.specs.model.spec import Spec

LEAST = timedelta(minutes=1)
"""A stream is observed every ten seconds, and alerts are sent once a minute: shorter deadlines make no difference."""


class Deadline(StrEnum):
    """The deadlines of a stream, by their keys in the spec."""

    LAG = "lag"
    LAG_RECORDS = "lag_records"
    AGE = "age"
    IDLE = "idle"
    LOSS_RISK = "loss_risk"


class StreamDeadlines(Spec):
    """Deadlines of a running stream. One that is missed is an alert, and fails nothing."""

    lag: Duration | None = None
    """How long the first unread record may wait; omitted: as long as it takes."""
    lag_records: int | None = Field(default=None, ge=1)
    """How many records may be unread."""
    age: Duration | None = None
    """How long nothing may be committed while records wait, or nothing settled while intervals are due."""
    idle: Duration | None = None
    """How long nothing may arrive in the topic, in all its partitions together."""
    loss_risk: Duration | None = timedelta(hours=1)
    """How near the moment may come when the topic's retention deletes what is unread, at most half of the retention;
    null: no alert."""
    remind: Duration | None = timedelta(days=1)
    """How often a reminder is sent while a deadline stays missed; null: never."""

    @field_validator("lag", "age", "idle", "loss_risk", "remind")
    @classmethod
    def _can_be_watched(cls, limit: timedelta | None) -> timedelta | None:
        if limit is not None and limit < LEAST:
            raise ValueError(
                f"{format_duration(limit)} is shorter than {format_duration(LEAST)}, and no watch is so frequent"
            )
        return limit


class CircuitBreaker(Spec):
    """More than `share` of a batch with at least `records` records."""

    share: float = Field(gt=0, lt=1)
    """A batch of which a greater share is quarantined is not committed, and its stream stops."""
    records: int = Field(default=100, ge=1)
    """Batches with fewer records are never judged: one bad record of two is no drift."""


UNDECLARED = StreamDeadlines()
