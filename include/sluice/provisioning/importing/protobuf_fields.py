"""The fields of a topic from the Protobuf message that its records are, by what `sluice check` lets them read. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from sluice.contracts.protobuf import ProtobufField, ProtobufMessage, ProtobufSchema
from sluice.errors import SpecError
from sluice.provisioning.importing.schema_fields import (
    Declared,
    Declaring,
    SchemaField,
    SchemaSample,
    in_place,
    named_fields,
)
from sluice.specs.model.model import FieldType
from sluice.specs.rules.protobuf_rules import types_reading
from sluice.wording import listed

_WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
"""Messages that hold one value, so that its absence shows."""
_OF_32_BITS = frozenset({"int32", "sint32", "sfixed32"})
_UNSIGNED = frozenset({"uint64", "fixed64"})
_MEANT = (
    *(FieldType.TIMESTAMP, FieldType.STRING, FieldType.LONG, FieldType.DOUBLE, FieldType.BOOLEAN),
    *(FieldType.BINARY, FieldType.OBJECT),
)
"""Of the types that read a field, the first in this order is the one that is meant."""


def message_of(schema: ProtobufSchema, name: str) -> ProtobufMessage:
    """Return the message that records are.

    Args:
        schema: of a file.
        name: with or without its package; empty: the only one that stands by itself.

    Raises:
        SpecError: there is none of that name, or nothing says which of several it is.
    """
    root = schema.root(name or None)
    if root is None:
        what = f"the file has no message {name!r}, or several of that name" if name else "the file has not one message"
        raise SpecError(
            f"{what}; its messages: {listed(schema.own) or 'none'}.", fix="name the one that a record is by --message."
        )
    return root


def fields_of_protobuf(schema: ProtobufSchema, root: ProtobufMessage) -> SchemaSample:
    """Return the fields of records that are one message.

    Raises:
        SpecError: it has no fields.
    """
    if not root.fields:
        raise SpecError(f"the message {root.name} has no fields.", fix="name another one by --message.")
    walk = _ProtobufFields(schema)
    found = {}
    for (name, path), each in zip(named_fields([each.name for each in root.fields]), root.fields, strict=True):
        declared = walk.declared(each, each.name, (root.name,))
        if declared is not None:
            may_be_time = declared["type"] == FieldType.TIMESTAMP and not each.oneof
            note = f"one of {each.oneof}, of which a record has at most one" if each.oneof else ""
            found[name] = SchemaField(_in_place(declared, path, each), note, may_be_time)
    return SchemaSample(found, tuple(walk.declaring.notes))


@dataclass
class _ProtobufFields:
    schema: ProtobufSchema
    declaring: Declaring = field(default_factory=Declaring)

    def declared(self, found: ProtobufField, where: str, around: tuple[str, ...]) -> Declared | None:
        """Return how a field is declared; None, with a note, if it cannot be.

        Args:
            found: the field.
            where: the way to it in words, such as `lines[].sku`.
            around: the names of the messages that it is inside of, and a name for each list and map.
        """
        entry = self.schema.entry(found)
        if not found.repeated:
            return self._single(found, where, around)
        if entry is None:
            inside = self._single(found, f"{where}[]", (*around, "[]"), is_entry=True)
            return None if inside is None else {"type": FieldType.ARRAY, "items": inside}
        value = entry.field("value")
        inside = None if value is None else self._single(value, f"{where}{{}}", (*around, "{}"), is_entry=True)
        return None if inside is None else {"type": FieldType.MAP, "values": inside}

    def _single(
        self, found: ProtobufField, where: str, around: tuple[str, ...], *, is_entry: bool = False
    ) -> Declared | None:
        if self.declaring.is_full(where, around):
            return None
        types = types_reading(found)
        kind = next((kind for kind in _MEANT if kind in types), None)
        if kind is None:
            self.declaring.leave_out(where, f"it is {found.type}, which no type of a spec reads")
            return None
        if kind is FieldType.OBJECT:
            return self._message(found, where, around, is_entry=is_entry)
        if found.type in _UNSIGNED:
            self.declaring.notes.append(
                f"{where}: {found.type}, of which a long takes no numbers from 2^63; if there are such, declare "
                f"`type: decimal, precision: 20`"
            )
        if found.type in _OF_32_BITS:
            kind = FieldType.INTEGER
        symbols = list(self.schema.enums[found.of].values()) if found.type == "enum" else []
        return {"type": kind, **({"one_of": symbols} if symbols else {})}

    def _message(self, found: ProtobufField, where: str, around: tuple[str, ...], *, is_entry: bool) -> Declared | None:
        message = self.schema.messages[found.of]
        value = message.field("value")
        if found.of in _WRAPPERS and value is not None and not is_entry:
            declared = self._single(value, where, (*around, message.name))
            return None if declared is None else {**declared, "path": ".value"}
        named, within = (message.name, message.name), (where, around)
        return self.declaring.record(named, message.fields, self.declared, _in_place, within=within)


def _in_place(declared: Declared, path: Declared, found: ProtobufField) -> Declared:
    """Return a declaration with what its message says of it: whether it is always there, and under which keys."""
    inner = declared.get("path", "")
    where = {"path": f"$.{found.name}{inner}"} if inner or path else {}
    value = {key: said for key, said in declared.items() if key != "path"}
    return in_place(value, where, required=found.presence in ("implicit", "required"))
