"""Whether records of one Avro schema can be read under another: Avro's rules of schema resolution.

Beyond them, a type that stands for something else than before is a breach: the bytes could be read, as another value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sluice.contracts.avro import Avro, AvroSchema, Field, Items, Named, Primitive, Union
from sluice.contracts.breach import Breach

_PROMOTED = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}


def unresolvable(writer: AvroSchema, reader: AvroSchema) -> list[Breach]:
    """Return what a reader cannot read of what a writer may have written."""
    return list(_Resolution(writer, reader).of(writer.top, reader.top, ""))


@dataclass(frozen=True)
class _Resolution:
    writer: AvroSchema
    reader: AvroSchema
    under_way: set[tuple[str, str]] = field(default_factory=set)

    def of(self, written: Avro, wanted: Avro, path: str) -> Iterator[Breach]:
        writer, reader = self.writer.resolved(written), self.reader.resolved(wanted)
        if isinstance(writer, Union):
            for branch in writer.branches:
                yield from self.of(branch, reader, path)
            return
        if isinstance(reader, Union):
            attempts = [list(self.of(writer, branch, path)) for branch in reader.branches]
            if all(attempts):
                same = [attempt for attempt, b in zip(attempts, reader.branches, strict=True) if self._alike(writer, b)]
                yield from min(same, key=len) if same else [_other(writer, reader, path)]
            return
        match writer, reader:
            case (Primitive(), Primitive()):
                yield from _primitives(writer, reader, path)
            case (Items(), Items()) if writer.kind == reader.kind:
                yield from self.of(writer.items, reader.items, f"{path}[]")
            case (Named(), Named()) if writer.kind == reader.kind:
                yield from self._named(writer, reader, path)
            case _:
                yield _other(writer, reader, path)

    def _alike(self, writer: Primitive | Named | Items, branch: Avro) -> bool:
        reader = self.reader.resolved(branch)
        match writer, reader:
            case (Named(), Named()):
                return writer.kind == reader.kind and _same_name(writer, reader)
            case (Items(), Items()):
                return writer.kind == reader.kind
            case (Primitive(), Primitive()):
                return writer.name == reader.name
            case _:
                return False

    def _named(self, writer: Named, reader: Named, path: str) -> Iterator[Breach]:
        if not _same_name(writer, reader):
            fix = f"keep the name, or add {writer.name!r} to `aliases`."
            yield Breach(path, f"is the {writer.kind} {writer.name!r}, and {reader.name!r} is wanted", fix)
        elif reader.kind == "record":
            if (pair := (writer.name, reader.name)) not in self.under_way:  # a recursive type is compared once
                self.under_way.add(pair)
                for each in reader.fields:
                    yield from self._field(writer, each, f"{path}.{each.name}" if path else each.name)
        elif reader.kind == "enum":
            unknown = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
            if unknown and reader.default is None:
                fix = "keep them, or give the enum a default."
                yield Breach(path, f"may be {', '.join(unknown)}, which the enum does not have", fix)
        elif writer.size != reader.size:
            message = f"has {writer.size} bytes, and {reader.size} are wanted"
            yield Breach(path, message, "keep the size, or write it under a name of its own.")
        elif writer.logical != reader.logical:
            yield _logical(writer.logical, reader.logical, path)

    def _field(self, writer: Named, wanted: Field, path: str) -> Iterator[Breach]:
        names = (wanted.name, *wanted.aliases)
        own = next((own for name in names for own in writer.fields if own.name == name), None)
        if own is not None:
            yield from self.of(own.type, wanted.type, path)
        elif not wanted.has_default:
            yield Breach(path, "is not written, and has no default", "give it a default.")


def _same_name(writer: Named, reader: Named) -> bool:
    return writer.short == reader.short or writer.name in reader.aliases


def _primitives(writer: Primitive, reader: Primitive, path: str) -> Iterator[Breach]:
    if writer.name != reader.name and reader.name not in _PROMOTED.get(writer.name, ()):
        yield _other(writer, reader, path)
    elif writer.logical != reader.logical:
        yield _logical(writer.logical, reader.logical, path)


def _logical(written: str, wanted: str, path: str) -> Breach:
    message = f"stands for {written or 'itself'}, and would be read as {wanted or 'itself'}: as another value"
    return Breach(path, message, "keep the logicalType, or write the new one under a name of its own.")


def _other(writer: Primitive | Named | Items, reader: Primitive | Named | Items | Union, path: str) -> Breach:
    fix = "keep the type or a union with it, or write the new one under a name of its own."
    return Breach(path, f"may be {_name(writer)}, and {_name(reader)} is wanted", fix)


def _name(type_: Avro) -> str:
    match type_:
        case Primitive(name):
            return name
        case Items(kind):
            return f"an {kind}" if kind == "array" else f"a {kind}"
        case Union(branches):
            return " or ".join(map(_name, branches))
        case Named(kind, name):
            return f"the {kind} {name}"
        case _:
            return type_.name
