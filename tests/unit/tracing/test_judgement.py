"""What the rules of a pipeline make of a record, as far as its times say it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.quality.reasons import Outcome, Reason
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import TimeRules
from sluice.tracing.address import RecordAddress
from sluice.tracing.judgement import FoundRecord, judged_by_times
from sluice.tracing.storage import StoredRow

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FIELDS: dict[str, Any] = {
    "id": {"type": "long", "required": True},
    "at": {"type": "timestamp", "required": True},
    "seen": {"type": "timestamp", "required": True},
    "beat": {"type": "boolean"},
}
VALUE = TopicValue.model_validate({"fields": FIELDS, "event_time": "at", "arrival_time": "seen", "heartbeat": "beat"})
TIME = TimeRules.model_validate({"allowed_lateness": "1 hour", "future_skew": "5 min", "clock_skew": "10 min"})
ROW = StoredRow("t", NOON, None, b"{}", (), NOON, NOON, decodes=True)


def judged(
    row: StoredRow, fields: dict[str, Any] | None = None, unread: str = ""
) -> tuple[Outcome | None, Reason | None]:
    found = judged_by_times(FoundRecord(RecordAddress("orders", 0, 1), row, fields, unread), VALUE, TIME)
    assert not found.whole
    return found.outcome, found.reason


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        (60 * MINUTE, (Outcome.GOOD, None)),
        (60 * MINUTE + timedelta(microseconds=1), (Outcome.LATE, None)),
        (-5 * MINUTE, (Outcome.GOOD, None)),
        (-5 * MINUTE - timedelta(microseconds=1), (Outcome.QUARANTINED, Reason.FUTURE)),
    ],
)
def test_times_decide_what_is_late_and_what_is_of_the_future(
    delay: timedelta, expected: tuple[Outcome, Reason | None]
) -> None:
    assert judged(replace(ROW, event_time=NOON - delay)) == expected


def test_an_arrival_ahead_of_the_brokers_clock_is_of_the_future() -> None:
    assert judged(replace(ROW, at=NOON - 10 * MINUTE)) == (Outcome.GOOD, None)
    assert judged(replace(ROW, at=NOON - 11 * MINUTE)) == (Outcome.QUARANTINED, Reason.FUTURE)


def test_what_does_not_decode_is_quarantined_and_says_why_python_cannot_read_it() -> None:
    found = judged_by_times(
        FoundRecord(RecordAddress("orders", 0, 1), replace(ROW, decodes=False, event_time=None), None, "it is no JSON"),
        VALUE,
        TIME,
    )
    assert (found.outcome, found.reason, found.detail) == (Outcome.QUARANTINED, None, "it is no JSON")
    assert found.is_refused


def test_a_time_that_is_absent_or_implausible_quarantines() -> None:
    without = replace(ROW, event_time=None)
    assert judged(without, {"id": 1}) == (Outcome.QUARANTINED, Reason.MISSING_FIELD)
    assert judged(without, {"at": "9999-01-01T00:00:00Z"}) == (Outcome.QUARANTINED, Reason.OUT_OF_RANGE)
    assert judged(replace(ROW, arrival_time=None), {"at": "…"}) == (Outcome.QUARANTINED, Reason.MISSING_FIELD)


def test_a_heartbeat_is_control_and_what_nobody_decoded_is_not_judged() -> None:
    assert judged(ROW, {"beat": True}) == (Outcome.CONTROL, None)
    assert judged(ROW, {"beat": False}) == (Outcome.GOOD, None)
    assert judged(replace(ROW, decodes=None)) == (None, None)
