"""JSON Schema: what is said to be taken is taken, by the judgement of a validator that knows nothing of us."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sluice.contracts.breach import UnreadableSchemaError
from sluice.contracts.containment import breaches
from sluice.contracts.json_schema import read_json_schema

NAMES = ("a", "b")
small = st.integers(-3, 3)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """Make a schema of everything that is compared."""
    kinds = ["integer", "number", "string", "boolean", "null", "enum"] + (["object", "array", "anyOf"] if depth else [])
    inner = schemas(depth=depth - 1) if depth else st.nothing()
    found: dict[str, Any]
    match draw(st.sampled_from(kinds)):
        case "integer" | "number" as kind:
            bounds = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
            value = small if kind == "integer" else small | st.sampled_from([-0.5, 0.5, 1.5])
            found = {"type": kind, **draw(st.dictionaries(st.sampled_from(bounds), value, max_size=2))}
        case "string":
            lengths = draw(st.dictionaries(st.sampled_from(["minLength", "maxLength"]), st.integers(0, 3)))
            found = {"type": "string", **lengths, **draw(st.sampled_from([{}, {"pattern": "^a"}, {"pattern": "b"}]))}
        case "enum":
            found = {
                "enum": draw(st.lists(st.sampled_from([1, 2, 1.5, "a", "ab", True, None]), min_size=1, unique_by=repr))
            }
        case "object":
            properties = draw(st.dictionaries(st.sampled_from(NAMES), inner))
            required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
            further = draw(st.sampled_from([{}, {"additionalProperties": True}, {"additionalProperties": False}]))
            found = {"type": "object", "properties": properties, "required": required, **further}
        case "array":
            counts = draw(st.dictionaries(st.sampled_from(["minItems", "maxItems"]), st.integers(0, 2)))
            found = {"type": "array", **counts, **draw(st.sampled_from([{}, {"items": draw(inner)}]))}
        case "anyOf":
            found = {"anyOf": draw(st.lists(inner, min_size=1, max_size=3))}
        case kind:
            found = {"type": kind}
    return found


values = st.recursive(
    st.none() | st.booleans() | small | st.sampled_from([0.5, 1.0, 1.5]) | st.sampled_from(["", "a", "ab", "abc", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*NAMES, "c"]), inner, max_size=3),
    max_leaves=4,
)


def only_declared(schema: dict[str, Any], value: object) -> bool:
    """Whether a value has no field that no schema declares, unless one allows it by name: what writers are held to."""
    if "anyOf" in schema:
        fitting = [part for part in schema["anyOf"] if Draft202012Validator(part).is_valid(value)]
        return any(only_declared(part, value) for part in fitting)
    if isinstance(value, list) and "items" in schema:
        return all(only_declared(schema["items"], each) for each in value)
    if isinstance(value, dict) and "properties" in schema:
        further = schema.get("additionalProperties", False)
        declared = schema["properties"]
        return all(only_declared(declared[n], each) if n in declared else further for n, each in value.items())
    return True


@settings(max_examples=settings().max_examples * 6)
@given(data=st.data(), writer=schemas(), written=st.lists(values, min_size=20, max_size=20))
def test_what_a_reader_is_said_to_take_it_takes(
    data: st.DataObject, writer: dict[str, Any], written: list[object]
) -> None:
    reader = data.draw(schemas() | st.sampled_from(list(near(writer))))
    if list(breaches(read_json_schema(writer), read_json_schema(reader))):
        return
    taken = Draft202012Validator(reader)
    for value in filter(Draft202012Validator(writer).is_valid, written):
        assert taken.is_valid(value) or not only_declared(writer, value), value


def near(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield schemas that differ from one in a part of it: these are what versions are."""
    yield schema
    yield {"anyOf": [schema, {"type": "null"}]}
    for key in schema:
        if key != "type" and not (key == "properties" and schema.get("required")):
            yield {name: part for name, part in schema.items() if name != key}
    for key in ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"):
        if key in schema:
            yield from ({**schema, key: max(0, schema[key] + step)} for step in (-1, 1))
    for name, part in schema.get("properties", {}).items():
        yield from ({**schema, "properties": {**schema["properties"], name: other}} for other in near(part))
        yield {**schema, "required": [name]}


@settings(max_examples=settings().max_examples * 3)
@given(schema=schemas())
def test_a_schema_goes_with_itself(schema: dict[str, Any]) -> None:
    assert list(breaches(read_json_schema(schema), read_json_schema(schema))) == []


def record(required: list[str] | None = None, further: bool | None = None, **properties: object) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required or []}
    return schema if further is None else {**schema, "additionalProperties": further}


INT, TEXT = {"type": "integer"}, {"type": "string"}


@pytest.mark.parametrize(
    ("writer", "reader", "said"),
    [
        (record(a=INT), record(a=INT, b=TEXT), None),
        (record(["a"], a=INT), record(a=INT), None),
        (record(a=INT, b=TEXT), record(a=INT), None),
        (record(a=INT), record(a={"type": ["integer", "null"]}), None),
        (record(a=INT), record(a={"type": "number"}), None),
        (record(a={"enum": ["x"]}), record(a=TEXT), None),
        (record(a={"$ref": "#/$defs/x"}) | {"$defs": {"x": INT}}, record(a=INT), None),
        (record(a={"oneOf": [INT, TEXT]}), record(a={"type": ["integer", "string"]}), None),
        (record(a=INT), record(["b"], a=INT, b=TEXT), "b: is not declared, so it is missing, and is required"),
        (record(a=INT), record(["a"], a=INT), "a: may be missing, and is required"),
        (record(a=INT), record(a=TEXT), "a: may be a whole number, and only a string is taken"),
        (record(a={"type": "number"}), record(a=INT), "a: may have a fraction"),
        (record(a={"type": ["integer", "null"]}), record(a=INT), "a: may be null"),
        (record(a=TEXT), record(a={"enum": ["x"]}), "a: may be any of a string, and only listed values are taken"),
        (record(a={"enum": ["x", "y"]}), record(a={"enum": ["x"]}), 'a: may be "y", which is not taken'),
        (record(a=INT), record(a={"type": "integer", "minimum": 0}), "a: may be below 0"),
        (record(a=INT), record(a={"type": "integer", "exclusiveMaximum": 9}), "a: may be above 8"),
        (record(a=TEXT), record(a={"type": "string", "maxLength": 3}), "a: may have any number of characters"),
        (record(a=TEXT), record(a={"type": "string", "format": "date-time"}), "a: has no format"),
        (record(a=INT, b=TEXT), record(further=False, a=INT), "b: may be there, and no further field is taken"),
        (record(further=True, a=INT), record(a=INT, b=TEXT), "b: is not declared where further fields may be anything"),
        (record(further=True), record(further=False), ": may have fields that are not declared"),
        (record(a=record(b=INT)), record(a=record(b=TEXT)), "a.b: may be a whole number"),
        (record(a={"type": "array", "items": INT}), record(a={"type": "array", "items": TEXT}), "a[]: may be a whole"),
        (record(a={"type": "array"}), record(a={"type": "array", "items": INT}), "a[]: may be null"),
        (record(a={}), record(a=INT), "a: may be null"),
    ],
)
def test_each_break_is_named(writer: dict[str, Any], reader: dict[str, Any], said: str | None) -> None:
    found = [f"{each.field}: {each.message}" for each in breaches(read_json_schema(writer), read_json_schema(reader))]
    if said is None:
        assert found == []
    else:
        assert any(each.startswith(said) for each in found), found


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = TEXT
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def chained(levels: int) -> dict[str, Any]:
    """Return a schema whose definitions lead from one to the next."""
    steps = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, f"d{levels}": TEXT}}


@pytest.mark.parametrize(
    ("schema", "loc", "said"),
    [
        ({"type": "object", "patternProperties": {}}, ("patternProperties",), "cannot be compared"),
        ({"type": "integer", "multipleOf": 2}, ("multipleOf",), "cannot be compared"),
        ({"type": "thing"}, ("type",), "is no type of JSON"),
        ({"type": "string", "minimum": 1}, ("minimum",), "says nothing about a value of type string"),
        ({"anyOf": [INT], "type": "integer"}, ("type",), "is used with 'anyOf'"),
        ({"oneOf": [INT, {"enum": [1]}]}, ("oneOf",), "which of them is meant"),
        ({"$ref": "other.json"}, ("$ref",), "leads out of this file"),
        ({"$ref": "#/$defs/x"}, ("$ref",), "there is no #/$defs/x"),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/x"}}}, ("$defs", "x", "$ref"), "leads back to itself"),
        (record(["b"], a=INT), ("required",), "no property says what it is"),
        (record(a={"type": "string", "pattern": "("}), ("properties", "a", "pattern"), "no regular expression"),
        (record(a={"type": "string", "minLength": -1}), ("properties", "a", "minLength"), "where a count is needed"),
        (record(a={"type": "integer", "minimum": "1"}), ("properties", "a", "minimum"), "where a number is needed"),
        ({"type": "object", "additionalProperties": INT}, ("additionalProperties",), "cannot be compared"),
        ({"enum": []}, ("enum",), "needs a list of values"),
        ({"type": []}, ("type",), "takes no value"),
        ({"type": "integer", "minimum": float("inf")}, ("minimum",), "no number reaches"),
        ({"type": "number", "exclusiveMaximum": float("nan")}, ("exclusiveMaximum",), "no number reaches"),
        ({"enum": [[{"a": float("inf")}]]}, ("enum",), "infinite"),
        (nested(400), ("items",) * 8, "more than 200 levels"),
        (chained(400), ("$defs", "d66"), "more than 200 levels"),
        ({"type": "array", "items": 3}, ("items",), "where a schema is needed"),
    ],
)
def test_what_cannot_be_compared_is_refused(schema: dict[str, Any], loc: tuple[str, ...], said: str) -> None:
    with pytest.raises(UnreadableSchemaError, match=said.replace("$", r"\$")) as refused:
        read_json_schema(schema)
    assert refused.value.loc == loc
