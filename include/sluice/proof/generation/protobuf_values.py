"""Records as messages of Protobuf: bytes by Google's own library, of the message that the contract describes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from sluice.contracts.protobuf import TIMESTAMP
from sluice.proof.generation.json_values import text_form
from sluice.proof.generation.line_values import line_text
from sluice.proof.generation.made import UnmadeError
from sluice.proof.generation.shapes import FieldShape, tick_of
from sluice.proof.generation.writing import Tree, varint
from sluice.specs.model.fields import FieldType, ValueField

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND, _MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
_WHOLE = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), (-(1 << 31), (1 << 31) - 1)),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), (-(1 << 63), (1 << 63) - 1)),
    **dict.fromkeys(("uint32", "fixed32"), (0, (1 << 32) - 1)),
    **dict.fromkeys(("uint64", "fixed64"), (0, (1 << 63) - 1)),
}
"""Of numbers without a sign so many as a `long` holds."""
_KEPT = 1 << 53
_FILE, _PACKAGE = "made.proto", "made"
_LABELS = {False: 1, True: 3}
_FREE = 536_870_911
"""The greatest number that a field can have; a message that has it has no room for a mark."""
_MOST_KEYS = 2
_FIX = "name fields of the message's types in the topic, or prove a pipeline over another topic."
Said = Mapping[str, Any]


@dataclass(frozen=True)
class ProtobufWriting:
    """Writes messages of one schema.

    Attributes:
        fields: those that are declared.
        text: what the message's bytes mean, see `ProtobufSchema.layout`.
    """

    fields: Mapping[str, ValueField]
    text: str

    @cached_property
    def layout(self) -> Said:
        """What the text says."""
        found: Said = json.loads(self.text)
        return found

    @property
    def path(self) -> Sequence[int]:
        """The place of the message in its file."""
        found: Sequence[int] = self.layout["path"]
        return found

    @cached_property
    def shapes(self) -> Mapping[str, FieldShape]:
        """See `ValueWriting`."""
        return _Shapes(self.layout).of_all(self.fields, self.layout["root"])

    @property
    def takes_marks(self) -> bool:
        """See `ValueWriting`: a number that the message does not have is passed over by readers."""
        return all(each["number"] != _FREE for each in _fields(self.layout, self.layout["root"]))

    @cached_property
    def _kind(self) -> Any:  # noqa: ANN401 - a class that is made of text
        return _class_of(self.layout)

    def write(self, tree: Tree, mark: int | None = None) -> bytes:
        """See `ValueWriting`."""
        message = self._kind()
        self._fill(message, tree, self.layout["root"])
        written: bytes = message.SerializePartialToString(deterministic=True)
        return written if mark is None or not self.takes_marks else written + marked(mark)

    def _fill(self, message: Any, tree: Tree, name: str) -> None:  # noqa: ANN401 - see `_kind`
        known = {each["name"]: each for each in _fields(self.layout, name)}
        for key, content in tree.items():
            said = known[key]
            if not said.get("repeated"):
                self._put(message, said, content)
                continue
            entry = self.layout["messages"].get(said.get("of"), {}).get("entry")
            contents = _entries(content, self._key_of(said)) if entry else content
            target = getattr(message, key)
            for each in contents if isinstance(contents, list) else ():
                if said["type"] in ("message", "group"):
                    self._fill_one(target.add(), each, said)
                else:
                    target.append(self._scalar(said, each))

    def _put(self, message: Any, said: Said, content: object) -> None:  # noqa: ANN401 - see `_kind`
        if said["type"] in ("message", "group"):
            inner = getattr(message, said["name"])
            inner.SetInParent()
            self._fill_one(inner, content, said)
        else:
            setattr(message, said["name"], self._scalar(said, content))

    def _fill_one(self, message: Any, content: object, said: Said) -> None:  # noqa: ANN401 - see `_kind`
        if isinstance(content, datetime):
            seconds, rest = divmod(content - _EPOCH, _SECOND)
            message.seconds, message.nanos = seconds, rest // _MICROSECOND * 1000
        elif isinstance(content, Mapping):
            self._fill(message, content, said["of"])

    def _scalar(self, said: Said, content: object) -> object:
        if said["type"] != "enum":
            return content
        symbols = self.layout["enums"][said["of"]]
        return next(int(number) for number, symbol in symbols.items() if symbol == content)

    def _key_of(self, said: Said) -> str:
        found: str = next(each["type"] for each in _fields(self.layout, said["of"]) if each["name"] == "key")
        return found


def marked(mark: int) -> bytes:
    """Return the bytes of a field that no message has, with a number."""
    return varint(_FREE << 3) + varint(mark)


def _fields(layout: Said, name: str) -> list[Said]:
    found: list[Said] = layout["messages"][name]["fields"]
    return found


def _entries(content: object, key: str) -> list[Said]:
    """Return the entries of a map; keys that are no text are numbered."""
    items = list(content.items()) if isinstance(content, Mapping) else []
    keys = ((text if key == "string" else bool(n) if key == "bool" else n) for n, (text, _) in enumerate(items))
    return [{"key": one, "value": each} for one, (_, each) in zip(keys, items[:_MOST_KEYS], strict=False)]


@dataclass(frozen=True)
class _Shapes:
    """What the fields of a message can hold."""

    layout: Said

    def of_all(self, fields: Mapping[str, ValueField], message: str) -> dict[str, FieldShape]:
        found = {}
        for name, field in fields.items():
            way = list(self._way(field.keys(name), message))
            keys = field.keys(name)
            if len(way) == len(keys):
                always = way[-1].get("presence") in ("implicit", "required")
                group, member = _group(keys, way)
                shape = self._shape(field, way[-1])
                found[name] = replace(shape, always=always, group=group, member=member)
        return found

    def _way(self, keys: Sequence[str], message: str) -> Iterator[Said]:
        for key in keys:
            if message not in self.layout["messages"]:
                return
            field = next((each for each in _fields(self.layout, message) if each["name"] == key), None)
            if field is None:
                return
            yield field
            message = field.get("of", "")

    def _shape(self, field: ValueField, said: Said) -> FieldShape:
        entry = field.items or field.values
        if entry is None or not said.get("repeated"):
            return self._single(field, said)
        single: Said = {**said, "repeated": False}
        if field.values is not None:
            single = next(each for each in _fields(self.layout, said["of"]) if each["name"] == "value")
        return FieldShape(field, entry=self._single(entry, single))

    def _single(self, field: ValueField, said: Said) -> FieldShape:
        kind, more = said["type"], dict[str, Any]()
        if field.type is FieldType.OBJECT:
            more = {"parts": self.of_all(field.fields or {}, said["of"])}
        elif said.get("of") == TIMESTAMP:
            pass
        elif kind == "enum":
            more = {"symbols": tuple(self.layout["enums"][said["of"]].values())}
        elif field.type in (FieldType.TIMESTAMP, FieldType.DATE):
            more = {"written": text_form(field), "tick": tick_of(field)}
        elif kind in _WHOLE:
            low, high = _WHOLE[kind]
            kept = (max(low, -_KEPT), min(high, _KEPT)) if field.type is FieldType.DOUBLE else (low, high)
            more = {"whole": kept, "written": int}
        elif field.type is FieldType.DECIMAL:
            more = {"written": line_text}
        elif said.get("repeated") or kind in ("message", "group"):
            raise UnmadeError(f"is {kind} in the message, and {field.words} in the topic", _FIX)
        else:
            more = {"is_single": kind == "float"}
        return FieldShape(field, **more)


def _group(keys: Sequence[str], way: Sequence[Said]) -> tuple[str, str]:
    """Return the `oneof` that a field is in, or is inside of, and which of its fields that is; empty for none."""
    for place in reversed(range(len(way))):
        if way[place].get("oneof"):
            return ".".join((*keys[:place], way[place]["oneof"])), keys[place]
    return "", ""


def _class_of(layout: Said) -> Any:  # noqa: ANN401 - a class that is made of text
    """Return a class whose messages have the same bytes: names do not count in them, numbers and types do."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto  # noqa: PLC0415
    from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415
    from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415

    file = FileDescriptorProto(name=_FILE, package=_PACKAGE, syntax="proto2")
    plain = {name: f"Message{number}" for number, name in enumerate(layout["messages"])}
    for name, said in layout["messages"].items():
        message = file.message_type.add(name=plain[name])
        for each in said["fields"]:
            # An enum is a number in the bytes; a group's own name would have to be that of its field.
            kind = {"enum": "int32"}.get(each["type"], each["type"])
            one = message.field.add(name=each["name"], number=each["number"], label=_LABELS[bool(each.get("repeated"))])
            one.type = getattr(FieldDescriptorProto, f"TYPE_{kind.upper()}")
            if kind in ("message", "group"):
                one.type_name = f".{_PACKAGE}.{plain[each['of']]}"
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{plain[layout['root']]}"))
