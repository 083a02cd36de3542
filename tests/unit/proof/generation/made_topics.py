"""Topics whose records are made in tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sluice.proof.generation.generator import RecordGenerator
from sluice.proof.generation.made import MadeRecord, RecordFate
from sluice.proof.generation.unmade import left_out
from sluice.specs.model.model import TopicSpec, TopicValue

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STEP, LATENESS, SKEW = timedelta(seconds=90), timedelta(hours=3), timedelta(hours=1)
EVERY, BROKEN = 40, 33


def topic_of(value: TopicValue) -> TopicSpec:
    """Return a topic with such values."""
    raw = {"table": "things_raw", "driver": "things"}
    topic = TopicSpec.model_validate({"name": "things", "partitions": 2, "value": PLAIN, "raw": raw})
    return topic.model_copy(update={"value": value})


PLAIN: dict[str, Any] = {"event_time": "at", "arrival_time": "at", "fields": {"at": {"type": "timestamp"}}}


def generator_of(topic: TopicSpec, **more: Any) -> RecordGenerator:  # noqa: ANN401 - of the generator
    """Return what makes all kinds of records of a topic."""
    given = {"lateness": LATENESS, "skew": SKEW, "breaks": True, "left_out": left_out(topic), **more}
    return RecordGenerator(topic, BEGIN, STEP, **given)


def broken_of(made: RecordGenerator, count: int = 40) -> list[MadeRecord]:
    """Return the first broken records."""
    records = [made.record(BROKEN + EVERY * turn) for turn in range(count)]
    assert {record.fate for record in records} == {RecordFate.QUARANTINED}
    return records
