"""What the rules of a pipeline make of a record, as far as its two times say it.

Only the decoder on Spark asks all rules. What is known without it is exact where it refuses a record or finds it late;
that a record is good, it says by the times alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sluice.intervals.record_positions import TopicPosition
from sluice.quality.reasons import Outcome, Reason
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import TimeRules
from sluice.tracing.address import RecordAddress
from sluice.tracing.storage import StoredRow

_BEYOND = "is ahead of the arrival time by more than future_skew"


@dataclass(frozen=True)
class FoundRecord:
    """A record that is traced.

    Attributes:
        address: of the record.
        row: its bytes and times.
        fields: of its value, by their declared names; None if it has none that Python can read.
        unread: why it has none; empty if it has, or nobody has tried.
    """

    address: RecordAddress
    row: StoredRow
    fields: Mapping[str, Any] | None = None
    unread: str = ""

    @property
    def place(self) -> TopicPosition:
        """Its topic, by the id, with partition and offset."""
        return self.row.topic_id, self.address.partition, self.address.offset


@dataclass(frozen=True)
class Judgement:
    """What a pipeline's rules make of a record.

    Attributes:
        outcome: good, quarantined, late or control; None: nobody has decoded it yet.
        reason: why it is quarantined; None unless that is known.
        detail: the field at fault and what is wrong with it, or why the bytes do not decode; empty if unknown.
        delay: its arrival less its event; None without both times.
        allowed: the delay up to which it is on time.
        whole: whether all rules were asked, and not the times alone.
    """

    outcome: Outcome | None
    reason: Reason | None = None
    detail: str = ""
    delay: timedelta | None = None
    allowed: timedelta = timedelta()
    whole: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether no transform is given it."""
        return self.outcome in (Outcome.QUARANTINED, Outcome.CONTROL)

    @property
    def is_late(self) -> bool:
        """Whether only a correction takes it."""
        return self.outcome is Outcome.LATE


def judged_by_times(record: FoundRecord, value: TopicValue, time: TimeRules) -> Judgement:
    """Judge a record.

    Args:
        record: the record.
        value: what its topic declares.
        time: how late and how early a record may be for the pipeline.
    """
    row, fields = record.row, record.fields or {}
    if row.decodes is None:
        return Judgement(None, allowed=time.allowed_lateness)
    if not row.decodes:
        return Judgement(Outcome.QUARANTINED, detail=record.unread, allowed=time.allowed_lateness)
    if row.event_time is None or row.arrival_time is None:
        return _without_time(row, fields, value, time)
    delay = row.arrival_time - row.event_time
    detail = _ahead(row, delay, value, time)
    if detail:
        return Judgement(Outcome.QUARANTINED, Reason.FUTURE, detail, delay, time.allowed_lateness)
    if value.heartbeat is not None and fields.get(value.heartbeat) is True:
        return Judgement(Outcome.CONTROL, None, "", delay, time.allowed_lateness)
    outcome = Outcome.LATE if delay > time.allowed_lateness else Outcome.GOOD
    return Judgement(outcome, None, "", delay, time.allowed_lateness)


def _ahead(row: StoredRow, delay: timedelta, value: TopicValue, time: TimeRules) -> str:
    """Return what a record says of the future; empty if nothing that it may not."""
    if -delay > time.future_skew:
        return f"{value.event_time} {_BEYOND}"
    if value.arrival_time == "broker" or row.at is None or row.arrival_time is None:
        return ""
    ahead = row.arrival_time - time.clock_skew > row.at
    return f"{value.arrival_time} is ahead of the broker's time by more than clock_skew" if ahead else ""


def _without_time(row: StoredRow, fields: Mapping[str, Any], value: TopicValue, time: TimeRules) -> Judgement:
    name = value.event_time if row.event_time is None else value.arrival_time
    absent = name != "broker" and fields.get(name) is None
    reason = Reason.MISSING_FIELD if absent else Reason.OUT_OF_RANGE
    detail = f"{name} is absent or null" if absent else f"{name} is no plausible time"
    return Judgement(Outcome.QUARANTINED, reason, detail, allowed=time.allowed_lateness)
