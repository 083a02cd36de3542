"""JSON Schema (2020-12) into shapes. What cannot be compared is refused, never passed over."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite

from sluice.contracts.breach import Loc, UnreadableSchemaError
from sluice.contracts.shapes import (
    ANYTHING,
    Array,
    Boolean,
    Json,
    Null,
    Number,
    Object,
    Property,
    Schema,
    Shape,
    Text,
    Values,
    takes,
)

_TYPES = ("null", "boolean", "number", "string", "array", "object")
_ANNOTATIONS = frozenset(
    {"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples"}
    | {"deprecated", "readOnly", "writeOnly"}
)
_OF_TYPE: Mapping[str, frozenset[str]] = {
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "additionalProperties"}),
}
_DEEPEST = 200
"""So many keys and positions lead to a schema at most, those of what it is referred from included."""
_JUDGED = frozenset({"type", "enum", "const", "anyOf", "oneOf", "$ref"}).union(*_OF_TYPE.values())


def read_json_schema(document: Mapping[str, Json]) -> Schema:
    """Return what a JSON Schema takes.

    Raises:
        UnreadableSchemaError: it is wrong, or uses what cannot be compared.
    """
    return _Reader(document).schema(document, ())


@dataclass(frozen=True)
class _Reader:
    document: Mapping[str, Json]
    following: tuple[str, ...] = ()
    depth: int = 0

    def schema(self, node: Json, loc: Loc) -> Schema:
        if self.depth + len(loc) > _DEEPEST:
            raise UnreadableSchemaError(loc[:8], f"below it are more than {_DEEPEST} levels.", "make it flatter.")
        if node is True:
            node = {}
        if not isinstance(node, Mapping):
            raise UnreadableSchemaError(loc, f"found {node!r} where a schema is needed.", "write an object.")
        if unknown := sorted(node.keys() - _JUDGED - _ANNOTATIONS):
            message = f"{unknown[0]!r} cannot be compared between versions."
            fix = f"say it by one of {', '.join(sorted(_JUDGED))}, or as an expectation."
            raise UnreadableSchemaError((*loc, unknown[0]), message, fix)
        for key in ("$ref", "anyOf", "oneOf"):
            if key in node:
                return self._combined(node, key, loc)
        if not node.keys() - _ANNOTATIONS:
            return ANYTHING
        schema = tuple(self._shape(name, node, loc) for name in _types(node, loc))
        if "enum" in node or "const" in node:
            return _among(node, schema, loc)
        return schema

    def _combined(self, node: Mapping[str, Json], key: str, loc: Loc) -> Schema:
        if beside := sorted(node.keys() - _ANNOTATIONS - {key}):
            message = f"{beside[0]!r} is used with {key!r}; the two together cannot be compared."
            raise UnreadableSchemaError((*loc, beside[0]), message, f"move it into {key!r}.")
        if key == "$ref":
            return self._referred(node["$ref"], (*loc, key))
        parts = node[key]
        if not isinstance(parts, list) or not parts:
            raise UnreadableSchemaError((*loc, key), "it needs a list of schemas.")
        schemas = [self.schema(part, (*loc, key, number)) for number, part in enumerate(parts)]
        if key == "oneOf" and not _apart(schemas):
            message = "two of its schemas take values of one type, and which of them is meant cannot be compared."
            raise UnreadableSchemaError((*loc, key), message, "write `anyOf`.")
        return tuple(shape for schema in schemas for shape in schema)

    def _referred(self, target: Json, loc: Loc) -> Schema:
        match = re.fullmatch(r"#/(\$defs|definitions)/([^/~%]+)", target) if isinstance(target, str) else None
        if match is None:
            raise UnreadableSchemaError(loc, f"{target!r} leads out of this file.", "write it below `$defs`.")
        if target in self.following:
            message = f"{target} leads back to itself; schemas without an end cannot be compared."
            raise UnreadableSchemaError(loc, message, "write out as many levels as there are.")
        definitions = self.document.get(match[1])
        if not isinstance(definitions, Mapping) or match[2] not in definitions:
            raise UnreadableSchemaError(loc, f"there is no {target}.", "correct the name.")
        inner = _Reader(self.document, (*self.following, str(target)), self.depth + len(loc))
        return inner.schema(definitions[match[2]], (match[1], match[2]))

    def _shape(self, name: str, node: Mapping[str, Json], loc: Loc) -> Shape:
        match name:
            case "null":
                return Null()
            case "boolean":
                return Boolean()
            case "number" | "integer":
                return _number(node, loc, whole=name == "integer")
            case "string":
                return _text(node, loc)
            case "array":
                items = self.schema(node["items"], (*loc, "items")) if "items" in node else None
                return Array(items, _count(node, "minItems", loc) or 0, _count(node, "maxItems", loc))
            case _:
                return self._object(node, loc)

    def _object(self, node: Mapping[str, Json], loc: Loc) -> Object:
        declared, required = node.get("properties", {}), node.get("required", [])
        if not isinstance(declared, Mapping):
            raise UnreadableSchemaError((*loc, "properties"), "it needs schemas by name.")
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise UnreadableSchemaError((*loc, "required"), "it needs a list of names.")
        for name in required:
            if name not in declared:
                message = f"{name!r} is required, and no property says what it is."
                raise UnreadableSchemaError((*loc, "required"), message, "declare it.")
        further = node.get("additionalProperties")
        if further is not None and not isinstance(further, bool):
            message = "a schema of further properties cannot be compared."
            raise UnreadableSchemaError(
                (*loc, "additionalProperties"), message, "declare them, or write true or false."
            )
        properties = {
            name: Property(self.schema(part, (*loc, "properties", name)), name in required)
            for name, part in declared.items()
        }
        return Object(properties, further)


def _types(node: Mapping[str, Json], loc: Loc) -> Sequence[str]:
    declared = node.get("type")
    if declared is None:
        return _TYPES
    names = declared if isinstance(declared, list) else [declared]
    if not names:
        raise UnreadableSchemaError((*loc, "type"), "it has no type, so it takes no value.", "name one.")
    for name in names:
        if name not in (*_TYPES, "integer"):
            raise UnreadableSchemaError(
                (*loc, "type"), f"{name!r} is no type of JSON.", f"write one of {', '.join(_TYPES)}."
            )
    own = frozenset[str]().union(*(_OF_TYPE.get("number" if n == "integer" else str(n), frozenset()) for n in names))
    for key in sorted(node.keys() & frozenset().union(*_OF_TYPE.values()) - own):
        message = f"{key!r} says nothing about a value of type {declared}."
        raise UnreadableSchemaError((*loc, key), message, "remove it.")
    return [str(name) for name in names if not (name == "integer" and "number" in names)]


def _number(node: Mapping[str, Json], loc: Loc, *, whole: bool) -> Number:
    def bound(key: str, exclusive: str, sharper: int) -> tuple[float, bool] | None:
        bounds = [(_numeric(node[k], (*loc, k)), k == exclusive) for k in (key, exclusive) if k in node]
        return max(bounds, key=lambda each: (sharper * each[0], each[1]), default=None)

    low, high = bound("minimum", "exclusiveMinimum", 1), bound("maximum", "exclusiveMaximum", -1)
    if whole:  # above 4 is from 5 on
        low = None if low is None else (floor(low[0]) + 1 if low[1] else ceil(low[0]), False)
        high = None if high is None else (ceil(high[0]) - 1 if high[1] else floor(high[0]), False)
    return Number(whole, low, high)


def _numeric(value: Json, loc: Loc) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnreadableSchemaError(loc, f"found {value!r} where a number is needed.", "write a plain number.")
    if not _is_finite(value):
        raise UnreadableSchemaError(loc, f"found {value!r}, which no number reaches.", "write a smaller number.")
    return value


def _is_finite(value: Json) -> bool:
    """Whether no number in a value is infinite, or none."""
    if isinstance(value, list):
        return all(map(_is_finite, value))
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, float) or isfinite(value)


def _text(node: Mapping[str, Json], loc: Loc) -> Text:
    pattern, form = node.get("pattern"), node.get("format")
    if pattern is not None:
        try:
            re.compile(pattern if isinstance(pattern, str) else "(")
        except re.error as error:
            raise UnreadableSchemaError((*loc, "pattern"), f"no regular expression: {error}.") from None
    if form is not None and not isinstance(form, str):
        raise UnreadableSchemaError((*loc, "format"), f"found {form!r} where a name is needed.")
    return Text(
        _count(node, "minLength", loc) or 0, _count(node, "maxLength", loc), str(pattern) if pattern else None, form
    )


def _count(node: Mapping[str, Json], key: str, loc: Loc) -> int | None:
    value = node.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UnreadableSchemaError((*loc, key), f"found {value!r} where a count is needed.")
    return value


def _among(node: Mapping[str, Json], schema: Schema, loc: Loc) -> Schema:
    """Return the listed values, as far as the rest of the schema takes them."""
    key = "enum" if "enum" in node else "const"
    if {"enum", "const"} <= node.keys():
        raise UnreadableSchemaError((*loc, "const"), "`enum` and `const` are used together.", "keep one of the two.")
    listed = node["enum"] if key == "enum" else [node["const"]]
    if not isinstance(listed, list) or not listed:
        raise UnreadableSchemaError((*loc, key), "it needs a list of values.")
    if not _is_finite(listed):
        raise UnreadableSchemaError((*loc, key), "one of its numbers is infinite, or none.", "write a finite number.")
    return (Values(tuple(value for value in listed if takes(schema, value))),)


def _apart(schemas: Sequence[Schema]) -> bool:
    kinds: list[set[type[Shape]]] = []
    for schema in schemas:
        own: set[type[Shape]] = set()
        for shape in schema:
            own.update(_kinds_of(shape))
        if any(own & other for other in kinds):
            return False
        kinds.append(own)
    return True


def _kinds_of(shape: Shape) -> set[type[Shape]]:
    if not isinstance(shape, Values):
        return {type(shape)}
    return {_KIND_OF_VALUE[type(value)] for value in shape.values}


_KIND_OF_VALUE: Mapping[type, type[Shape]] = {
    type(None): Null,
    bool: Boolean,
    int: Number,
    float: Number,
    str: Text,
    list: Array,
    dict: Object,
}
