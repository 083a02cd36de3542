"""The first spec, transform, suite and test of a pipeline that counts the records of each hour. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sluice.cli.scaffold.project import filled
from sluice.specs.model.model import FieldType, TopicSpec, ValueField
from sluice.topics.declared_time import write_time

_HOUR = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The hour of the test's records."""


def pipeline_files(name: str, topic: TopicSpec, *, owner: str, sql: bool = False) -> Mapping[str, str]:
    """Return the texts of the files of a pipeline, by path in the project; its transform and table have its name.

    Args:
        name: of the pipeline.
        topic: that it reads.
        owner: of the pipeline.
        sql: whether the transform is a SELECT, and no function.
    """
    sample = "\n".join(json.dumps(sample_record(topic, _HOUR + timedelta(minutes=m))) for m in (20, 50, 65))
    transform = "transform.sql" if sql else "transform.py"
    by_broker = topic.value.arrival_time == "broker"
    return {
        f"include/pipelines/{name}.yaml": filled("pipeline.yaml", name=name, topic=topic, owner=owner, sql=sql),
        f"include/expectations/{name}.yaml": filled("suite.yaml", name=name),
        f"spark_jobs/transforms/{name}{Path(transform).suffix}": filled(transform, name=name, topic=topic),
        f"tests/pipelines/test_{name}.py": filled("test.py", name=name, sample=sample, by_broker=by_broker),
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
