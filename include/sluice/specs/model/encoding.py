"""How a topic's values are written: JSON, Avro, Protobuf or lines of text, bare or framed, under which schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    SkipValidation,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from sluice.contracts.breach import Loc
from sluice.contracts.contract import AVRO, JSON_SCHEMA, PROTOBUF
from sluice.specs.model.spec import Name, Spec
from sluice.values.line_pattern import line_pattern

MAX_IDS = 1_000
LINES = ("text", "csv")
"""Formats whose values are lines of text."""
UNDER_SCHEMAS = ("avro", "protobuf")
"""Formats whose values are read under the schema that they were written with."""
_LAST_OF_16_BITS = 0xFFFF
_FORMAT_OF = {"pattern": "text", "delimiter": "csv", "columns": "csv", "message": "protobuf"}
"""The format of each key that only one format has; it is left out of what is written where it is omitted."""
_MESSAGE = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$"
_IN_WORDS = {"json": "JSON", "avro": "Avro", "protobuf": "Protobuf"}
_ENDINGS = {"avro": AVRO, "protobuf": PROTOBUF}


class Encoding(Spec):
    """What the bytes of a value are."""

    format: Literal["json", "avro", "protobuf", "text", "csv"] = "json"
    pattern: str | None = Field(default=None, min_length=1, max_length=10_000)
    """Of text: the regular expression that a whole line matches, with a group `(?<name>...)` for each field."""
    delimiter: str | None = None
    """Of CSV: the one character between columns. Omitted: a comma."""
    columns: tuple[Name, ...] | None = Field(default=None, min_length=1)
    """Of CSV: all columns in their order, also those that are no field. Omitted: the fields in theirs."""
    message: Annotated[str, StringConstraints(pattern=_MESSAGE)] | None = None
    """Of Protobuf: the message that a value is, with or without its package. Omitted: the only one of the file."""
    framing: Literal["none", "confluent"] = "none"
    """`confluent`: before the value stand a zero and the id of a schema in a registry, in four bytes; of Protobuf the
    place of the message in its file, too."""
    version: int | None = Field(default=None, ge=1)
    """The version of the contract that every record is written under; of Avro and Protobuf without framing."""
    schemas: dict[Annotated[int, Field(ge=0, lt=1 << 31)], Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict, max_length=MAX_IDS
    )
    """With framing: the version of the contract that each id of the registry stands for. A record with another id is
    quarantined as `unknown_schema`."""
    written: SkipJsonSchema[Annotated[Mapping[int, str], SkipValidation]] = Field(default_factory=dict)
    """Not for specs: the text of each Avro schema, and of Protobuf what the message's bytes mean, by the version; the
    loader reads it from the contract."""

    @field_validator(*_FORMAT_OF)
    @classmethod
    def _key_is_of_the_format(cls, said: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - of any key
        wanted = _FORMAT_OF[info.field_name or ""]
        if said is not None and info.data.get("format") not in (None, wanted):
            raise ValueError(f"only of `format: {wanted}`; write that, or remove it")
        return said

    @field_validator("pattern")
    @classmethod
    def _pattern_is_read_alike(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            line_pattern(pattern)
        return pattern

    @field_validator("delimiter")
    @classmethod
    def _delimiter_is_a_character(cls, delimiter: str | None) -> str | None:
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or ord(delimiter) > _LAST_OF_16_BITS):
            raise ValueError('a delimiter is one character, and no quote or line end; a tab is written "\\t"')
        return delimiter

    @field_validator("columns")
    @classmethod
    def _columns_are_told_apart(cls, columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if columns is not None and len(set(columns)) < len(columns):
            raise ValueError("a column is in it twice")
        return columns

    @model_serializer(mode="wrap")
    def _as_before(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out keys that are omitted: other values mean what they did before these existed."""
        written: dict[str, Any] = handler(self)
        return {key: said for key, said in written.items() if said is not None or key not in _FORMAT_OF}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if fault := self._fault():
            raise ValueError(fault)
        return self

    def _fault(self) -> str:
        framed, one = self.framing == "confluent", self.version is not None
        words = _IN_WORDS.get(self.format, "a line of text")
        faults = {
            "`written` is no key of a spec; name versions of the contract": bool(self.written),
            "the framing is confluent, and `schemas` names no id; write `schemas: {<id>: <version>}`": (
                framed and not self.schemas
            ),
            "each id has a version of its own; remove `version`": framed and one,
            "`schemas` are ids in the frames of values, and there is no framing; write `framing: confluent`": (
                not framed and bool(self.schemas)
            ),
            f"nothing in {words} says under which schema it was written; write `version`, or `framing: confluent`": (
                not framed and not one and self.format in UNDER_SCHEMAS
            ),
            f"{words} is read without a schema; remove `version`": (
                not framed and one and self.format not in UNDER_SCHEMAS
            ),
            "lines of text have no frames; remove `framing`": framed and self.format in LINES,
            "the format is text, and nothing says what is in a line; write `pattern` with a group for each field": (
                self.format == "text" and self.pattern is None
            ),
        }
        return next((fault for fault, holds in faults.items() if holds), "")

    @property
    def versions(self) -> Mapping[Loc, int]:
        """The versions of the contract that it names, by where it names them."""
        named: dict[Loc, int] = {("schemas", str(key)): version for key, version in self.schemas.items()}
        if self.version is not None:
            named["version",] = self.version
        return named

    def contract_file(self, folder: Path, version: int) -> Path:
        """Return the file of a version."""
        return folder / f"{version}{_ENDINGS.get(self.format, JSON_SCHEMA)}"

    def missing(self, folder: Path) -> Iterator[tuple[Loc, str]]:
        """Yield which versions are not there: where they are named, and the name of their file.

        Args:
            folder: of the topic's contract.
        """
        for loc, version in self.versions.items():
            file = self.contract_file(folder, version)
            if not file.is_file():
                yield loc, file.name

    def with_schemas(self, folder: Path) -> Self:
        """Return it with the schemas that it names; those that are not there, or cannot be read, are left out."""
        if self.format not in UNDER_SCHEMAS:
            return self
        files = {version: self.contract_file(folder, version) for version in sorted(set(self.versions.values()))}
        texts = {
            version: file.read_text("utf-8", errors="replace") for version, file in files.items() if file.is_file()
        }
        if self.format == "protobuf":
            layouts = {version: self._layout(text) for version, text in texts.items()}
            texts = {version: layout for version, layout in layouts.items() if layout is not None}
        return self.model_copy(update={"written": texts})

    def _layout(self, text: str) -> str | None:
        from sluice.contracts.protoc import BrokenProtobufError, read_protobuf  # noqa: PLC0415 - only Protobuf needs it

        try:
            schema = read_protobuf(text)
        except BrokenProtobufError:  # a fault of the contract
            return None
        root = schema.root(self.message)
        return None if root is None else schema.layout(root)
