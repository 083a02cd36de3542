"""What a stream promises while it runs, and for which share of the time its outputs shall be good."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, field_validator

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

_PERCENTAGE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)\s*%")
_LEAST_SHARE, _WHOLE = Decimal(50), Decimal(100)
SHORTEST_WINDOW, LONGEST_WINDOW = timedelta(days=7), timedelta(days=31)
"""A burn rate is over up to three days, and what was seen is kept for 35."""


def parse_share(text: object) -> Decimal:
    """Read a percentage such as `99.9 %` and return it as one, 50 or more and less than 100.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(text, Decimal):
        return text
    match = _PERCENTAGE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is not a share; write a percentage such as '99.9 %'")
    share = Decimal(match[1])
    if share >= _WHOLE:
        raise ValueError(f"{text!r} leaves no error budget: the first bad minute would miss it; write less")
    if share < _LEAST_SHARE:
        raise ValueError(f"{text!r} lets most of the time be bad; write 50 % at least")
    return share


def format_share(share: Decimal) -> str:
    """Return it as `parse_share` reads it."""
    return f"{share.normalize():f} %"


Share = Annotated[
    Decimal,
    BeforeValidator(parse_share),
    PlainSerializer(format_share, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]{1,3}(\.[0-9]{1,4})?\s*%$", "examples": ["99.9 %"]}),
]
"""In percent."""


class Objective(Spec):
    """For which share of the time an output shall be good. What is left is its error budget."""

    share: Share
    """Such as `99.9 %`."""
    window: Duration = timedelta(days=30)
    """Over how long it is counted, up to now: 7 to 31 days."""
    counts: Literal["both", "fresh", "correct"] = "both"
    """What makes a minute good: nothing waits longer than the deadlines say, no check finds its rows wrong, or both."""

    @field_validator("window")
    @classmethod
    def _is_kept(cls, window: timedelta) -> timedelta:
        if not SHORTEST_WINDOW <= window <= LONGEST_WINDOW:
            bounds = f"{format_duration(SHORTEST_WINDOW)} to {format_duration(LONGEST_WINDOW)}"
            raise ValueError(f"{format_duration(window)} is no window that is counted; write {bounds}")
        return window

    @property
    def allowed(self) -> float:
        """The share that may be bad, 0-1."""
        return float((_WHOLE - self.share) / _WHOLE)


def _share_alone(value: object) -> object:
    return {"share": value} if isinstance(value, str | int | float) else value


DeclaredShare = Annotated[
    Objective | None, BeforeValidator(_share_alone, json_schema_input_type=Objective | Share | None)
]
"""An objective; a share alone is short for one."""
