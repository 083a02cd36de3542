"""The first spec, transform, suite and test of a pipeline that counts the records of each hour. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sluice.cli.scaffold.project import filled
from sluice.specs.model.fields import NUMBERS
from sluice.specs.model.model import FieldType, TopicSpec, ValueField
from sluice.topics.declared_time import write_time
from sluice.values.delimited import join_line
from sluice.values.paths import put_at

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
    sample = "\n".join(_sample_value(topic, _HOUR + timedelta(minutes=m)) for m in (20, 50, 65))
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
    fields = {name: field for name, field in topic.value.fields.items() if name != topic.value.heartbeat}
    return _object(fields, at)


def _object(fields: Mapping[str, ValueField], at: datetime) -> dict[str, object]:
    record: dict[str, object] = {}
    # A field that holds a whole object comes first: others reach into it by their paths.
    for name, field in sorted(fields.items(), key=lambda pair: len(pair[1].keys(pair[0]))):
        try:
            put_at(record, field.keys(name), _example(field, at))
        except TypeError:  # another field has what it passes through as text
            continue
    return record


def _sample_value(topic: TopicSpec, at: datetime) -> str:
    """Return a valid value; of a pattern no line can be made, so the test says that one has to be written."""
    value = topic.value
    if value.format == "text":
        return "replace this by a line as the topic's pattern has it"
    if value.line_fields is None:
        return json.dumps(sample_record(topic, at))
    record = sample_record(topic, at)
    columns = [_as_text(record[name]) if name in record else None for name in value.line_fields]
    return join_line(columns, value.delimiter or ",")


def _as_text(value: object) -> str:
    """Return a value as a line has it: Python writes truths otherwise."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _example(field: ValueField, at: datetime) -> object:
    if field.type in NUMBERS:
        return _number(field)
    if field.parts:
        return _nested(field, at)
    flat: Mapping[FieldType, object] = {
        FieldType.STRING: field.one_of[0] if field.one_of else "a",
        FieldType.BOOLEAN: False,
        FieldType.TIMESTAMP: write_time(at, field),
        FieldType.DATE: write_time(at, field) if field.format else f"{at:%Y-%m-%d}",
        FieldType.BINARY: "AA==",
    }
    return flat[field.type]


def _nested(field: ValueField, at: datetime) -> object:
    if field.items is not None:
        return [_example(field.items, at)]
    return {"a": _example(field.values, at)} if field.values is not None else _object(field.fields or {}, at)


def _number(field: ValueField) -> float:
    low = field.minimum if field.minimum is not None else min(1.0, field.maximum if field.maximum is not None else 1.0)
    return low if field.type is FieldType.DOUBLE else int(low)
