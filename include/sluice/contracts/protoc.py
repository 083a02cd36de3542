"""Google's compiler, protoc, in this process: the text of one `.proto` file as messages."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_tools import _protoc_compiler, protoc

from sluice.contracts.protobuf import ProtobufField, ProtobufMessage, ProtobufSchema

_FILE, _DESCRIPTORS = "contract.proto", "descriptors"
_WELL_KNOWN = Path(protoc.__file__).parent / "_proto"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SYNTAX = re.compile(r"\ufeff?\s*(syntax|edition)\s*=")
"""What a file begins with, comments aside."""
_TYPES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}
_MESSAGES, _NESTED, _FIELDS = (
    FileDescriptorProto.MESSAGE_TYPE_FIELD_NUMBER,
    DescriptorProto.NESTED_TYPE_FIELD_NUMBER,
    DescriptorProto.FIELD_FIELD_NUMBER,
)


@dataclass(frozen=True)
class ProtobufFault:
    """One thing that is wrong in a file.

    Attributes:
        line: counted from 1.
        message: what was found.
        fix: what to do; empty where the message leaves no doubt.
    """

    line: int
    message: str
    fix: str = ""


class BrokenProtobufError(Exception):
    """A file is no Protobuf schema, or none that a contract can be: all of its faults."""

    def __init__(self, faults: tuple[ProtobufFault, ...]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults


_REFUSED = (ProtobufFault(1, "protoc refuses it, and says nothing of it.", "compile it with protoc."),)


@lru_cache(maxsize=256)
def read_protobuf(text: str) -> ProtobufSchema:
    """Read a file. It takes about a millisecond.

    Raises:
        BrokenProtobufError: it is wrong, or imports other files than Protobuf's own.
    """
    if not _SYNTAX.match(_COMMENT.sub("", text)):
        message = "it does not say in which syntax it is written, and protoc would guess proto2."
        raise BrokenProtobufError((ProtobufFault(1, message, 'begin it with `syntax = "proto3";`.'),))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, _FILE).write_text(text, encoding="utf-8")
        try:
            _protoc_compiler.get_protos(_FILE.encode(), [folder.encode(), str(_WELL_KNOWN).encode()])
        except _protoc_compiler.ProtocErrors as errors:
            raise BrokenProtobufError(tuple(_faults(errors)) or _REFUSED) from None
        descriptors = Path(folder, _DESCRIPTORS)
        further = ("--include_imports", "--include_source_info", f"--descriptor_set_out={descriptors}")
        if protoc.main(["protoc", f"-I{folder}", f"-I{_WELL_KNOWN}", *further, _FILE]):
            raise BrokenProtobufError(_REFUSED)
        files = FileDescriptorSet.FromString(descriptors.read_bytes())
    return _schema(files)


def _faults(errors: Any) -> Iterator[ProtobufFault]:  # noqa: ANN401 - protoc's own, untyped
    for error in errors.errors():
        message = error.message.decode()
        if error.filename.decode() != _FILE:  # said again where it is imported
            continue
        fix = ""
        if message.startswith("Import "):
            fix = "a contract is one file: write out here what it imports; only google/protobuf/*.proto is known."
        yield ProtobufFault(max(error.line, 0) + 1, f"is no Protobuf: {message}", fix)


def _schema(files: FileDescriptorSet) -> ProtobufSchema:
    pool, lines = DescriptorPool(), dict[tuple[int, ...], int]()
    for file in files.file:
        pool.Add(file)
        if file.name == _FILE:
            lines = {tuple(each.path): each.span[0] + 1 for each in file.source_code_info.location}
    messages: dict[str, ProtobufMessage] = {}
    enums: dict[str, dict[int, str]] = {}
    faults: list[ProtobufFault] = []
    for file in files.file:
        own = file.name == _FILE
        for found, place in _in_file(pool.FindFileByName(file.name)):
            message = messages[found.full_name] = _message(found, place if own else (), lines if own else {})
            if own and found.GetOptions().message_set_wire_format:
                fault = f"{found.full_name} is in the wire format of message sets."
                faults.append(ProtobufFault(message.line, fault, "write plain fields; message sets are of proto1."))
            for each in found.fields:
                if each.enum_type is not None:
                    enums.setdefault(each.enum_type.full_name, _symbols(each.enum_type.values))
    if faults:
        raise BrokenProtobufError(tuple(faults))
    return ProtobufSchema(messages, enums)


def _in_file(file: FileDescriptor) -> Iterator[tuple[Descriptor, tuple[int, ...]]]:
    """Yield the messages of a file with their places, as descriptors write them."""
    for number, message in enumerate(file.message_types_by_name.values()):
        yield from _with_nested(message, (_MESSAGES, number))


def _with_nested(message: Descriptor, place: tuple[int, ...]) -> Iterator[tuple[Descriptor, tuple[int, ...]]]:
    yield message, place
    for number, nested in enumerate(message.nested_types):
        yield from _with_nested(nested, (*place, _NESTED, number))


def _message(found: Descriptor, place: tuple[int, ...], lines: dict[tuple[int, ...], int]) -> ProtobufMessage:
    fields = tuple(_field(each, lines.get((*place, _FIELDS, each.index), 0)) for each in found.fields)
    return ProtobufMessage(
        found.full_name, fields, bool(found.GetOptions().map_entry), place[1::2], lines.get(place, 1)
    )


def _field(found: FieldDescriptor, line: int) -> ProtobufField:
    inside = found.message_type or found.enum_type
    presence = ""
    if not found.is_repeated:
        presence = "required" if found.is_required else "explicit" if found.has_presence else "implicit"
    oneof = found.containing_oneof
    alone = oneof is None or (len(oneof.fields) == 1 and oneof.name == f"_{found.name}")  # of proto3's `optional`
    return ProtobufField(
        found.name,
        found.number,
        _TYPES[found.type],
        "" if inside is None else inside.full_name,
        found.is_repeated,
        presence,
        "" if alone else oneof.name,
        line,
    )


def _symbols(values: Any) -> dict[int, str]:  # noqa: ANN401 - a sequence of the library's own
    """Return the first name of each number; aliases follow it."""
    found: dict[int, str] = {}
    for value in values:
        found.setdefault(value.number, value.name)
    return found
