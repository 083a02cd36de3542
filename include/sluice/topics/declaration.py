"""What is declared of a value, as the decoder in the JVM gets it (`decoding/Declared`). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sluice.specs.model.model import TopicValue, ValueField
from sluice.values.line_pattern import line_pattern
from sluice.values.paths import parse_path
from sluice.values.time_pattern import time_pattern


def declaration(value: TopicValue) -> str:
    """Return the declaration of a value as JSON: how bytes become fields, and of these all that changes a value."""
    said: dict[str, object] = {"format": value.format, "fields": _fields(value.fields)}
    places = value.line_fields
    if places is not None:
        said["places"] = [places[name] for name in value.fields]
        if value.pattern is not None:
            said["regex"] = line_pattern(value.pattern).java
        else:
            said |= {"delimiter": value.delimiter or ",", "columns": len(places)}
    return json.dumps(said)


def _fields(fields: Mapping[str, ValueField]) -> list[dict[str, object]]:
    return [{"name": name, **_field(field)} for name, field in fields.items()]


def _field(field: ValueField) -> dict[str, object]:
    said: dict[str, object] = {"type": field.type.value}
    if field.path is not None:
        said["path"] = parse_path(field.path)
    if field.epoch is not None:
        said["epoch"] = field.epoch
    if field.zone is not None:
        said["zone"] = "Z" if field.zone == "UTC" else field.zone
    if field.format is not None:
        pattern = time_pattern(field.format)
        said["time"] = {"regex": pattern.regex, "parts": pattern.parts}
    if field.precision is not None:
        said |= {"precision": field.precision, "scale": field.scale or 0}
    if field.fields is not None:
        said["fields"] = _fields(field.fields)
    entry = field.items or field.values
    if entry is not None:
        said["entry"] = _field(entry)
    return said
