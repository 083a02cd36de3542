"""The first spec of a topic, from a sample of its records or from nothing. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from sluice.cli.scaffold.project import filled
from sluice.errors import SpecError
from sluice.provisioning.importing.nested import NestedSample, declared_as, named, with_path
from sluice.provisioning.importing.proposal import arrival_among, plain_or_quoted
from sluice.provisioning.importing.proposal import left_out as left_out_of
from sluice.provisioning.importing.sample import RecordSample
from sluice.specs.model.model import FieldType
from sluice.topics.json_object import NoObjectError, parse_object
from sluice.topics.records import Record

_TEXT_FIX = (
    "; lines of a log are declared with `format: text` and a `pattern`, columns with `format: csv`: see "
    "`sluice docs specs`."
)
_WIDEST = 110
"""Characters of a line of YAML with its comment."""
_OLD = timedelta(days=1)
"""Older records are historical data."""


@dataclass(frozen=True)
class GuessedField:
    """A field as a sample suggests it.

    Attributes:
        type: the narrowest type of all its values; a string if they are mixed.
        required: whether every record has a value other than null.
        declared: its declaration, such as `type: timestamp, epoch: seconds`; empty: only its type.
        note: a comment for the spec.
        newest: the latest of its times, if it is one.
        block: its declaration in lines of YAML, where one line would be too long; empty: `declared`.
        may_be_time: whether it may be the time of a record though it is not required.
    """

    type: FieldType
    required: bool
    declared: str = ""
    note: str = ""
    newest: datetime | None = None
    block: tuple[str, ...] = ()
    may_be_time: bool = False


@dataclass(frozen=True)
class TopicSample:
    """The records of a sample: their fields as `topics import` sees them, and what is inside them.

    Attributes:
        records: the statistics of the records.
        inside: all keys of the records, with what is below them.
    """

    records: RecordSample
    inside: NestedSample


def sample_of(lines: Sequence[bytes]) -> TopicSample:
    """Return a sample of records with its fields.

    Raises:
        SpecError: a line is not a JSON object, or there is no line.
    """
    sample, inside = RecordSample(), NestedSample()
    for number, line in enumerate(lines, 1):
        try:
            inside.add(parse_object(line))
        except NoObjectError as error:
            fix = "write one JSON object per line."
            if number == 1 and not line.lstrip().startswith(b"{"):
                fix = f"{fix.removesuffix('.')}{_TEXT_FIX}"
            raise SpecError(f"line {number} of the sample: {error}.", fix=fix) from error
        sample.add(Record(0, number, None, appended=False, key=None, value=line))
    if not lines:
        raise SpecError("the sample is empty.", fix="pass a file with one JSON object per line.")
    return TopicSample(sample, inside)


def guess_fields(sample: TopicSample) -> dict[str, GuessedField]:
    """Return the fields of a sample, in order, without those that `left_out_notes` names."""
    guessed = {}
    for name, path, part in _named(sample):
        if part.seen.present:
            declared, notes = declared_as(part, name)
            kind = FieldType(declared.partition(",")[0].removeprefix("type: "))
            note = "; ".join(note.removeprefix(f"{name}: ") for note in notes)
            required = part.seen.present == sample.inside.objects
            guessed[name] = GuessedField(kind, required, with_path(declared, path), note, part.seen.newest)
    return guessed


def left_out_notes(sample: TopicSample) -> list[str]:
    """Return a sentence for each part of a sample that the spec does not hold, or holds as text."""
    names = {path[2:] if path.startswith("$.") else path[3:-2] for _, path, _ in _named(sample) if path}
    others = replace(sample.records, others=sample.records.others - names)
    notes = [f"{note}." for note in left_out_of(others)]
    for name, _, part in _named(sample):
        if part.seen.present:
            notes += [f"{note}." for note in declared_as(part, name)[1] if _is_loss(note)]
    return notes


def _is_loss(note: str) -> bool:
    return "kept as JSON text" in note or "left out" in note


def _named(sample: TopicSample) -> Iterator[tuple[str, str, NestedSample]]:
    """Yield the fields by their names and paths; keys that cannot have one are left out."""
    known = sample.inside.inside
    taken = {key for key in known if key in sample.records.fields}
    for key, part in known.items():
        if (found := named(key, taken)) is not None:
            taken.add(found[0])
            yield *found, part


WANTED_TIME = "ISO 8601 text, or a number since 1970 in a field that is named like a time (such as sent_at)"
"""What a time is in records of JSON, and in lines of text."""


def time_of(fields: Mapping[str, GuessedField], named: str = "", *, wanted: str = WANTED_TIME) -> str:
    """Return the field of the event time or the arrival time.

    Args:
        fields: the fields of the topic.
        named: the choice of the caller; empty: the first required time, or else the first that may be absent.
        wanted: what a time is in records of this kind, for a message.

    Raises:
        SpecError: there is no required time, or the named field is not one.
    """
    stamps = {name: field for name, field in fields.items() if field.type is FieldType.TIMESTAMP}
    times = [name for name, field in stamps.items() if field.required]
    times += [name for name, field in stamps.items() if field.may_be_time and not field.required]
    if named and named not in times:
        raise SpecError(
            f"{named!r} is not a time in every record of the sample. Such fields: {', '.join(times) or 'none'}.",
            fix="choose one of these, or correct the sample.",
        )
    if not times:
        near = [f"{name} ({each.note})" for name, each in fields.items() if each.note and each.type is FieldType.STRING]
        raise SpecError(
            f"no field of the sample is a time in every record, and a topic needs one: {wanted}."
            + (f" What else was found: {'; '.join(near)}." if near and not stamps else ""),
            fix="make the producer write the time at which a record happened.",
        )
    return named or times[0]


def late_arrival_warning(
    sample: RecordSample, fields: Mapping[str, GuessedField], event: str, arrival: str, now: datetime
) -> str:
    """Return a warning if records would be late with the broker's arrival time (`arrival` is empty); else nothing."""
    newest = fields[event].newest
    if arrival or newest is None or now - newest < _OLD:
        return ""
    others = [name for name, field in fields.items() if field.type is FieldType.TIMESTAMP and field.required]
    flat = [name for name in others if name != event and name in sample.fields]
    likely = arrival_among(sample, event, flat)
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
    left_out: Sequence[str] = (),
    form: Sequence[str] = ("format: json",),
) -> str:
    """Return the spec as YAML; without `arrival_time` it is the broker's time, and `owner` may be empty.

    What is left out is said in comments behind the fields. `form` are the lines that say what a record's bytes are.
    """
    width = max((len(plain_or_quoted(field)) for field, guessed in fields.items() if not guessed.block), default=0)
    declared = [line for field, guessed in fields.items() for line in _declared(plain_or_quoted(field), guessed, width)]
    return filled(
        "topic.yaml",
        name=plain_or_quoted(name),
        raw=f"{name}_raw",
        owner=owner,
        partitions=partitions,
        event_time=plain_or_quoted(event_time),
        arrival_time=plain_or_quoted(arrival_time) if arrival_time else "",
        form="\n".join(f"  {line}" for line in form),
        declared="\n".join([*declared, *chain.from_iterable(map(_comment, left_out))]),
    )


def _declared(name: str, field: GuessedField, width: int) -> Iterator[str]:
    required = ", required: true" if field.required else ""
    line = f"    {name + ':':<{width + 1}} {{{field.declared or f'type: {field.type.value}'}{required}}}"
    first, *further = [f"    {name}:", *(f"      {part}" for part in field.block)] if field.block else [line]
    if field.note and len(first) + len(field.note) > _WIDEST:
        yield f"    # {name}: {field.note}"
        yield first
    else:
        yield f"{first}   # {field.note}" if field.note else first
    yield from further


def _comment(note: str) -> list[str]:
    return textwrap.wrap(
        note,
        _WIDEST,
        initial_indent="    # ",
        subsequent_indent="    #   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
