"""Static inputs in lines: CSV and JSON. A row that does not fit the declared columns is refused with its line."""

from __future__ import annotations

import json
import sys
from bisect import bisect_left
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
from pyarrow import csv

from sluice.errors import SpecError
from sluice.static.columns import ARROW, schema_of
from sluice.topics.json_object import parse_object

_FIX = "correct this line, or the declared `columns`."
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
_LONGS = range(-(2**63), 2**63)


def uncompressed(content: bytes, name: str) -> bytes:
    """Return the bytes of a file whose name says how it is compressed, if it is.

    Raises:
        SpecError: it is not compressed as its name says.
    """
    if (codec := _CODECS.get(PurePosixPath(name).suffix)) is None:
        return content
    try:
        return pa.CompressedInputStream(pa.BufferReader(content), codec).read()  # type: ignore[no-any-return]
    except OSError as error:
        raise SpecError(f"{name} cannot be read: {error}.", fix="compress it as its name says.") from None


def csv_table(content: bytes, columns: Mapping[str, str], name: str) -> pa.Table:
    """Return the declared columns of a CSV file.

    Raises:
        SpecError: a column or a row does not fit.
    """
    try:
        return _read_csv(content, columns)
    except KeyError as error:
        raise SpecError(f"{name} lacks a declared column: {error.args[0]}.", fix=_FIX) from None
    except pa.ArrowInvalid as error:
        line, why = _first_unfit(content, columns, str(error))
        raise SpecError(f"{name}:{line}: {why}", fix=_FIX) from None


def _read_csv(content: bytes, columns: Mapping[str, str]) -> pa.Table:
    types = {name: ARROW[kind] for name, kind in columns.items()}
    options = csv.ConvertOptions(column_types=types, include_columns=list(types), strings_can_be_null=True)
    return csv.read_csv(pa.BufferReader(content), convert_options=options)


def _first_unfit(content: bytes, columns: Mapping[str, str], why: str) -> tuple[int, str]:
    """Return the line that does not fit, and why: a beginning of the file can be read as long as it ends before."""
    lines = content.splitlines(keepends=True)
    reasons = {len(lines): why}

    def fails(count: int) -> bool:
        try:
            _read_csv(b"".join(lines[:count]), columns)
        except (pa.ArrowInvalid, KeyError) as error:
            reasons[count] = str(error)
            return True
        return False

    found = bisect_left(range(1, len(lines)), x=True, key=fails) + 1
    return found, reasons.get(found, why)  # an empty file has no line


def json_table(content: bytes, columns: Mapping[str, str], name: str) -> pa.Table:
    """Return the declared columns of JSON objects, one in a line. What an object does not have is null.

    Raises:
        SpecError: a line does not fit.
    """
    rows = []
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append(_object(line, columns))
        except ValueError as error:
            raise SpecError(f"{name}:{number}: {error}.", fix=_FIX) from None
    return pa.Table.from_pylist(rows, schema=schema_of(columns))


def _object(line: bytes, columns: Mapping[str, str]) -> dict[str, Any]:
    read = parse_object(line)
    return {name: _value(name, kind, read.get(name)) for name, kind in columns.items()}


def _value(name: str, kind: str, value: object) -> object:
    """Return a value as its column takes it; a number is no text, and 1 is not true."""
    match kind, value:
        case (_, None) | ("string", str()) | ("boolean", bool()):
            return value
        case ("long" | "double", bool()):
            pass
        case ("double", int() | float()) if abs(value) <= sys.float_info.max:
            return float(value)
        case ("long", int()) if value in _LONGS:
            return value
        case ("timestamp", str()):
            return _instant(name, value)
    raise ValueError(f"{name!r} is {json.dumps(value):.80}, and {kind} is declared")


def _instant(name: str, text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name!r} is {text!r:.80}, and no time in ISO 8601") from None
    if at.tzinfo is None:
        raise ValueError(f"{name!r} is {text!r}, which has no zone, and says no instant")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{name!r} is {text!r}, which lies in no year from 1 to 9999 in UTC") from None
