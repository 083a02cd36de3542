"""A topic's first spec, from a few of its records or from nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.errors import SpecError
from sluice.provisioning.importing.proposal import arrival_among, form_of_field, left_out
from sluice.provisioning.importing.sample import Form, RecordSample
from sluice.specs.model.model import FieldType
from sluice.topics.json_object import NoObjectError, parse_object
from sluice.topics.records import Record

_OLD = timedelta(days=1)
"""Records that happened longer ago come from a file of the past."""


@dataclass(frozen=True)
class GuessedField:
    """What a sample tells of a field.

    Attributes:
        type: the narrowest that all its values have; text if they have several, or are objects or lists.
        required: whether every record has it, and not as null.
        declared: how it is declared, such as `type: timestamp, epoch: seconds`; empty: by its type only.
        note: what is to be known of it.
    """

    type: FieldType
    required: bool
    declared: str = ""
    note: str = ""


def sample_of(lines: Sequence[bytes]) -> RecordSample:
    """Return what the lines of a sample look like.

    Raises:
        SpecError: a line is no JSON object, or there is no line.
    """
    sample = RecordSample()
    for number, line in enumerate(lines, 1):
        try:
            parse_object(line)
        except NoObjectError as error:
            raise SpecError(f"line {number} of the sample: {error}.", fix="write one JSON object per line.") from error
        sample.add(Record(0, number, None, appended=False, key=None, value=line))
    if not lines:
        raise SpecError("the sample has no line.", fix="give a file with one JSON object per line.")
    return sample


def guess_fields(sample: RecordSample) -> dict[str, GuessedField]:
    """Return the fields of a sample, in the order in which they come; what cannot be one `left_out` names."""
    found = {}
    for name, seen in sample.fields.items():
        if seen.type is not None:
            declared, note = form_of_field(sample, name)
            type_ = FieldType.TIMESTAMP if sample.unit(name) else seen.type
            found[name] = GuessedField(type_, sample.always(name), declared, note)
    return found


def without_field(sample: RecordSample) -> list[str]:
    """Return what of a sample is in no field of the spec, in sentences."""
    nested = [name for name, seen in sample.fields.items() if seen.forms[Form.NESTED]]
    notes = [f"{note}." for note in left_out(sample)]
    if nested:
        notes.append(
            f"objects and lists are kept as their JSON text: {', '.join(nested)}. A transform reads what is in them by "
            f"F.get_json_object({nested[0]!r}, '$.name') or F.from_json."
        )
    return notes


def time_of(fields: Mapping[str, GuessedField], named: str = "") -> str:
    """Return a field that says when a record happened, or became known.

    Args:
        fields: of the topic.
        named: by the caller; empty: the first required time.

    Raises:
        SpecError: there is none, or the named one is no required time.
    """
    times = [name for name, field in fields.items() if field.type is FieldType.TIMESTAMP and field.required]
    if named and named not in times:
        raise SpecError(
            f"{named!r} is no time that every record of the sample has; these are: {', '.join(times) or 'none'}.",
            fix="name one of these, or mend the sample.",
        )
    if not times:
        raise SpecError(
            "no field of the sample is a time in every record, and a topic needs one: text in ISO 8601, or a number "
            "since 1970 in a field that is named like a time (such as sent_at).",
            fix="let the producer say when a record happened.",
        )
    return named or times[0]


def old_times(sample: RecordSample, fields: Mapping[str, GuessedField], event: str, arrival: str, now: datetime) -> str:
    """Say that a sample of old records and an arrival time by the broker do not go together; empty if they do.

    Args:
        sample: what was read.
        fields: of the topic.
        event: the field that says when a record happened.
        arrival: the field that says when it became known; empty: the broker says it.
        now: the current time (UTC).
    """
    newest = sample.fields[event].newest
    if arrival or newest is None or now - newest < _OLD:
        return ""
    others = [name for name, field in fields.items() if field.type is FieldType.TIMESTAMP and field.required]
    likely = arrival_among(sample, event, [name for name in others if name != event])
    proposed = likely or event
    return (
        f"The newest {event} of the sample is {newest:%Y-%m-%d %H:%M} UTC, and with `arrival_time: broker` a record "
        f"arrives when it is sent: every record of a file of the past would be late. Write `arrival_time: {proposed}` "
        f"(or give --arrival-time {proposed}) if these are to be replayed"
        + ("." if likely else "; no other time is in every record, so nothing is ever late then.")
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
    """Return the spec as YAML.

    Args:
        name: of the topic.
        fields: of its value.
        event_time: the field that says when a record happened.
        arrival_time: the field that says when it became known; empty: the broker says it.
        partitions: how many.
        owner: who answers for it; empty for nobody yet.
    """
    width = max(len(field) for field in fields)
    declared = "\n".join(f"    {field + ':':<{width + 1}} {_declared(found)}" for field, found in fields.items())
    broker = "" if arrival_time else _BROKER
    by = f"owner: {owner}\n" if owner else ""
    return f"""name: {name}
description: What a record of this topic says, in one sentence.
{by}partitions: {partitions}
retention: 7 days
{broker}value:
  format: json
  event_time: {event_time}
  arrival_time: {arrival_time or "broker"}
  fields:                     # what is not declared here stays in the raw bytes
{declared}
raw:
  table: {name}_raw           # every record, once
  driver: {name}              # streams of one driver share a process
"""


_BROKER = "configs: {message.timestamp.type: LogAppendTime}   # the broker says when a record came\n"


def _declared(field: GuessedField) -> str:
    required = ", required: true" if field.required else ""
    note = f"   # {field.note}" if field.note else ""
    return f"{{{field.declared or f'type: {field.type.value}'}{required}}}{note}"
