"""What stands in the way of making the records of a topic: each field is tried, and then whole records are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from sluice.proof.generation.generator import RecordGenerator
from sluice.proof.generation.made import UnmadeError
from sluice.specs.model.model import TopicSpec

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_STEP, _LATENESS, _SKEW = timedelta(days=1), timedelta(hours=3), timedelta(hours=1)
_OF_A_FIELD, _OF_A_TOPIC = 12, 800
"""So many records are tried: enough for each way to break one, in each of the forms."""
COARSEST = timedelta(days=1)


def unmade_fields(topic: TopicSpec) -> dict[str, UnmadeError]:
    """Return the fields of which no content can be made, with the reason, by their names."""
    names = [name for name in topic.value.fields if name != topic.value.heartbeat]
    found = ((name, _of_field(topic, name)) for name in names)
    return {name: error for name, error in found if error is not None}


def left_out(topic: TopicSpec) -> frozenset[str]:
    """Return the fields that no record has: optional ones of which no content can be made."""
    return frozenset(name for name in unmade_fields(topic) if not _is_needed(topic, name))


def obstacles_in(topic: TopicSpec, *, is_live: bool = False) -> Iterator[tuple[str, str]]:
    """Yield why no records of a topic can be made, and what to do; nothing if they can.

    Args:
        topic: its spec.
        is_live: whether they happen when they are sent: several at the same time.
    """
    unmade = unmade_fields(topic)
    needed = {name: error for name, error in unmade.items() if _is_needed(topic, name)}
    for name, error in needed.items():
        yield f"the field {error.field or name} of {topic.name} {error.reason}.", error.fix
    if needed:
        return
    try:
        generator = _generator(topic, frozenset(unmade), breaks=True, is_live=is_live)
        if generator.tick >= COARSEST:
            yield (
                f"the times of {topic.name} are written by the day, and intervals are shorter.",
                "declare a form of the times in which hours are told apart.",
            )
            return
        values = [generator.record(number).value for number in range(_OF_A_TOPIC)]
    except UnmadeError as error:
        where = f"the field {error.field} of {topic.name}" if error.field else f"the topic {topic.name}"
        yield f"{where} {error.reason}.", error.fix
        return
    if len(set(values)) < len(values):
        yield (
            f"two records of {topic.name} would have the same bytes, and could not be told apart.",
            "add a required field with room for a number to the topic.",
        )


def _is_needed(topic: TopicSpec, name: str) -> bool:
    value = topic.value
    return value.fields[name].required or name in (value.event_time, value.arrival_time)


def _of_field(topic: TopicSpec, name: str) -> UnmadeError | None:
    """Return why nothing can be made of one field, beside the times that each record has; None if it can."""
    value = topic.value
    alone = {key: field for key, field in value.fields.items() if key in (name, value.event_time, value.arrival_time)}
    own = value.model_copy(update={"fields": alone, "event_id": None, "heartbeat": None})
    generator = _generator(topic.model_copy(update={"value": own}))
    try:
        for number in range(_OF_A_FIELD):
            generator.value(number)
    except UnmadeError as error:
        return error
    return None


def _generator(
    topic: TopicSpec, left_out: frozenset[str] = frozenset(), *, breaks: bool = False, is_live: bool = False
) -> RecordGenerator:
    now = (lambda: _BEGIN) if is_live else None
    return RecordGenerator(
        topic, _BEGIN, _STEP, lateness=_LATENESS, skew=_SKEW, breaks=breaks, now=now, left_out=left_out
    )
