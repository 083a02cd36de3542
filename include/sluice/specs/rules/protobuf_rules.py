"""Whether a topic's spec reads what its Protobuf messages hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sluice.contracts.breach import Loc
from sluice.contracts.contract import Version
from sluice.contracts.protobuf import TIMESTAMP, ProtobufField, ProtobufMessage, ProtobufSchema
from sluice.specs.model.model import FieldType, TopicSpec, TopicValue, ValueField
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.reading import SpecMisfit

_WHOLE = frozenset(
    ["int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"]
)
_OF_TYPE: Mapping[FieldType, frozenset[str]] = {
    FieldType.STRING: frozenset({"string", "enum"}),
    FieldType.LONG: _WHOLE,
    FieldType.INTEGER: _WHOLE,
    FieldType.DOUBLE: _WHOLE | {"float", "double"},
    FieldType.DECIMAL: _WHOLE | {"string"},
    FieldType.BOOLEAN: frozenset({"bool"}),
    FieldType.DATE: frozenset({"string"}),
    FieldType.BINARY: frozenset({"bytes"}),
    FieldType.OBJECT: frozenset({"message", "group"}),
}
"""Under which types of a spec single values read; times depend on how they are declared."""


def unknown_names(value: TopicValue, versions: Iterable[Version]) -> Iterator[SpecMisfit]:
    """Yield the message and the fields that a spec names, and that no version under which its values are written has.

    Args:
        value: of a topic; nothing is asked of other formats than Protobuf.
        versions: the sound ones of its contract.
    """
    named = {version.number: version.schema for version in versions if version.number in value.versions.values()}
    absent: list[dict[Loc, tuple[str, str]]] = []
    for number, schema in named.items():
        if not isinstance(schema, ProtobufSchema) or value.format != "protobuf":
            continue
        if (root := schema.root(value.message)) is not None:
            absent.append({loc: (message, fix) for loc, message, fix in _absent(schema, root, value.fields, ())})
        elif value.message is None:
            message = f"version {number} of the contract has not one message, and nothing says which one a value is."
            yield ("format",), message, f"write `message`; {nearest('', schema.own)}"
        else:
            message = f"version {number} of the contract has no message {value.message!r}, or several of that name."
            yield ("message",), message, nearest(value.message, schema.own)
    for loc in set(absent[0]).intersection(*absent) if absent else ():
        yield loc, *absent[-1][loc]


def _absent(
    schema: ProtobufSchema, message: ProtobufMessage, fields: Mapping[str, ValueField], loc: Loc
) -> Iterator[SpecMisfit]:
    """Yield the fields that a message does not have, those inside of others too."""
    for name, declared in fields.items():
        where, found = (*loc, "fields", name), _follow(schema, message, keys := declared.keys(name))
        if found is None:
            fix = nearest(keys[-1], [each.name for each in message.fields])
            yield where, f"there is no {'.'.join(keys)!r} in the message {message.name}.", fix
        elif (inside := _inside(schema, found, declared)) is not None:
            keys = tuple(key for key in ("items", "values") if getattr(declared, key) is not None)
            yield from _absent(schema, inside[0], inside[1], (*where, *keys))


def _inside(
    schema: ProtobufSchema, found: ProtobufField, declared: ValueField
) -> tuple[ProtobufMessage, Mapping[str, ValueField]] | None:
    """Return the message that a field or its entries are, and what is declared of it; None if it is none."""
    entry = schema.entry(found)
    single = entry.field("value") if entry is not None else found
    fields = (declared.items or declared.values or declared).fields
    message = schema.messages.get(single.of) if single is not None else None
    return None if message is None or fields is None else (message, fields)


def unfit_fields(number: int, file: str, schema: ProtobufSchema, spec: TopicSpec) -> Iterator[Fault]:
    """Yield where records of a version would be quarantined: required fields that it lacks, and other types.

    Args:
        number: of the version.
        file: for people.
        schema: what the file says.
        spec: of the topic.
    """
    root = schema.root(spec.value.message)
    if root is None:
        message, fix = f"the message of {spec.name} is not in it.", "name one of its messages as `message` of the spec."
        yield Fault(file, 1, "", message, fix)
        return
    for name, declared in spec.value.fields.items():
        found = _follow(schema, root, declared.keys(name))
        if found is None and declared.required:
            message = f"version {number} does not have it, and the spec of {spec.name} requires it."
            yield Fault(file, root.line, name, message, "make it optional there, or declare it here.")
        for where, each, wanted in () if found is None else _unfit(schema, name, found, declared):
            message = f"is {_named(schema, each)}, which does not read as the {wanted} of the spec of {spec.name}."
            line = each.line or (0 if found is None else found.line) or root.line
            yield Fault(file, line, where, message, "make the two agree.")


def _follow(schema: ProtobufSchema, root: ProtobufMessage, keys: Iterable[str]) -> ProtobufField | None:
    """Return the field to which keys lead; None if there is none, or a list or a map is on the way."""
    message: ProtobufMessage | None = root
    found: ProtobufField | None = None
    for key in keys:
        if message is None or (found is not None and found.repeated):
            return None
        found = message.field(key)
        message = schema.messages.get(found.of) if found is not None else None
    return found


_Unfit = tuple[str, ProtobufField, str]
"""The way to a field in words of the spec, the field, and the type that is wanted."""


def _unfit(schema: ProtobufSchema, where: str, found: ProtobufField, declared: ValueField) -> Iterator[_Unfit]:
    """Yield each field of another type."""
    entry = schema.entry(found)
    if not found.repeated:
        yield from _unfit_single(schema, where, found, declared)
    elif entry is not None and declared.values is not None:
        value = entry.field("value") or found
        yield from _unfit_single(schema, f"{where}{{}}", value, declared.values)
    elif entry is None and declared.items is not None:
        yield from _unfit_single(schema, f"{where}[]", found, declared.items)
    else:
        yield where, found, declared.words


def _unfit_single(schema: ProtobufSchema, where: str, found: ProtobufField, declared: ValueField) -> Iterator[_Unfit]:
    fits = _time_fits(found, declared) if declared.type is FieldType.TIMESTAMP else _is_of(found, declared.type)
    if not fits:
        yield where, found, declared.words
    for name, field in (declared.fields or {}).items() if fits else ():
        inner = _follow(schema, schema.messages[found.of], field.keys(name))
        if inner is not None:
            yield from _unfit(schema, f"{where}.{name}", inner, field)


def types_reading(found: ProtobufField) -> frozenset[FieldType]:
    """Return the types under which single values of a field read, without more being declared of them."""
    kinds = {kind for kind in _OF_TYPE if _is_of(found, kind)}
    return frozenset(kinds | ({FieldType.TIMESTAMP} if found.of == TIMESTAMP else set()))


def _is_of(found: ProtobufField, kind: FieldType) -> bool:
    return found.type in _OF_TYPE.get(kind, frozenset())


def _time_fits(found: ProtobufField, declared: ValueField) -> bool:
    if declared.epoch is not None:
        return found.type in _WHOLE
    plain = declared.zone is None and declared.format is None
    return found.type == "string" or (plain and found.of == TIMESTAMP)


def _named(schema: ProtobufSchema, found: ProtobufField) -> str:
    one = found.of if found.type in ("message", "group", "enum") else found.type
    if schema.entry(found) is not None:
        return "a map"
    return f"a list of {one}" if found.repeated else one
