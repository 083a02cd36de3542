"""What to say where old records are in a topic whose broker says when they arrive: all of them are late. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from sluice.quality.reasons import Outcome, Reason
from sluice.specs.model.model import FieldType, PipelineSpec, TopicSpec


def arrival_hint(topic: TopicSpec, outcomes: Mapping[Outcome, int], reasons: Mapping[Reason, int]) -> str:
    """Return the advice if most records of a topic are late or from the future; empty if they are not."""
    late, ahead, all_ = outcomes.get(Outcome.LATE, 0), reasons.get(Reason.FUTURE, 0), sum(outcomes.values())
    if topic.value.arrival_time != "broker" or 2 * (late + ahead) <= all_:
        return ""
    return f"{late + ahead:,} of {all_:,} records are late or from the future. {_advice(topic)}"


def sent_too_late(
    topic: TopicSpec, pipelines: Iterable[PipelineSpec], last_event: datetime | None, now: datetime
) -> str:
    """Return the advice if all records of a feed will be late because they arrive now; empty if they will not."""
    readers = [pipeline for pipeline in pipelines if topic.name in pipeline.topics]
    lateness = [reader.time_of(topic.name).allowed_lateness for reader in readers]
    if topic.value.arrival_time != "broker" or last_event is None or not lateness or now - last_event <= min(lateness):
        return ""
    warning = f"The newest of these records happened at {last_event:%Y-%m-%d %H:%M} UTC, so each will be late."
    return f"{warning} {_advice(topic)}"


def _advice(topic: TopicSpec) -> str:
    value = topic.value
    times = [name for name, field in value.fields.items() if field.type is FieldType.TIMESTAMP and field.required]
    others = [name for name in times if name != value.event_time]
    proposed = others[0] if others else value.event_time
    rest = "which says when each became known" if others else "then none is ever late"
    return (
        f"With `arrival_time: broker` a record arrives when it is sent. To replay old ones, write "
        f"`arrival_time: {proposed}` in include/topics/{topic.name}.yaml, {rest}."
    )
