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
from sluice.contracts.resolution import unresolvable
from sluice.contracts.shapes import Json, Schema, canonical

JSON_SCHEMA, AVRO = ".json", ".avsc"
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
    schema: Schema | AvroSchema
    digest: str


def read_version(number: int, file: str, data: Mapping[str, Json]) -> Version:
    """Read a version.

    Raises:
        UnreadableSchemaError: it is wrong, or says what cannot be compared.
    """
    schema = read_avro(data) if file.endswith(AVRO) else read_json_schema(data)
    return Version(number, file, schema, digest(data))


def digest(data: Mapping[str, Json]) -> str:
    """Return the sha256 (hex) of what a file says."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def between(writer: Version, reader: Version) -> list[Breach]:
    """Return what keeps a reader of one version from reading what was written under another."""
    match writer.schema, reader.schema:
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
