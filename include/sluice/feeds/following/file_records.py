"""The records of a file: its lines as they are, or its rows of CSV as JSON objects."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import BinaryIO

from sluice.specs.feeds.live import FolderSpec
from sluice.specs.model.fields import FieldType
from sluice.specs.model.model import ValueField

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_NUMBERS = {FieldType.LONG, FieldType.INTEGER, FieldType.DOUBLE, FieldType.DECIMAL}
_LONGEST_COLUMN = 16 * 1024 * 1024


class UnreadableFileError(ValueError):
    """A file is no CSV, in words."""


def file_records(file: BinaryIO, spec: FolderSpec, fields: Mapping[str, ValueField]) -> Iterator[bytes]:
    """Yield the records of an unpacked file, in their order. Empty lines are none.

    Args:
        file: its bytes.
        spec: how it is written.
        fields: how the topic declares its fields: a column of CSV becomes a number or a boolean only where they say so.

    Raises:
        UnreadableFileError: it is no CSV.
    """
    if spec.format == "lines":
        yield from (line for each in file if (line := each.removesuffix(b"\n").removesuffix(b"\r")))
        return
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        yield from _objects(text, spec.delimiter, fields)
    finally:
        text.detach()  # the file is the caller's to close


def _objects(text: io.TextIOWrapper, delimiter: str, fields: Mapping[str, ValueField]) -> Iterator[bytes]:
    csv.field_size_limit(_LONGEST_COLUMN)
    rows = csv.reader(text, delimiter=delimiter, strict=True)
    try:
        header = next(rows, [])
        if twice := [name for name in header if header.count(name) > 1]:
            raise UnreadableFileError(f"its header names the column {twice[0]!r} twice")
        types = column_types(header, fields)
        yield from (row_object(row, header, types) for row in rows if row)
    except csv.Error as error:
        raise UnreadableFileError(f"line {rows.line_num}: {error}") from error


def column_types(header: Collection[str], fields: Mapping[str, ValueField]) -> dict[str, FieldType]:
    """Return the types of the columns that the topic declares, by the name that a column has in the value."""
    named = {tuple(field.keys(name)): field.type for name, field in fields.items()}
    return {column: named[column,] for column in header if (column,) in named}


def row_object(row: list[str], header: list[str], types: Mapping[str, FieldType]) -> bytes:
    """Return a row as the bytes of a JSON object, without its empty columns.

    A row of more or fewer columns than the header becomes a JSON list, which validation quarantines. Bytes that are not
    UTF-8 stay as they are, so that it quarantines these too.
    """
    if len(row) != len(header):
        return _bytes(json.dumps(row, ensure_ascii=False))
    pairs = zip(header, row, strict=True)
    members = (
        f"{json.dumps(name, ensure_ascii=False)}:{_literal(text, types.get(name))}" for name, text in pairs if text
    )
    return _bytes("{" + ",".join(members) + "}")


def _literal(text: str, declared: FieldType | None) -> str:
    """Return a column as JSON: digits stay as they are written."""
    if declared in _NUMBERS and _NUMBER.fullmatch(text):
        return text
    if declared is FieldType.BOOLEAN and text.lower() in {"true", "false"}:
        return text.lower()
    return json.dumps(text, ensure_ascii=False)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
