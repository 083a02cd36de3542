"""The first spec, transform, suite and test of a pipeline that counts the records of each hour. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from sluice.specs.model.model import FieldType, TopicSpec, ValueField
from sluice.topics.declared_time import write_time

_HOUR = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The hour of the test's records."""


def pipeline_files(name: str, topic: TopicSpec, *, owner: str) -> Mapping[str, str]:
    """Return the texts of all files by path in the project.

    Args:
        name: the name of the pipeline, its transform and its table.
        topic: the topic that it reads.
        owner: a person or a team.
    """
    return {
        f"include/pipelines/{name}.yaml": _spec(name, topic, owner),
        f"include/expectations/{name}.yaml": _suite(name),
        f"spark_jobs/transforms/{name}.py": _transform(name, topic),
        f"tests/pipelines/test_{name}.py": _test(name, topic),
    }


def sample_record(topic: TopicSpec, at: datetime) -> dict[str, object]:
    """Return a valid record of a topic with the event time `at` (UTC)."""
    value = topic.value
    times = {value.event_time, value.arrival_time}
    return {
        name: write_time(at, field) if name in times else _example(field, at)
        for name, field in value.fields.items()
        if name != value.heartbeat
    }


def _example(field: ValueField, at: datetime) -> object:
    low = field.minimum if field.minimum is not None else min(1.0, field.maximum if field.maximum is not None else 1.0)
    match field.type:
        case FieldType.STRING:
            return field.one_of[0] if field.one_of else "a"
        case FieldType.LONG:
            return int(low)
        case FieldType.DOUBLE:
            return low
        case FieldType.BOOLEAN:
            return False
        case FieldType.TIMESTAMP:
            return write_time(at, field)


def _spec(name: str, topic: TopicSpec, owner: str) -> str:
    return f"""name: {name}
description: How many records of {topic.name} there are in each hour.
owner: {owner}
source: {topic.name}
transform: {name}:{name}      # spark_jobs/transforms/{name}.py, the function
time:
  allowed_lateness: 1 hour    # records that arrive later are late: a backfill adds them
  future_skew: 5 minutes      # records further ahead are quarantined
outputs:
  - kind: intervals
    table: {name}
    time_column: hour
    window: 1 hour
    interval: hour
    keys: []                  # other columns of the key
driver: {name}
"""


def _suite(name: str) -> str:
    return f"""name: {name}
pipeline: {name}
expectations:
  - expect: expect_column_values_to_be_unique
    kwargs: {{column: hour}}
    description: One row per hour.
  - expect: expect_column_values_to_be_between
    kwargs: {{column: records, min_value: 1}}
    description: An hour without records has no row.
"""


def _transform(name: str, topic: TopicSpec) -> str:
    return f'''"""Records of {topic.name} per hour."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def {name}(records: DataFrame) -> DataFrame:
    """Count records in windows of one hour of `{topic.value.event_time}`.

    It runs as a stream and as a batch, so it must not read a clock, random numbers or files.
    """
    counted = records.groupBy(F.window("{topic.value.event_time}", "1 hour")).agg(F.count("*").alias("records"))
    return counted.select(F.col("window.start").alias("hour"), "records")
'''


def _test(name: str, topic: TopicSpec) -> str:
    lines = [json.dumps(sample_record(topic, _HOUR + timedelta(minutes=minutes))) for minutes in (20, 50, 65)]
    sample = "\n".join(lines)
    by_broker = topic.value.arrival_time == "broker"
    arrival = ", arrived_at=datetime(2026, 1, 1, 13, 10, tzinfo=UTC)" if by_broker else ""
    imports = "from datetime import UTC, datetime\n\n" if by_broker else ""
    return f'''"""The pipeline {name} on a few records, with the functions of the stream."""

{imports}from sluice.interactive.trial import trial

SAMPLE = """\\
{sample}
"""


def test_records_are_counted_by_the_hour() -> None:
    found = trial("{name}", SAMPLE.encode(){arrival})
    assert [line.outcome for line in found.lines] == ["good"] * 3
    assert [(row["hour"], row["records"]) for row in found.rows] == [
        ("2026-01-01T12:00:00Z", 2),
        ("2026-01-01T13:00:00Z", 1),
    ]
'''
