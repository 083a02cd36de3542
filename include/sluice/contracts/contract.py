"""A contract: the versions of what a topic's producers promise to send, as they lie in `include/schemas/<topic>/`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sluice.contracts.avro import AvroSchema, read_avro
from sluice.contracts.breach import Breach
from sluice.contracts.containment import breaches
from sluice.contracts.json_schema import read_json_schema
from sluice.contracts.protobuf import ProtobufSchema
from sluice.contracts.protobuf_compatibility import unreadable
from sluice.contracts.resolution import unresolvable
from sluice.contracts.shapes import Json, Schema, canonical

JSON_SCHEMA, AVRO, PROTOBUF = ".json", ".avsc", ".proto"
"""How the files of a version end."""


@dataclass(frozen=True)
class Version:
    """One version of a contract.

    Attributes:
        number: counted from 1.
        file: for people, relative to the project.
        schema: what it says.
        digest: of its meaning; layout does not count.
    """

    number: int
    file: str
    schema: Schema | AvroSchema | ProtobufSchema
    digest: str


def read_version(number: int, file: str, data: Mapping[str, Json] | str) -> Version:
    """Read a version.

    Args:
        number: of the version.
        file: for people; its ending says which language it is.
        data: what the file holds; of Protobuf its text.

    Raises:
        UnreadableSchemaError: it is wrong, or says what cannot be compared.
        BrokenProtobufError: it is no Protobuf.
    """
    if isinstance(data, str):
        from sluice.contracts.protoc import read_protobuf  # noqa: PLC0415 - only Protobuf needs the compiler

        protobuf = read_protobuf(data)
        return Version(number, file, protobuf, digest(protobuf.all_meaning))
    schema = read_avro(data) if file.endswith(AVRO) else read_json_schema(data)
    return Version(number, file, schema, digest(data))


def digest(data: Mapping[str, Json]) -> str:
    """Return the sha256 (hex) of what a file says; of Protobuf see `ProtobufSchema.all_meaning`."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def between(writer: Version, reader: Version, message: str | None = None) -> list[Breach]:
    """Return what keeps a reader of one version from reading what was written under another.

    Args:
        writer: the version that records are written under.
        reader: the version that they are read under.
        message: of Protobuf, the message that records are; None: the only one of the file.
    """
    match writer.schema, reader.schema:
        case (ProtobufSchema(), ProtobufSchema()):
            return unreadable(writer.schema, reader.schema, message)
        case (AvroSchema(), AvroSchema()):
            return unresolvable(writer.schema, reader.schema)
        case (tuple(), tuple()):
            return list(breaches(writer.schema, reader.schema))
        case _:
            fix = "continue in the language of the earlier versions, or create another topic."
            return [Breach("", "is written in another schema language, and nothing says how they go together", fix)]


def written(published: Iterable[Version]) -> str:
    """Return the text of the file that keeps which versions are published."""
    lines = {str(version.number): version.digest for version in published}
    return json.dumps(lines, indent=2) + "\n"
