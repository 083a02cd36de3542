"""Avro: each rule of schema resolution, and what goes beyond it. Avro's own judgement is asked in tests/integration."""

from __future__ import annotations

import pytest

from sluice.contracts.avro import read_avro
from sluice.contracts.breach import UnreadableSchemaError
from sluice.contracts.resolution import unresolvable


def record(*fields: dict[str, object], name: str = "R", **more: object) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def of(type_: object, name: str = "a", **more: object) -> dict[str, object]:
    return {"name": name, "type": type_, **more}


def enum(*symbols: str, **more: object) -> dict[str, object]:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
LIST = record(of("int", "head"), of(["null", "R"], "tail"))


def found(writer: object, reader: object) -> list[str]:
    return [f"{each.field}: {each.message}" for each in unresolvable(read_avro(writer), read_avro(reader))]


@pytest.mark.parametrize(
    ("writer", "reader", "said"),
    [
        (record(of("int")), record(of("long")), None),
        (record(of("string")), record(of("bytes")), None),
        (record(of("int")), record(of(["null", "double"])), None),
        (record(of("int"), of("int", "b")), record(of("int")), None),
        (record(of("int")), record(of("int"), of("int", "b", default=0)), None),
        (record(of("int")), record(of("int", "b", aliases=["a"])), None),
        (record(of("int"), name="x.R"), record(of("int"), name="y.R"), None),
        (record(of("int"), name="Old"), record(of("int"), aliases=["Old"]), None),
        (record(of(enum("X", "Y"))), record(of(enum("X", default="X"))), None),
        (LIST, LIST, None),
        (record(of("long")), record(of("int")), "a: may be long, and int is wanted"),
        (record(of(["null", "int"])), record(of("int")), "a: may be null, and int is wanted"),
        (record(of("int")), record(of("int"), of("int", "b")), "b: is not written, and has no default"),
        (record(of("int"), name="Old"), record(of("int")), ": is the record 'Old', and 'R' is wanted"),
        (record(of(enum("X", "Y"))), record(of(enum("X"))), "a: may be Y, which the enum does not have"),
        (
            record(of(MILLIS)),
            record(of(MICROS)),
            "a: stands for timestamp-millis, and would be read as timestamp-micros",
        ),
        (record(of(MILLIS)), record(of("long")), "a: stands for timestamp-millis, and would be read as itself"),
        (
            record(of({"type": "fixed", "name": "F", "size": 4})),
            record(of({"type": "fixed", "name": "F", "size": 8})),
            "a: has 4 bytes, and 8 are wanted",
        ),
        (
            record(of({"type": "array", "items": "string"})),
            record(of({"type": "array", "items": "int"})),
            "a[]: may be string, and int is wanted",
        ),
        (record(of({"type": "map", "values": "int"})), record(of("int")), "a: may be a map, and int is wanted"),
        (LIST, record(of("string", "head"), of(["null", "R"], "tail")), "head: may be int, and string is wanted"),
        (
            record(of({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2})),
            record(of({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3})),
            "a: stands for decimal(9,2), and would be read as decimal(9,3)",
        ),
    ],
)
def test_each_rule(writer: object, reader: object, said: str | None) -> None:
    if said is None:
        assert found(writer, reader) == []
    else:
        assert any(each.startswith(said) for each in found(writer, reader)), found(writer, reader)


@pytest.mark.parametrize(
    ("schema", "loc", "said"),
    [
        ({"type": "rekord"}, ("type",), "there is no type 'rekord'"),
        (record(of("R2")), ("fields", 0, "type"), "there is no type 'R2'"),
        (record(of("int"), of("int")), ("fields", 1, "name"), "is there twice"),
        (record(of(["int", "int"])), ("fields", 0, "type"), "each unnamed one once"),
        (record(of([["int"]])), ("fields", 0, "type"), "none of them a union"),
        (record(of("int"), name="1R"), ("name",), "is no name"),
        (record(of(enum("X", "X"))), ("fields", 0, "type", "symbols"), "each once"),
        (record(of(enum("X", default="Y"))), ("fields", 0, "type", "symbols"), "its default is one of them"),
        (record(of({"type": "fixed", "name": "F", "size": "4"})), ("fields", 0, "type", "size"), "number of bytes"),
        (record(of({"type": "array"})), ("fields", 0, "type"), "needs 'items'"),
        (record({"name": "a"}), ("fields", 0), "a name and a type"),
        (record(of(record(of("int")))), ("fields", 0, "type", "name"), "written down twice"),
        (7, (), "where a type is needed"),
    ],
)
def test_a_wrong_schema_is_refused(schema: object, loc: tuple[str | int, ...], said: str) -> None:
    with pytest.raises(UnreadableSchemaError, match=said) as refused:
        read_avro(schema)
    assert refused.value.loc == loc
