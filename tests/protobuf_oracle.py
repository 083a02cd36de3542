"""What Protobuf's own library says of bytes, and what a plain walk over them says that the library passes over.

The library is the judge of what a message is and of its values. It is silent where a field is written as another type,
and where a number is cut to the size of its field: the walk, written from the specification, finds these. Neither
shares code with us.
"""

from __future__ import annotations

import math
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc

VARINT, FIXED64, LENGTH, GROUP, FIXED32 = 0, 1, 2, 3, 5
_WIRES = {
    **dict.fromkeys(("DOUBLE", "FIXED64", "SFIXED64"), FIXED64),
    **dict.fromkeys(("FLOAT", "FIXED32", "SFIXED32"), FIXED32),
    **dict.fromkeys(("STRING", "BYTES", "MESSAGE"), LENGTH),
    "GROUP": GROUP,
}
_TYPES = {getattr(FieldDescriptor, name): name[5:] for name in dir(FieldDescriptor) if name.startswith("TYPE_")}


def classes(text: str) -> dict[str, type[Message]]:
    """Return the messages of a `.proto` file by their full names."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.proto").write_text(text)
        known = Path(protoc.__file__).parent / "_proto"
        out = Path(folder, "out")
        assert not protoc.main(
            ["protoc", f"-I{folder}", f"-I{known}", "--include_imports", f"--descriptor_set_out={out}", "a.proto"]
        )
        files = FileDescriptorSet.FromString(out.read_bytes())
    pool = DescriptorPool()
    for file in files.file:
        pool.Add(file)
    found = pool.FindFileByName("a.proto").message_types_by_name.values()
    return {each.full_name: GetMessageClass(each) for each in found}


def parsed(kind: type[Message], data: bytes) -> Message | None:
    """Return the message; None if the library refuses the bytes."""
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    return message


class _BrokenError(Exception):
    """The tenth byte of a number is no one, or a field in a group that is skipped has the number 0: parsers differ."""


def silent_faults(descriptor: Descriptor, data: bytes) -> set[str]:
    """Return what the library passes over in bytes that it takes: `malformed`, `wrong_type`, `not_finite`."""
    try:
        return set(_faults(descriptor, data))
    except _BrokenError:
        return {"malformed"}


def _faults(descriptor: Descriptor, data: bytes) -> Iterator[str]:
    for number, wire, value in _fields(data):
        field = descriptor.fields_by_number.get(number)
        if field is None:
            if descriptor.GetOptions().map_entry:  # the library leaves such an entry out, and others do not
                yield "wrong_type"
            continue
        kind = _TYPES[field.type]
        wanted = _WIRES.get(kind, VARINT)
        if wire == wanted and wire == LENGTH:
            if field.message_type is not None:
                yield from _faults(field.message_type, value)
        elif wire == wanted:
            yield from _of_number(kind, value)
        elif wire == LENGTH and field.is_repeated:
            for each in _packed(wanted, value):
                yield from _of_number(kind, each)
        else:
            yield "wrong_type"


def _of_number(kind: str, value: Any) -> Iterator[str]:  # noqa: ANN401 - of any type
    if kind in ("DOUBLE", "FLOAT"):
        (number,) = struct.unpack("<d" if kind == "DOUBLE" else "<f", value)
        if not math.isfinite(number):
            yield "not_finite"
    elif kind in ("INT32", "SINT32", "UINT32", "BOOL"):
        signed = value - (1 << 64) if value >> 63 else value
        number = {"SINT32": (value >> 1) ^ -(value & 1), "INT32": signed}.get(kind, value)
        low, high = {"UINT32": (0, 1 << 32), "BOOL": (0, 2)}.get(kind, (-(1 << 31), 1 << 31))
        if not low <= number < high:
            yield "wrong_type"


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        value, place = _value(data, place, tag)
        yield tag >> 3, tag & 7, value


def _value(data: bytes, place: int, tag: int) -> tuple[Any, int]:
    match tag & 7:
        case 0:
            return _varint(data, place)
        case 1 | 5:
            size = 8 if tag & 7 == FIXED64 else 4
            return data[place : place + size], place + size
        case 2:
            size, place = _varint(data, place)
            return data[place : place + size], place + size
        case _:
            while True:
                inner, place = _varint(data, place)
                if inner >> 3 == 0:
                    raise _BrokenError
                if inner & 7 == 4:
                    return b"", place
                _, place = _value(data, place, inner)


def _packed(wire: int, data: bytes) -> Iterator[Any]:
    place, size = 0, {FIXED64: 8, FIXED32: 4}.get(wire)
    while place < len(data):
        if size is None:
            value, place = _varint(data, place)
            yield value
        else:
            yield data[place : place + size]
            place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        part = data[place]
        number |= (part & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if shift == 70 and part != 1:
            raise _BrokenError
        if part < 0x80:
            return number, place
