"""Whether records of one Protobuf message can be read under another version of it.

Readers find fields by their numbers. Beyond what parsers refuse, a value that would be read as another one is a breach:
parsers cut numbers to their size, and take what a field's absence meant for something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sluice.contracts.breach import Breach
from sluice.contracts.protobuf import TIMESTAMP, ProtobufField, ProtobufMessage, ProtobufSchema

_WIDER = {
    "int32": {"int64"},
    "uint32": {"uint64", "int64"},
    "sint32": {"sint64"},
    "string": {"bytes"},
}
"""Types, and those that read each of their values as the same one."""
_OF_ABSENCE = {
    ("implicit", "explicit"): "is absent where it is its default, and would be read as absent",
    ("explicit", "implicit"): "may be absent, and would be read as its default",
}


def unreadable(writer: ProtobufSchema, reader: ProtobufSchema, message: str | None = None) -> list[Breach]:
    """Return what a reader cannot read, or would read as something else, of what a writer may have written.

    Args:
        writer: the schema that records are written under.
        reader: the schema that they are read under.
        message: what records are; None: the only message of the file. One that is not there is no breach: see
            `ProtobufSchema.root`.
    """
    written, wanted = writer.root(message), reader.root(message)
    if written is None or wanted is None:
        return []
    return list(_Comparison(writer, reader).of(written, wanted, ""))


@dataclass(frozen=True)
class _Comparison:
    writer: ProtobufSchema
    reader: ProtobufSchema
    under_way: set[tuple[str, str]] = field(default_factory=set)

    def of(self, writer: ProtobufMessage, reader: ProtobufMessage, path: str) -> Iterator[Breach]:
        if (pair := (writer.name, reader.name)) in self.under_way:  # a recursive message is compared once
            return
        self.under_way.add(pair)
        before = f"{path}." if path else ""
        by_number = {each.number: each for each in reader.fields}
        for each in writer.fields:
            other, renamed = by_number.get(each.number), reader.field(each.name)
            if other is not None:
                yield from self._field(each, other, f"{before}{other.name}")
            elif renamed is not None:
                message = f"is written as number {each.number}, and read from number {renamed.number}"
                yield Breach(f"{before}{each.name}", message, "keep the number.")
        numbers = {each.number for each in writer.fields}
        for each in reader.fields:
            if each.presence == "required" and each.number not in numbers:
                yield Breach(f"{before}{each.name}", "is not written, and is required", "make it optional.")
        yield from _joined(writer, by_number, before)

    def _field(self, written: ProtobufField, wanted: ProtobufField, path: str) -> Iterator[Breach]:
        if written.name != wanted.name:
            message = f"has the number {wanted.number}, which was that of {written.name}"
            yield Breach(path, message, "keep the name of a number, or take a number that was never used.")
            return
        entries = self.writer.entry(written), self.reader.entry(wanted)
        if written.repeated != wanted.repeated or (entries[0] is None) != (entries[1] is None):
            what = [_plural(each, entry) for each, entry in zip((written, wanted), entries, strict=True)]
            yield Breach(path, f"is {what[0]}, and {what[1]} is wanted", _OTHERWISE)
        elif entries[0] is not None and entries[1] is not None:
            yield from self.of(entries[0], entries[1], f"{path}{{}}")
        else:
            yield from self._type(written, wanted, f"{path}[]" if written.repeated else path)
            yield from _presence(written, wanted, path)

    def _type(self, written: ProtobufField, wanted: ProtobufField, path: str) -> Iterator[Breach]:
        kinds = written.type, wanted.type
        if kinds[0] != kinds[1] and kinds[1] not in _WIDER.get(kinds[0], ()):
            yield Breach(path, f"may be {_named(written)}, and {_named(wanted)} is wanted", _OTHERWISE)
        elif kinds[0] == "enum":
            own, other = self.writer.enums[written.of], self.reader.enums[wanted.of]
            if lost := [symbol for number, symbol in own.items() if other.get(number) != symbol]:
                message = f"may be {', '.join(lost)}, which its enum does not have under that number"
                yield Breach(path, message, "keep names and numbers of an enum; add to it only.")
        elif kinds[0] in ("message", "group"):
            if (written.of == TIMESTAMP) is not (wanted.of == TIMESTAMP):
                yield Breach(path, f"is {written.of}, and {wanted.of} is wanted", _OTHERWISE)
            yield from self.of(self.writer.messages[written.of], self.reader.messages[wanted.of], path)


_OTHERWISE = "keep the type, or give the new one a name and a number of its own."


def _presence(written: ProtobufField, wanted: ProtobufField, path: str) -> Iterator[Breach]:
    if wanted.presence == "required" and written.presence != "required":
        yield Breach(path, "may be absent, and is required", "make it optional.")
    elif message := _OF_ABSENCE.get((written.presence, wanted.presence)):
        yield Breach(path, message, "keep `optional` as it is, or give the new field a name and a number of its own.")


def _joined(writer: ProtobufMessage, reader: dict[int, ProtobufField], before: str) -> Iterator[Breach]:
    """Yield fields that may stand beside another one of their group, of which a reader keeps only the last."""
    first: dict[str, ProtobufField] = {}
    for written in writer.fields:
        wanted = reader.get(written.number)
        if wanted is None or not wanted.oneof or wanted.name != written.name:
            continue
        other = first.setdefault(wanted.oneof, written)
        if other is not written and not (written.oneof and written.oneof == other.oneof):
            message = f"may be there beside {other.name}, and only one of the group {wanted.oneof} is read"
            yield Breach(f"{before}{written.name}", message, "keep them apart, or give new fields to the group.")


def _plural(each: ProtobufField, entry: ProtobufMessage | None) -> str:
    return "a map" if entry is not None else "a list" if each.repeated else "one value"


def _named(each: ProtobufField) -> str:
    return f"a {each.type}" if each.type in ("message", "group") else each.type
