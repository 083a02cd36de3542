"""Avro's own judgement of pairs of schemas, from the library beside Spark, against ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from sluice.contracts.avro import read_avro
from sluice.contracts.resolution import unresolvable

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
DEFAULTS: dict[str, object] = {
    "null": None,
    "boolean": True,
    "int": 1,
    "long": 1,
    "float": 1.0,
    "double": 1.0,
    "bytes": "a",
    "string": "a",
}


@st.composite
def types(draw: st.DrawFn, depth: int = 2, path: str = "T") -> Any:  # noqa: ANN401 - JSON
    """Make a type; named ones are named by where they are, so that each name is there once."""
    kinds = ["primitive"] * 3 + ["enum", "fixed"] + (["record", "array", "map", "union"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    name = f"{path}{kind[0]}{draw(st.sampled_from(['', 'x']))}"
    found: Any = draw(st.sampled_from(PRIMITIVES))
    if kind == "enum":
        symbols = draw(st.lists(st.sampled_from(["A", "B", "C"]), min_size=1, unique=True))
        found = {"type": "enum", "name": name, "symbols": symbols}
        if draw(st.booleans()):
            found["default"] = symbols[0]
    elif kind == "fixed":
        found = {"type": "fixed", "name": name, "size": draw(st.integers(1, 2))}
    elif kind in ("array", "map"):
        part = "items" if kind == "array" else "values"
        found = {"type": kind, part: draw(types(depth=depth - 1, path=f"{path}{kind[0].upper()}"))}
    elif kind == "union":
        parts = draw(st.lists(types(depth=depth - 1, path=f"{path}u"), min_size=1, max_size=3, unique_by=_kind))
        found = [part for part in parts if not isinstance(part, list)] or ["null"]
    elif kind == "record":
        names = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True))
        found = {"type": "record", "name": name, "fields": [draw(fields(each, depth - 1, path)) for each in names]}
    return found


@st.composite
def fields(draw: st.DrawFn, name: str, depth: int, path: str) -> dict[str, Any]:
    type_ = draw(types(depth=depth, path=f"{path}{name}"))
    found: dict[str, Any] = {"name": name, "type": type_}
    if isinstance(type_, str) and draw(st.booleans()):
        found["default"] = DEFAULTS[type_]
    return found


def _kind(type_: object) -> str:
    if isinstance(type_, dict):
        return str(type_["name"] if "name" in type_ else type_["type"])
    return "union" if isinstance(type_, list) else str(type_)


def near(type_: Any) -> Iterator[Any]:  # noqa: ANN401 - JSON
    """Yield types that differ from one in a part of it: these are what versions are."""
    yield type_
    if not isinstance(type_, list):
        yield ["null", type_] if type_ != "null" else "null"
    if isinstance(type_, str):
        yield from PRIMITIVES
    elif isinstance(type_, dict) and type_["type"] == "record":
        own = type_["fields"]
        for number, each in enumerate(own):
            others = own[:number], own[number + 1 :]
            yield {**type_, "fields": [*others[0], *others[1]]}
            bare = {key: part for key, part in each.items() if key != "default"}
            yield {**type_, "fields": [*others[0], bare, *others[1]]}
            for other in near(each["type"]):
                yield {**type_, "fields": [*others[0], {"name": each["name"], "type": other}, *others[1]]}
            yield {**type_, "fields": [*others[0], {**bare, "name": "z", "aliases": [each["name"]]}, *others[1]]}
    elif isinstance(type_, dict) and type_["type"] in ("array", "map"):
        part = "items" if type_["type"] == "array" else "values"
        yield from ({**type_, part: other} for other in near(type_[part]))


@pytest.mark.timeout(300)
def test_what_avro_resolves_we_do_and_nothing_else(spark: SparkSession) -> None:
    avro = spark._jvm.org.apache.avro  # type: ignore[union-attr]  # PySpark shows no library of its JVM
    seen = {True: 0, False: 0}

    @settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(data=st.data(), writer=types())
    def agree(data: st.DataObject, writer: Any) -> None:  # noqa: ANN401 - JSON
        reader = data.draw(types() | st.sampled_from(list(near(writer))))
        theirs = [avro.Schema.Parser().parse(json.dumps(each)) for each in (reader, writer)]
        kind = avro.SchemaCompatibility.checkReaderWriterCompatibility(*theirs).getType().toString()
        found = unresolvable(read_avro(writer), read_avro(reader))
        assert (not found) is (kind == "COMPATIBLE"), (found, kind)
        seen[not found] += writer != reader

    agree()
    assert min(seen.values()) > 20, f"too few of one kind: {seen}"
