"""The fields of a topic from the Avro schema of its records, by what `sluice check` lets a field read. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sluice.contracts.avro import Avro, AvroSchema, Field, Items, Named, Primitive, Union
from sluice.contracts.promise import promise_of_avro
from sluice.errors import SpecError
from sluice.provisioning.importing.schema_fields import (
    Declared,
    Declaring,
    SchemaField,
    SchemaSample,
    in_place,
    named_fields,
)
from sluice.specs.model.fields import MOST_DIGITS
from sluice.specs.model.model import FieldType

_DECIMAL = re.compile(r"decimal\(([0-9]{1,9}),([0-9]{1,9})\)")
_NULL = Primitive("null")
_Branch = Primitive | Named | Items


def fields_of_avro(schema: AvroSchema) -> SchemaSample:
    """Return the fields of records under a schema.

    Raises:
        SpecError: its values are not records.
    """
    top = schema.resolved(schema.top)
    if not isinstance(top, Named) or top.kind != "record":
        raise SpecError(
            "the values of this Avro schema are no records, so they have no fields.",
            fix="pass the schema of a record.",
        )
    walk = _AvroFields(schema)
    found: dict[str, SchemaField] = {}
    for (name, path), each in zip(named_fields([each.name for each in top.fields]), top.fields, strict=True):
        declared = walk.declared(each.type, each.name, (top.name,))
        if declared is not None:
            may_be_time = declared["type"] == FieldType.TIMESTAMP
            always = promise_of_avro(each.type, schema).always
            found[name] = SchemaField(in_place(declared, path, required=always), "", may_be_time)
    return SchemaSample(found, tuple(walk.declaring.notes))


@dataclass
class _AvroFields:
    schema: AvroSchema
    declaring: Declaring = field(default_factory=Declaring)

    def declared(self, type_: Avro, where: str, around: tuple[str, ...]) -> Declared | None:
        """Return how a value is declared; None, with a note, if it cannot be.

        Args:
            type_: of the value.
            where: the way to it in words, such as `lines[].sku`.
            around: the names of the records that it is inside of, and a name for each list and map.
        """
        if self.declaring.is_full(where, around):
            return None
        branches = self._branches(type_)
        promise = promise_of_avro(type_, self.schema)
        if not promise.types or not branches:
            self.declaring.leave_out(where, f"it is {promise.words}, which no type of a spec reads")
            return None
        first, *others = branches
        if others and any(map(_has_parts, branches)):
            self.declaring.leave_out(where, f"it is one of several types ({promise.words})")
            return None
        if isinstance(first, Items):
            return self._entries(first, where, around)
        if isinstance(first, Named) and first.kind == "record":
            return self._record(first, where, around)
        kind = _narrowest(promise.types, branches)
        return self._decimal(branches, where) if kind is FieldType.DECIMAL else {"type": kind, **_symbols(branches)}

    def _branches(self, type_: Avro) -> list[_Branch]:
        resolved = self.schema.resolved(type_)
        all_ = [self.schema.resolved(each) for each in resolved.branches] if isinstance(resolved, Union) else [resolved]
        return [each for each in all_ if each != _NULL and not isinstance(each, Union)]

    def _entries(self, items: Items, where: str, around: tuple[str, ...]) -> Declared | None:
        key, behind, kind = (
            ("items", "[]", FieldType.ARRAY) if items.kind == "array" else ("values", "{}", FieldType.MAP)
        )
        entry = self.declared(items.items, f"{where}{behind}", (*around, behind))
        return None if entry is None else {"type": kind, key: entry}

    def _record(self, record: Named, where: str, around: tuple[str, ...]) -> Declared | None:
        def declare(each: Field, here: str, inside: tuple[str, ...]) -> Declared | None:
            return self.declared(each.type, here, inside)

        def place(declared: Declared, path: Declared, each: Field) -> Declared:
            return in_place(declared, path, required=promise_of_avro(each.type, self.schema).always)

        named, within = (record.name, record.short), (where, around)
        return self.declaring.record(named, record.fields, declare, place, within=within)

    def _decimal(self, branches: list[_Branch], where: str) -> Declared | None:
        logical = {each.logical for each in branches if not isinstance(each, Items)}
        digits = _DECIMAL.fullmatch(logical.pop()) if len(logical) == 1 else None
        precision, scale = (int(digits[1]), int(digits[2])) if digits is not None else (0, 0)
        if not 1 <= precision <= MOST_DIGITS or scale > precision:
            self.declaring.leave_out(where, f"a decimal of a spec has 1 to {MOST_DIGITS} digits, and one scale")
            return None
        return {"type": FieldType.DECIMAL, "precision": precision, **({"scale": scale} if scale else {})}


def _has_parts(branch: _Branch) -> bool:
    return isinstance(branch, Items) or (isinstance(branch, Named) and branch.kind == "record")


def _narrowest(types: frozenset[str], branches: list[_Branch]) -> FieldType:
    """Return the type that is meant of those that read all branches: only whole numbers have several."""
    if FieldType.INTEGER in types and all(isinstance(each, Primitive) and each.name == "int" for each in branches):
        return FieldType.INTEGER
    return FieldType.LONG if FieldType.LONG in types else FieldType(min(types))


def _symbols(branches: list[_Branch]) -> Declared:
    symbols = [each.symbols for each in branches if isinstance(each, Named) and each.kind == "enum"]
    if len(symbols) < len(branches):  # text may be anything
        return {}
    return {"one_of": list(dict.fromkeys(symbol for each in symbols for symbol in each))}
