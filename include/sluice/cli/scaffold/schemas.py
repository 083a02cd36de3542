"""What the schema of records says of a topic: the declaration of Avro and Protobuf, and their contract. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sluice.cli.scaffold.declared import WIDEST, in_block, one_line
from sluice.cli.scaffold.topics import GuessedField
from sluice.contracts.avro import read_avro
from sluice.contracts.breach import UnreadableSchemaError
from sluice.contracts.contract import AVRO, PROTOBUF
from sluice.errors import SpecError
from sluice.provisioning.importing.avro_fields import fields_of_avro
from sluice.provisioning.importing.avro_file import MAGIC, schema_of_file
from sluice.provisioning.importing.schema_fields import SchemaField, SchemaSample
from sluice.specs.model.model import FieldType
from sluice.specs.reading.document import MAX_BYTES, parse_document
from sluice.specs.reading.faults import Fault, SpecFaults, dotted
from sluice.specs.rules.contracts import FOLDER
from sluice.topics.json_object import NoObjectError, parse_object
from sluice.topics.printable import printable_bytes

_INSTEAD = "bare records do not say what is in them; pass their schema"
_COLUMN, _SHOWN_BYTES = 30, 150


@dataclass(frozen=True)
class SchemaDraft:
    """What a schema says of a topic.

    Attributes:
        fields: by name, in their order.
        form: the lines of the spec that say what a record's bytes are.
        left_out: what cannot be declared and why, in sentences.
        said: what else the caller should know, in sentences.
        file: the name of the contract's first version, such as `1.avsc`.
        content: of that file.
        time: what a time is under such a schema, for messages.
    """

    fields: Mapping[str, GuessedField]
    form: tuple[str, ...]
    left_out: tuple[str, ...]
    said: tuple[str, ...]
    file: str
    content: bytes
    time: str


def is_avro_schema(data: bytes) -> bool:
    """Whether a document is the Avro schema of a record; records of that form are no samples that one would take."""
    if len(data) > MAX_BYTES or not data.lstrip().startswith(b"{"):
        return False
    try:
        found = parse_object(data)
    except NoObjectError:
        return False
    fields = found.get("fields")
    return (
        found.get("type") in ("record", "error")
        and isinstance(found.get("name"), str)
        and isinstance(fields, list)
        and all(isinstance(each, dict) and "name" in each and "type" in each for each in fields)
    )


def avro_draft(topic: str, data: bytes, shown: str) -> SchemaDraft:
    """Return what an Avro schema, or the one in a container file, says.

    Args:
        topic: the name of the topic.
        data: the file.
        shown: what messages call it.

    Raises:
        SpecError: it is none, or wrong.
    """
    content, said = data, tuple[str, ...]((_FRAMES,))
    if data.startswith(MAGIC):
        try:
            content = json.dumps(parse_object(schema_of_file(data)), indent=2, ensure_ascii=False).encode() + b"\n"
        except ValueError as error:
            raise SpecError(
                f"{shown} is a damaged Avro file: {error}.", fix="write it again, or pass a .avsc."
            ) from None
        said = (_OF_FILE, _FRAMES)
    _refuse_large_schema(content, shown)
    try:
        schema = read_avro(parse_object(content))
        found = fields_of_avro(schema)
    except NoObjectError as error:
        fix = f"pass a .avsc file with the schema of a record, or an Avro container file; {_INSTEAD}."
        raise SpecError(f"{shown} is no Avro schema: {error}.", fix=fix) from None
    except UnreadableSchemaError as error:
        line = parse_document(content, shown).line_of(error.loc)
        message = printable_bytes(error.message.encode(), _SHOWN_BYTES)  # it may quote all of a file
        raise SpecFaults([Fault(shown, line, dotted(error.loc), message, error.fix)]) from None
    file = f"1{AVRO}"
    form = ("format: avro", _version(topic, file))
    time = "a `long` with the logicalType timestamp-millis or timestamp-micros"
    return _draft(found, form, said, (file, content), time)


def protobuf_draft(topic: str, data: bytes, shown: str, message: str) -> SchemaDraft:
    """Return what a `.proto` file says.

    Args:
        topic: the name of the topic.
        data: the file.
        shown: what messages call it.
        message: the message that records are; empty: the only one.

    Raises:
        SpecError: it is none, or wrong, or has no such message.
    """
    from sluice.contracts.protoc import BrokenProtobufError, read_protobuf  # noqa: PLC0415 - only Protobuf needs it
    from sluice.provisioning.importing.protobuf_fields import fields_of_protobuf, message_of  # noqa: PLC0415

    _refuse_large_schema(data, shown)
    try:
        schema = read_protobuf(data.decode())
    except UnicodeDecodeError:
        raise SpecError(f"{shown} is no text.", fix=f"pass a .proto file; {_INSTEAD}.") from None
    except BrokenProtobufError as broken:
        raise SpecFaults(Fault(shown, each.line, "", each.message, each.fix) for each in broken.faults) from None
    root = message_of(schema, message)
    found = fields_of_protobuf(schema, root)
    file = f"1{PROTOBUF}"
    short = root.name.rpartition(".")[2]
    named = short if schema.root(short) == root else root.name
    form = ("format: protobuf", f"message: {named}", _version(topic, file))
    return _draft(found, form, (_FRAMES,), (file, data), "a google.protobuf.Timestamp")


_OF_FILE = "The schema is that of the file; its records were not read, and a topic holds them one by one."
_FRAMES = (
    "If records have the id of a schema in front (Confluent's frames), write `framing: confluent` and "
    "`schemas: {<id>: 1}` instead of `version: 1`."
)


def _version(topic: str, file: str) -> str:
    return f"{'version: 1':<{_COLUMN - 2}}# of include/{FOLDER}/{topic}/{file}"


def _refuse_large_schema(content: bytes, shown: str) -> None:
    if len(content) > MAX_BYTES:
        raise SpecError(f"the schema in {shown} is larger than {MAX_BYTES // 1024} KiB.", fix="take a smaller one.")


def _draft(
    found: SchemaSample, form: tuple[str, ...], said: tuple[str, ...], file: tuple[str, bytes], time: str
) -> SchemaDraft:
    fields = {name: _guessed(each) for name, each in found.fields.items()}
    left_out = tuple(f"{note}." for note in found.notes)
    return SchemaDraft(fields, form, left_out, said, *file, time)


def _guessed(field: SchemaField) -> GuessedField:
    declared = {key: said for key, said in field.declared.items() if key != "required"}
    line, required = one_line(declared), "required" in field.declared
    block = tuple(in_block(field.declared)) if len(line) > WIDEST - 20 else ()
    kind = FieldType(field.declared["type"])
    return GuessedField(kind, required, line, field.note, block=block, may_be_time=field.may_be_time)
