"""The first spec of a topic, from a sample of its records or from nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.cli.scaffold.project import filled
from sluice.errors import SpecError
from sluice.provisioning.importing.proposal import arrival_among, form_of_field, left_out
from sluice.provisioning.importing.sample import Form, RecordSample
from sluice.specs.model.model import FieldType
from sluice.topics.json_object import NoObjectError, parse_object
from sluice.topics.records import Record

_OLD = timedelta(days=1)
"""Older records are historical data."""


@dataclass(frozen=True)
class GuessedField:
    """A field as a sample suggests it.

    Attributes:
        type: the narrowest type of all its values; a string if they are mixed, objects or lists.
        required: whether every record has a value other than null.
        declared: its declaration, such as `type: timestamp, epoch: seconds`; empty: only its type.
        note: a comment for the spec.
    """

    type: FieldType
    required: bool
    declared: str = ""
    note: str = ""


def sample_of(lines: Sequence[bytes]) -> RecordSample:
    """Return a sample of records with its fields.

    Raises:
        SpecError: a line is not a JSON object, or there is no line.
    """
    sample = RecordSample()
    for number, line in enumerate(lines, 1):
        try:
            parse_object(line)
        except NoObjectError as error:
            raise SpecError(f"line {number} of the sample: {error}.", fix="write one JSON object per line.") from error
        sample.add(Record(0, number, None, appended=False, key=None, value=line))
    if not lines:
        raise SpecError("the sample is empty.", fix="pass a file with one JSON object per line.")
    return sample


def guess_fields(sample: RecordSample) -> dict[str, GuessedField]:
    """Return the fields of a sample, in order, without those that `left_out` names."""
    guessed = {}
    for name, seen in sample.fields.items():
        if seen.type is not None:
            declared, note = form_of_field(sample, name)
            type_ = FieldType.TIMESTAMP if sample.unit(name) else seen.type
            guessed[name] = GuessedField(type_, sample.always(name), declared, note)
    return guessed


def left_out_notes(sample: RecordSample) -> list[str]:
    """Return a sentence for each part of a sample that the spec does not hold."""
    nested = [name for name, seen in sample.fields.items() if seen.forms[Form.NESTED]]
    notes = [f"{note}." for note in left_out(sample)]
    if nested:
        notes.append(
            f"objects and lists are kept as their JSON text: {', '.join(nested)}. A transform parses them with "
            f"F.get_json_object({nested[0]!r}, '$.name') or F.from_json."
        )
    return notes


def time_of(fields: Mapping[str, GuessedField], named: str = "") -> str:
    """Return the field of the event time or the arrival time.

    Args:
        fields: the fields of the topic.
        named: the choice of the caller; empty: the first required time.

    Raises:
        SpecError: there is no required time, or the named field is not one.
    """
    times = [name for name, field in fields.items() if field.type is FieldType.TIMESTAMP and field.required]
    if named and named not in times:
        raise SpecError(
            f"{named!r} is not a time in every record of the sample. Such fields: {', '.join(times) or 'none'}.",
            fix="choose one of these, or correct the sample.",
        )
    if not times:
        raise SpecError(
            "no field of the sample is a time in every record, and a topic needs one: ISO 8601 text, or a number "
            "since 1970 in a field that is named like a time (such as sent_at).",
            fix="make the producer write the time at which a record happened.",
        )
    return named or times[0]


def late_arrival_warning(
    sample: RecordSample, fields: Mapping[str, GuessedField], event: str, arrival: str, now: datetime
) -> str:
    """Return a warning if records would be late with the broker's arrival time (`arrival` is empty); else nothing."""
    newest = sample.fields[event].newest
    if arrival or newest is None or now - newest < _OLD:
        return ""
    others = [name for name, field in fields.items() if field.type is FieldType.TIMESTAMP and field.required]
    likely = arrival_among(sample, event, [name for name in others if name != event])
    proposed = likely or event
    return (
        f"The newest {event} of the sample is {newest:%Y-%m-%d %H:%M} UTC. With `arrival_time: broker` a record "
        f"arrives when it is sent, so all historical records would be late. To replay them, write `arrival_time: "
        f"{proposed}` (or pass --arrival-time {proposed})"
        + ("." if likely else "; it is the only time in every record, so nothing is ever late then.")
    )


def topic_text(
    name: str,
    fields: Mapping[str, GuessedField],
    event_time: str,
    *,
    arrival_time: str = "",
    partitions: int,
    owner: str,
) -> str:
    """Return the spec as YAML; without `arrival_time` it is the broker's time, and `owner` may be empty."""
    width = max(len(field) for field in fields)
    declared = "\n".join(f"    {field + ':':<{width + 1}} {_declared(guessed)}" for field, guessed in fields.items())
    return filled(
        "topic.yaml",
        name=name,
        owner=owner,
        partitions=partitions,
        event_time=event_time,
        arrival_time=arrival_time,
        declared=declared,
    )


def _declared(field: GuessedField) -> str:
    required = ", required: true" if field.required else ""
    note = f"   # {field.note}" if field.note else ""
    return f"{{{field.declared or f'type: {field.type.value}'}{required}}}{note}"
