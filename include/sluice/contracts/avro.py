"""Avro schemas (`.avsc`, specification 1.12) as types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sluice.contracts.breach import Loc, UnreadableSchemaError
from sluice.contracts.shapes import Json

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


@dataclass(frozen=True)
class Primitive:
    """A type without parts.

    Attributes:
        name: one of `PRIMITIVES`.
        logical: what it stands for, such as `timestamp-millis` or `decimal(9,2)`; empty for nothing else.
    """

    name: str
    logical: str = ""


@dataclass(frozen=True)
class Field:
    """A field of a record."""

    name: str
    type: Avro
    has_default: bool
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Named:
    """A record, an enum or a fixed.

    Attributes:
        kind: `record`, `enum` or `fixed`.
        name: with its namespace.
        aliases: earlier names, with their namespaces.
        fields: of a record.
        symbols: of an enum.
        default: the symbol that an enum's unknown ones are read as.
        size: of a fixed, in bytes.
        logical: what a fixed stands for; empty for nothing else.
    """

    kind: str
    name: str
    aliases: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    symbols: tuple[str, ...] = ()
    default: str | None = None
    size: int = 0
    logical: str = ""

    @property
    def short(self) -> str:
        """The name without its namespace."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True)
class Items:
    """An array, or a map from text."""

    kind: str
    items: Avro


@dataclass(frozen=True)
class Union:
    """One of several types."""

    branches: tuple[Avro, ...]


@dataclass(frozen=True)
class Reference:
    """A named type that is written down elsewhere in the file."""

    name: str


Avro: TypeAlias = Primitive | Named | Items | Union | Reference


@dataclass(frozen=True)
class AvroSchema:
    """A file.

    Attributes:
        top: its type.
        named: its named types, by name with namespace.
    """

    top: Avro
    named: Mapping[str, Named]

    def resolved(self, type_: Avro) -> Primitive | Named | Items | Union:
        """Return what a reference stands for."""
        return self.named[type_.name] if isinstance(type_, Reference) else type_


def read_avro(document: Json) -> AvroSchema:
    """Read a schema.

    Raises:
        UnreadableSchemaError: it is wrong.
    """
    reader = _Reader()
    return AvroSchema(reader.type(document, (), ""), reader.named)


@dataclass
class _Reader:
    named: dict[str, Named] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)

    def type(self, node: Json, loc: Loc, namespace: str) -> Avro:
        if isinstance(node, str):
            return self._by_name(node, loc, namespace)
        if isinstance(node, list):
            return self._union(node, loc, namespace)
        if not isinstance(node, Mapping) or "type" not in node:
            raise UnreadableSchemaError(loc, f"found {node!r} where a type is needed.", "write a type of Avro.")
        kind = node["type"]
        match kind:
            case "record" | "error" | "enum" | "fixed":
                return self._of_name(node, loc, namespace)
            case "array" | "map":
                part = "items" if kind == "array" else "values"
                if part not in node:
                    raise UnreadableSchemaError(loc, f"a type {kind} needs {part!r}.")
                return Items(str(kind), self.type(node[part], (*loc, part), namespace))
            case str() if kind in PRIMITIVES:
                return Primitive(kind, _logical(node))
            case _:
                return self.type(kind, (*loc, "type"), namespace)

    def _by_name(self, name: str, loc: Loc, namespace: str) -> Avro:
        if name in PRIMITIVES:
            return Primitive(name)
        full = _full(name, namespace)
        if full not in self._open and full not in self.named:
            fix = f"write one of {', '.join(PRIMITIVES)}, or the name of a type that is defined above."
            raise UnreadableSchemaError(loc, f"there is no type {name!r}.", fix)
        return Reference(full)

    def _union(self, node: list[Json], loc: Loc, namespace: str) -> Union:
        branches = tuple(self.type(each, (*loc, number), namespace) for number, each in enumerate(node))
        kinds = [_kind(branch) for branch in branches]
        if not branches or "union" in kinds or len(set(kinds)) < len(kinds):
            message = "a union has at least one type, none of them a union, and each unnamed one once."
            raise UnreadableSchemaError(loc, message)
        return Union(branches)

    def _of_name(self, node: Mapping[str, Json], loc: Loc, namespace: str) -> Named:
        name, own = node.get("name"), node.get("namespace", namespace)
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(own, str):
            raise UnreadableSchemaError(
                (*loc, "name"), f"{name!r} is no name.", "letters, digits and _, no digit first."
            )
        full = _full(name, own)
        if full in self._open or full in self.named:
            raise UnreadableSchemaError((*loc, "name"), f"{full!r} is written down twice.", "name one otherwise.")
        inner = full.rpartition(".")[0]
        aliases = tuple(_full(str(alias), inner) for alias in _list(node, "aliases", loc))
        self._open.add(full)
        kind = "record" if node["type"] == "error" else str(node["type"])
        found = Named(kind, full, aliases)
        if kind == "record":
            found = Named(kind, full, aliases, fields=self._fields(node, loc, inner))
        elif kind == "enum":
            symbols, default = tuple(map(str, _list(node, "symbols", loc))), node.get("default")
            if not symbols or len(set(symbols)) < len(symbols) or (default is not None and default not in symbols):
                message = "an enum has symbols, each once, and its default is one of them."
                raise UnreadableSchemaError((*loc, "symbols"), message)
            found = Named(kind, full, aliases, symbols=symbols, default=None if default is None else str(default))
        else:
            size = node.get("size")
            if isinstance(size, bool) or not isinstance(size, int) or size < 0:
                raise UnreadableSchemaError((*loc, "size"), f"found {size!r} where a number of bytes is needed.")
            found = Named(kind, full, aliases, size=size, logical=_logical(node))
        self.named[full] = found
        return found

    def _fields(self, node: Mapping[str, Json], loc: Loc, namespace: str) -> tuple[Field, ...]:
        fields: list[Field] = []
        for number, each in enumerate(_list(node, "fields", loc)):
            where = (*loc, "fields", number)
            if not isinstance(each, Mapping) or not isinstance(each.get("name"), str) or "type" not in each:
                raise UnreadableSchemaError(where, "a field has a name and a type.")
            name = str(each["name"])
            if name in (other.name for other in fields):
                raise UnreadableSchemaError((*where, "name"), f"the field {name!r} is there twice.", "keep one.")
            type_ = self.type(each["type"], (*where, "type"), namespace)
            aliases = tuple(map(str, _list(each, "aliases", where)))
            fields.append(Field(name, type_, "default" in each, aliases))
        return tuple(fields)


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _kind(type_: Avro) -> str:
    match type_:
        case Primitive(name):
            return name
        case Items(kind):
            return kind
        case Union():
            return "union"
        case _:
            return f"named {type_.name}"


def _logical(node: Mapping[str, Json]) -> str:
    name = node.get("logicalType")
    if not isinstance(name, str):
        return ""
    return f"decimal({node.get('precision')},{node.get('scale', 0)})" if name == "decimal" else name


def _list(node: Mapping[str, Json], key: str, loc: Loc) -> list[Json]:
    value = node.get(key, [])
    if not isinstance(value, list):
        raise UnreadableSchemaError((*loc, key), "it needs a list.")
    return value
