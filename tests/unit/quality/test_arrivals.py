"""Old records in a topic whose broker says when they arrive: what is said, and which field is proposed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.quality.arrivals import arrival_hint, sent_too_late
from sluice.quality.reasons import Outcome, Reason
from sluice.specs.model.model import FieldType, PipelineSpec, RawTableSpec, TopicSpec, TopicValue, ValueField
from tests.twins.clock import START

REQUIRED = ValueField(type=FieldType.TIMESTAMP, required=True)
PIPELINE = PipelineSpec.model_validate(
    {
        "name": "counts",
        "source": "orders",
        "transform": "counts:counts",
        "time": {"allowed_lateness": "3 hours", "future_skew": "5 minutes"},
        "output": {"table": "counts", "time_column": "hour", "window": "1 hour", "interval": "hour"},
        "driver": "counts",
    }
)


def topic(arrival: str = "broker", **further: ValueField) -> TopicSpec:
    fields = {"at": REQUIRED, **further}
    value = TopicValue(fields=fields, event_time="at", arrival_time=arrival)
    return TopicSpec(name="orders", partitions=1, value=value, raw=RawTableSpec(table="orders_raw", driver="orders"))


@pytest.mark.parametrize(
    ("outcomes", "reasons", "said"),
    [
        ({Outcome.GOOD: 10, Outcome.LATE: 10}, {}, ""),
        ({Outcome.GOOD: 10, Outcome.LATE: 11}, {}, "11 of 21 records are late or from the future"),
        ({Outcome.GOOD: 1, Outcome.QUARANTINED: 5}, {Reason.FUTURE: 5}, "5 of 6 records are late or from the future"),
        ({Outcome.QUARANTINED: 5}, {Reason.MALFORMED: 5}, ""),
        ({}, {}, ""),
    ],
)
def test_most_records_late_or_ahead_are_told_with_the_field(
    outcomes: dict[Outcome, int], reasons: dict[Reason, int], said: str
) -> None:
    hint = arrival_hint(topic(observed_at=REQUIRED), outcomes, reasons)
    assert said in hint
    assert bool(hint) is bool(said)
    assert ("write `arrival_time: observed_at` in include/topics/orders.yaml, which says" in hint) is bool(said)
    assert arrival_hint(topic("observed_at", observed_at=REQUIRED), outcomes, reasons) == ""


def test_without_another_time_the_events_own_is_proposed() -> None:
    optional = ValueField(type=FieldType.TIMESTAMP)
    hint = arrival_hint(topic(seen=optional), {Outcome.LATE: 3}, {})
    assert "write `arrival_time: at` in include/topics/orders.yaml, then none is ever late" in hint


@pytest.mark.parametrize(("hours", "late"), [(3, False), (3.1, True), (24 * 365, True)])
def test_a_feed_of_old_records_is_told_before_it_is_sent(hours: float, late: bool) -> None:
    newest = START - timedelta(hours=hours)
    assert ("each will be late" in sent_too_late(topic(), [PIPELINE], newest, START)) is late
    assert sent_too_late(topic("at"), [PIPELINE], newest, START) == ""
    assert sent_too_late(topic(), [], newest, START) == ""
    assert sent_too_late(topic(), [PIPELINE], None, START) == ""
