"""Records in Avro: bytes under the schema that a record is written with, also of what the spec does not declare."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from functools import cached_property
from typing import Any

from sluice.contracts.avro import Avro, AvroSchema, Field, Items, Named, Primitive, Union, read_avro
from sluice.contracts.promise import promise_of_avro
from sluice.proof.generation.made import UnmadeError
from sluice.proof.generation.shapes import FieldShape
from sluice.proof.generation.writing import Tree, varint
from sluice.specs.model.fields import FieldType, ValueField

_NULL = Primitive("null")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=100)
_WHOLE = {"int": (-(1 << 31), (1 << 31) - 1), "long": (-(1 << 63), (1 << 63) - 1)}
_TICKS = {"timestamp-millis": timedelta(milliseconds=1), "timestamp-micros": timedelta(microseconds=1)}
_EMPTY: Mapping[str, object] = {
    **dict.fromkeys(("int", "long"), 0),
    **dict.fromkeys(("float", "double"), 0.0),
    "boolean": False,
    "bytes": b"",
    "string": "",
}
"""What stands where the spec declares nothing and null is not allowed."""
_FIX = "name fields of the schema's types in the topic, or prove a pipeline over another topic."


@dataclass(frozen=True)
class AvroWriting:
    """Writes Avro under one schema.

    Attributes:
        fields: those that are declared.
        text: of the schema.
    """

    fields: Mapping[str, ValueField]
    text: str

    @cached_property
    def schema(self) -> AvroSchema:
        """The schema, as it is read."""
        return read_avro(json.loads(self.text))

    @cached_property
    def shapes(self) -> Mapping[str, FieldShape]:
        """See `ValueWriting`."""
        return _shapes(self.fields, self.schema.top, self.schema)

    @property
    def takes_marks(self) -> bool:
        """See `ValueWriting`: each byte is of a field of the schema."""
        return False

    def write(self, tree: Tree, mark: int | None = None) -> bytes:
        """See `ValueWriting`."""
        _ = mark
        return _Encoder(self.schema).of(self.schema.top, tree)


def branches_of(type_: Avro, schema: AvroSchema) -> list[Avro]:
    """Return the types that a value may have."""
    resolved = schema.resolved(type_)
    return list(resolved.branches) if isinstance(resolved, Union) else [resolved]


def _is_nullable(type_: Avro, schema: AvroSchema) -> bool:
    return any(schema.resolved(each) == _NULL for each in branches_of(type_, schema))


def _shapes(fields: Mapping[str, ValueField], type_: Avro, schema: AvroSchema) -> dict[str, FieldShape]:
    found = {}
    for name, field in fields.items():
        way = _way(field.keys(name), type_, schema)
        if way:
            shape = _shape(field, way[-1], schema)
            always = not any(_is_nullable(each, schema) for each in way)
            found[name] = replace(shape, always=always)
    return found


def _way(keys: tuple[str, ...], type_: Avro, schema: AvroSchema) -> list[Avro]:
    """Return the types of the fields along a path; nothing if the schema does not have it."""
    way: list[Avro] = []
    for key in keys:
        field = next((each for each in _fields(type_, schema) if each.name == key), None)
        if field is None:
            return []
        way.append(field.type)
        type_ = field.type
    return way


def _fields(type_: Avro, schema: AvroSchema) -> tuple[Field, ...]:
    """Return the fields of the first record that a value may be."""
    kinds = (schema.resolved(each) for each in branches_of(type_, schema))
    return next((each.fields for each in kinds if isinstance(each, Named) and each.kind == "record"), ())


def _shape(field: ValueField, type_: Avro, schema: AvroSchema) -> FieldShape:
    for branch in branches_of(type_, schema):
        kind = schema.resolved(branch)
        if kind == _NULL or field.type not in promise_of_avro(branch, schema).types:
            continue
        return _of_kind(field, kind, schema)
    raise UnmadeError(f"is {promise_of_avro(type_, schema).words} in the schema, and {field.words} in the topic", _FIX)


def _of_kind(field: ValueField, kind: Avro, schema: AvroSchema) -> FieldShape:
    more: dict[str, Any] = {}
    match kind:
        case Items(_, inner) if (entry := field.items or field.values) is not None:
            more = {"entry": _shape(entry, inner, schema)}
        case Named(kind="record"):
            more = {"parts": _shapes(field.fields or {}, kind, schema)}
        case Named(kind="enum", symbols=symbols):
            more = {"symbols": symbols}
        case Named(kind="fixed", logical="", size=size):
            more = {"size": size}
        case Primitive(_, logical) if logical in _TICKS:
            more = {"written": _instant(logical), "tick": _TICKS[logical]}
        case Primitive(_, "date"):
            more = {"written": _days}
        case Primitive(name) if name in _WHOLE:
            more = {"whole": _WHOLE[name] if field.type is not FieldType.DOUBLE else _kept(name), "written": int}
        case Primitive("float"):
            more = {"is_single": True}
        case Primitive("bytes", logical) | Named(kind="fixed", logical=logical) if logical:
            more = _digits(kind, logical)
    return FieldShape(field, **more)


def _kept(name: str) -> tuple[int, int]:
    """Return the whole numbers that a double keeps, too."""
    low, high = _WHOLE[name]
    return max(low, -(1 << 53)), min(high, 1 << 53)


def _instant(logical: str) -> Callable[[Any], object]:
    tick = _TICKS[logical]
    return lambda at: (at - _EPOCH) // tick


def _days(day: date) -> int:
    return (day - _EPOCH.date()).days


def _digits(kind: Avro, logical: str) -> dict[str, Any]:
    """Return what a shape says of `decimal(precision,scale)` in bytes, or in a fixed number of them."""
    precision, scale = (int(part) for part in logical.removeprefix("decimal(").removesuffix(")").split(","))
    size = kind.size if isinstance(kind, Named) else None
    if size is not None:
        precision = min(precision, len(str(1 << (8 * size - 1))) - 1)

    def written(content: Decimal) -> bytes:
        digits = int(content.scaleb(scale, _EXACT))
        return digits.to_bytes(size or digits.bit_length() // 8 + 1, "big", signed=True)

    return {"digits": (precision, scale), "written": written}


@dataclass(frozen=True)
class _Encoder:
    """Avro's binary encoding (specification 1.12), of a schema that is sound."""

    schema: AvroSchema

    def of(self, type_: Avro, content: object) -> bytes:
        resolved = self.schema.resolved(type_)
        match resolved:
            case Union(branches):
                number = self._branch(branches, content)
                return _long(number) + self.of(branches[number], content)
            case Items(kind, inner):
                return self._entries(kind, inner, content)
            case Named(kind="record", fields=fields):
                held = content if isinstance(content, Mapping) else {}
                return b"".join(self.of(each.type, held.get(each.name)) for each in fields)
            case Named(kind="enum", symbols=symbols):
                return _long(0 if content is None else symbols.index(str(content)))
            case Named(size=size):
                return content if isinstance(content, bytes) else bytes(size)
            case Primitive(name):
                return _scalar(name, _EMPTY.get(name) if content is None else content)

    def _branch(self, branches: tuple[Avro, ...], content: object) -> int:
        kinds = [self.schema.resolved(each) for each in branches]
        if content is None:
            return kinds.index(_NULL) if _NULL in kinds else 0
        return next(number for number, kind in enumerate(kinds) if _takes(kind, content))

    def _entries(self, kind: str, inner: Avro, content: object) -> bytes:
        if isinstance(content, Mapping) and kind == "map":
            written = [_scalar("string", key) + self.of(inner, each) for key, each in content.items()]
        else:
            written = [self.of(inner, each) for each in content] if isinstance(content, list) else []
        return (_long(len(written)) + b"".join(written) if written else b"") + b"\x00"


def _takes(kind: Avro, content: object) -> bool:
    """Whether a type of a union is that of a content."""
    match kind:
        case Items(kind="map") | Named(kind="record"):
            return isinstance(content, Mapping)
        case Items():
            return isinstance(content, list)
        case Named(kind="enum", symbols=symbols):
            return content in symbols
        case Named(kind="fixed", size=size):
            return isinstance(content, bytes) and len(content) == size
        case Primitive(name):
            return _is_of(name, content)
        case _:
            return False


def _is_of(name: str, content: object) -> bool:
    if name in _WHOLE and isinstance(content, int) and not isinstance(content, bool):
        return _WHOLE[name][0] <= content <= _WHOLE[name][1]
    types: Mapping[str, type] = {"boolean": bool, "float": float, "double": float, "string": str, "bytes": bytes}
    return name in types and isinstance(content, types[name])


def _scalar(name: str, content: Any) -> bytes:  # noqa: ANN401 - of the type that is named
    match name:
        case "null":
            return b""
        case "boolean":
            return bytes([content])
        case "int" | "long":
            return _long(content)
        case "float" | "double":
            return struct.pack("<f" if name == "float" else "<d", content)
        case _:
            data: bytes = content.encode() if isinstance(content, str) else content
            return _long(len(data)) + data


def _long(number: int) -> bytes:
    return varint((number << 1) ^ (number >> 63))
