"""A record's value as its topic declares it, for every reader in Python. Pure.

Fields are not converted: of JSON they are JSON values, of a line of text its parts. Validation alone says which records
are good; what it refuses as `malformed` has no fields here, too.
"""

from __future__ import annotations

import re
from typing import Any

from sluice.specs.model.model import TopicValue
from sluice.topics.json_object import NoObjectError, parse_object
from sluice.values.delimited import split_line, without_end
from sluice.values.line_pattern import line_pattern
from sluice.values.paths import at_path

_WHOLE = re.compile(r"-?[0-9]{1,1000}")


def parse_fields(value: bytes | None, declared: TopicValue) -> dict[str, Any]:
    """Return the fields of a value by their declared names, absent ones left out, and what else a JSON object has.

    Raises:
        NoObjectError: it is no JSON object, or no such line.
    """
    if declared.line_fields is not None:
        return _line(value, declared)
    fields = parse_object(value)
    found = {name: at_path(fields, field.keys(name)) for name, field in declared.fields.items() if field.path}
    others = {key: part for key, part in fields.items() if key not in found}
    return others | {name: part for name, part in found.items() if part is not None}


def read_fields(value: bytes | None, declared: TopicValue) -> dict[str, Any] | None:
    """Return the fields of a value by their declared names; None if it has none."""
    try:
        return parse_fields(value, declared)
    except NoObjectError:
        return None


def _line(value: bytes | None, declared: TopicValue) -> dict[str, Any]:
    if value is None:
        raise NoObjectError("it has no value")
    try:
        parts = _parts(without_end(value.decode()), declared)
    except UnicodeDecodeError as error:
        raise NoObjectError(f"byte {error.start + 1} is not UTF-8") from None
    return {
        name: int(part) if field.epoch and _WHOLE.fullmatch(part) else part
        for name, field in declared.fields.items()
        if (part := parts.get(name)) is not None
    }


def _parts(line: str, declared: TopicValue) -> dict[str, str | None]:
    if declared.pattern is not None:
        groups = line_pattern(declared.pattern).read(line)
        if groups is None:
            raise NoObjectError("it does not match the pattern of the topic")
        return {**groups}
    names, columns = list(declared.line_fields or ()), split_line(line, declared.delimiter or ",")
    if columns is None:
        raise NoObjectError("its quoting is broken")
    if len(columns) != len(names):
        raise NoObjectError(f"it has {len(columns)} columns, and the topic declares {len(names)}")
    return dict(zip(names, columns, strict=True))
