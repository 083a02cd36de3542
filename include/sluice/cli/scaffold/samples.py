"""What a sample file says of a topic, whatever its format: its fields, and how bytes become them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sluice.cli.scaffold.declared import in_single_quotes, name_list, one_line
from sluice.cli.scaffold.schemas import SchemaDraft, avro_draft, is_avro_schema, protobuf_draft
from sluice.cli.scaffold.topics import WANTED_TIME, GuessedField, guess_fields, left_out_notes, sample_of
from sluice.errors import SpecError
from sluice.provisioning.importing.avro_file import MAGIC
from sluice.provisioning.importing.columns import DelimitedSample, read_delimited
from sluice.provisioning.importing.log_lines import ALWAYS, LineSample, is_old_syslog, read_log, read_matching
from sluice.provisioning.importing.sample import FieldSample, RecordSample
from sluice.provisioning.importing.texts import TextGuess, guess_of
from sluice.specs.model.model import FieldType, ValueField
from sluice.topics.declared_time import read_time

_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PROTO = re.compile(rb"\s*(syntax|edition)\s*=\s*[\"']")
_JSON = re.compile(rb"\s*(\{|\[\s*([\[{\"]|$))")
_LOOKED_AT = 100_000
"""Bytes at the beginning of a file in which a `.proto` file says its syntax."""


class SampleFormat(StrEnum):
    """What a sample is; the format of the topic's values."""

    JSON = "json"
    CSV = "csv"
    TEXT = "text"
    AVRO = "avro"
    PROTOBUF = "protobuf"


@dataclass(frozen=True)
class SampleChoices:
    """What the caller knows of a sample.

    Attributes:
        format: what it is; None: its content says it.
        pattern: of lines of text, the pattern that they match; empty: a well-known one.
        message: of Protobuf, the message that records are; empty: the only one.
        day_first: of dates such as 01/02/2026; None: the values say it.
    """

    format: SampleFormat | None = None
    pattern: str = ""
    message: str = ""
    day_first: bool | None = None


@dataclass(frozen=True)
class TopicDraft:
    """What a sample says of a topic.

    Attributes:
        fields: by name, in their order.
        form: the lines of the spec that say what a record's bytes are.
        left_out: what the spec does not hold, or holds otherwise than one might expect, in sentences.
        said: what else the caller should know, in sentences.
        records: statistics of the records; None of a schema.
        schema: the schema that all is taken from; None of a sample of records.
    """

    fields: Mapping[str, GuessedField]
    form: tuple[str, ...] = ("format: json",)
    left_out: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    records: RecordSample | None = None
    schema: SchemaDraft | None = None

    @property
    def time(self) -> str:
        """What a time is in such records, for messages."""
        return WANTED_TIME if self.schema is None else self.schema.time


def draft_of(topic: str, data: bytes, shown: str, choices: SampleChoices) -> TopicDraft:
    """Return what a sample says.

    Args:
        topic: the name of the topic.
        data: the file.
        shown: what messages call it; its ending counts, too.
        choices: what the caller knows of it.

    Raises:
        SpecError: it is no sample of the format, or of none; its message says what to pass instead.
    """
    kind = choices.format or _recognised(data, shown, choices)
    _refuse_useless(choices, kind)
    if kind is SampleFormat.AVRO:
        return _of_schema(avro_draft(topic, data, shown))
    if kind is SampleFormat.PROTOBUF:
        return _of_schema(protobuf_draft(topic, data, shown, choices.message))
    lines = _lines(data, shown)
    if kind is SampleFormat.JSON:
        seen = sample_of(lines)
        return TopicDraft(guess_fields(seen), left_out=tuple(left_out_notes(seen)), records=seen.records)
    return _of_lines(_decoded(lines, shown), choices, kind, bom=data.startswith(_BOM))


def _recognised(data: bytes, shown: str, choices: SampleChoices) -> SampleFormat | None:
    """Return the format that the file or the choices leave no doubt of; None of lines, which are compared first."""
    name = shown.removesuffix(".gz")
    if data.startswith(MAGIC) or name.endswith(".avsc") or is_avro_schema(data):
        return SampleFormat.AVRO
    if choices.message or name.endswith(".proto") or _PROTO.match(_COMMENT.sub(b"", data[:_LOOKED_AT])):
        return SampleFormat.PROTOBUF
    if choices.pattern:
        return SampleFormat.TEXT
    return SampleFormat.JSON if _JSON.match(data.removeprefix(_BOM)) else None


def _refuse_useless(choices: SampleChoices, kind: SampleFormat | None) -> None:
    """An option that would change nothing is meant otherwise than it is taken."""
    wrong = {
        "--pattern is for lines of text": bool(choices.pattern) and kind is not SampleFormat.TEXT,
        "--message is for Protobuf": bool(choices.message) and kind is not SampleFormat.PROTOBUF,
        "--day-first and --month-first are for columns and lines of text": (
            choices.day_first is not None and kind not in (None, SampleFormat.CSV, SampleFormat.TEXT)
        ),
    }
    if faults := [fault for fault, holds in wrong.items() if holds]:
        raise SpecError(f"{'; '.join(faults)}, and the sample is {kind or 'none'}.", fix="leave it out.")


def _lines(data: bytes, shown: str) -> list[bytes]:
    """Return the lines of a sample of text.

    Raises:
        SpecError: it is binary.
    """
    if data.startswith(_UTF_16):
        raise SpecError(f"{shown} is UTF-16, and records of text are UTF-8.", fix="save it as UTF-8.")
    if (at := data.find(b"\0")) >= 0:
        raise SpecError(
            f"{shown} is binary: byte {at + 1:,} is zero. Bare records of Avro or Protobuf do not say what is in them.",
            fix="pass their schema: the .avsc or .proto file, or an Avro container file. Of records with the id of a "
            "schema in front, `sluice contracts fetch` gets it from the registry.",
        )
    return [line.removesuffix(b"\r") for line in data.removesuffix(b"\n").split(b"\n")]


def _decoded(lines: Sequence[bytes], shown: str) -> list[str]:
    decoded = []
    for number, line in enumerate(lines, 1):
        try:
            decoded.append(line.decode())
        except UnicodeDecodeError as error:
            raise SpecError(
                f"line {number} of {shown} is not UTF-8 (byte {error.start + 1} of the line, "
                f"0x{line[error.start]:02x}), as records of text have to be.",
                fix="save it as UTF-8; or, if it holds a record of Avro or Protobuf, pass its schema: the .avsc or "
                ".proto file, or an Avro container file.",
            ) from None
    return [decoded[0].removeprefix(_BOM.decode()), *decoded[1:]]


def _of_lines(lines: list[str], choices: SampleChoices, kind: SampleFormat | None, *, bom: bool) -> TopicDraft:
    said = ("The file begins with a byte order mark, which no record must have.",) if bom else ()
    if kind is SampleFormat.TEXT and choices.pattern:
        return _of_log(read_matching(lines, choices.pattern), choices, said)
    if kind is not SampleFormat.CSV and (log := read_log(lines)) is not None:
        return _of_log(log, choices, said)
    columns = read_delimited(lines, forced=kind is SampleFormat.CSV) if kind is not SampleFormat.TEXT else None
    if columns is not None:
        return _of_columns(columns, choices, said)
    if not any(map(str.strip, lines)):
        raise SpecError("the sample has only empty lines.", fix="pass a file of records.")
    if is_old_syslog(lines):
        raise SpecError(
            "the sample is syslog of RFC 3164, whose times have no year, so they are no times of records.",
            fix="make the sender write RFC 5424, and pass lines of that.",
        )
    raise SpecError(
        "line 1 of the sample: it is no JSON, no header of columns with a delimiter, and no line of a well-known log.",
        fix="pass JSON lines, or columns with a header; of lines of a log pass --pattern with a group (?<name>...) for "
        "each field (`format: text` and a `pattern`: see `sluice docs specs`); of Avro or Protobuf the schema.",
    )


def _of_schema(draft: SchemaDraft) -> TopicDraft:
    return TopicDraft(draft.fields, draft.form, draft.left_out, draft.said, schema=draft)


def _of_columns(sample: DelimitedSample, choices: SampleChoices, said: tuple[str, ...]) -> TopicDraft:
    values = {name: sample.values(place) for place, name in enumerate(sample.columns)}
    fields, records = _fields(values, len(sample.rows), choices)
    form = ["format: csv"]
    if sample.delimiter != ",":
        form.append(f"delimiter: {one_line(sample.delimiter)}")
    form += name_list("columns", sample.columns)
    header = (
        "The first line of the sample is its header, and records of the topic have none: `sluice topics send` leaves "
        "it out with --skip 1."
    )
    notes = [*sample.notes, *_always_empty(values, "columns")]
    return _with_notes(fields, form, notes, (*said, header), records)


def _of_log(sample: LineSample, choices: SampleChoices, said: tuple[str, ...]) -> TopicDraft:
    values = {group: sample.values(group) for group in sample.groups}
    fields, records = _fields(values, len(sample.rows), choices, sample.texts)
    if sample.title:
        fields = {name: replace(each, required=each.required and name in ALWAYS) for name, each in fields.items()}
    form = ["format: text", f"pattern: {in_single_quotes(sample.pattern)}"]
    if sample.title:
        said = (f"The sample is read as {sample.title}.", *said)
    return _with_notes(fields, form, [*sample.notes, *_always_empty(values, "groups")], said, records)


def _with_notes(
    fields: Mapping[str, GuessedField],
    form: Sequence[str],
    notes: Sequence[str],
    said: tuple[str, ...],
    records: RecordSample,
) -> TopicDraft:
    further = tuple(f"{name}: {field.note}." for name, field in fields.items() if field.note)
    return TopicDraft(fields, tuple(form), tuple(f"{note}." for note in notes), (*said, *further), records)


def _always_empty(values: Mapping[str, Sequence[str]], noun: str) -> list[str]:
    empty = [name for name, texts in values.items() if not texts]
    return [f"{noun} that are no field, for they were always empty: {', '.join(empty)}"] if empty else []


def _fields(
    values: Mapping[str, Sequence[str]], count: int, choices: SampleChoices, texts: frozenset[str] = frozenset()
) -> tuple[dict[str, GuessedField], RecordSample]:
    """Return the fields of parts of lines, with the statistics that the records would have as JSON.

    Args:
        values: the texts of each part, by its name.
        count: how many lines there are.
        choices: of the caller.
        texts: the parts that are text whatever they hold.
    """
    fields: dict[str, GuessedField] = {}
    records = RecordSample(records=count, objects=count)
    for name, found in values.items():
        if not found:
            continue
        guess = TextGuess({"type": FieldType.STRING}) if name in texts else _guess(name, found, choices)
        kind, seen = FieldType(guess.declared["type"]), FieldSample()
        if kind is FieldType.TIMESTAMP:
            _count_times(seen, guess.declared, found)
        records.fields[name] = seen
        fields[name] = GuessedField(kind, len(found) == count, one_line(guess.declared), guess.note, seen.newest)
    return fields, records


def _guess(name: str, texts: Sequence[str], choices: SampleChoices) -> TextGuess:
    guess = guess_of(name, texts, day_first=choices.day_first)
    if not guess.open_order:
        return guess
    return TextGuess(guess.declared, f"{guess.note}; pass --day-first or --month-first", open_order=True)


def _count_times(seen: FieldSample, declared: Mapping[str, Any], texts: Sequence[str]) -> None:
    field = ValueField.model_validate(declared)
    for text in texts:
        at: datetime | None = read_time(int(text) if field.epoch else text, field)
        if at is not None:
            seen.add(at.astimezone(UTC).isoformat(), 0)
