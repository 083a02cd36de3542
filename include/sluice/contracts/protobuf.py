"""Protobuf schemas (`.proto`, of any syntax or edition) as messages, from what protoc makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.contracts.shapes import Json

TIMESTAMP = "google.protobuf.Timestamp"
"""The message that is read as a time."""


@dataclass(frozen=True)
class ProtobufField:
    """A field of a message.

    Attributes:
        name: as it is written.
        number: what stands for it in the bytes.
        type: such as `sint64`, or `message`, `group` or `enum`.
        of: the full name of the message or enum; of a map, of the message of its entries; empty of other types.
        repeated: whether it is a list or a map.
        presence: `explicit` if its absence shows, `implicit` if it is read as its default then, `required` of proto2;
            empty of lists and maps, which are empty then.
        oneof: the group of fields of which at most one is there; empty for none.
        line: where it is declared; 0 where that is not known.
    """

    name: str
    number: int
    type: str
    of: str = ""
    repeated: bool = False
    presence: str = ""
    oneof: str = ""
    line: int = field(default=0, compare=False)

    @property
    def meaning(self) -> dict[str, Json]:
        """What its bytes mean, as JSON; what is omitted is as usual."""
        said: dict[str, Json] = {"name": self.name, "number": self.number, "type": self.type}
        further = {"of": self.of, "repeated": self.repeated, "presence": self.presence, "oneof": self.oneof}
        return said | {key: what for key, what in further.items() if what}


@dataclass(frozen=True)
class ProtobufMessage:
    """A message.

    Attributes:
        name: with its package.
        fields: as they are written.
        is_entry: whether it is an entry of a map: its fields are `key` and `value`.
        path: its place among the messages of the file, and of those around it; empty of an imported one.
        line: where it is declared.
    """

    name: str
    fields: tuple[ProtobufField, ...]
    is_entry: bool = False
    path: tuple[int, ...] = ()
    line: int = field(default=1, compare=False)

    def field(self, name: str) -> ProtobufField | None:
        """Return a field by its name; None if it has none of that name."""
        return next((each for each in self.fields if each.name == name), None)


@dataclass(frozen=True)
class ProtobufSchema:
    """A file, with what it imports.

    Attributes:
        messages: by full name.
        enums: names of values by their numbers, by the full name of the enum.
    """

    messages: Mapping[str, ProtobufMessage]
    enums: Mapping[str, Mapping[int, str]]

    @property
    def own(self) -> tuple[str, ...]:
        """The full names of the messages of the file itself, in their order, without entries of maps."""
        found = [message for message in self.messages.values() if message.path and not message.is_entry]
        return tuple(message.name for message in sorted(found, key=lambda message: message.path))

    def root(self, name: str | None) -> ProtobufMessage | None:
        """Return the message that records are; None if it is not there, or not known.

        Args:
            name: with or without its package; None: the only one that stands by itself.
        """
        if name is None:
            alone = [each for each in self.own if len(self.messages[each].path) == 1]
            return self.messages[alone[0]] if len(alone) == 1 else None
        fitting = [each for each in self.own if each == name] or [
            each for each in self.own if each.endswith(f".{name}")
        ]
        return self.messages[fitting[0]] if len(fitting) == 1 else None

    def entry(self, field_: ProtobufField) -> ProtobufMessage | None:
        """Return the message of a map's entries; None of a field that is no map."""
        message = self.messages.get(field_.of) if field_.repeated else None
        return message if message is not None and message.is_entry else None

    def meaning(self, roots: Sequence[ProtobufMessage]) -> dict[str, Json]:
        """Return what the bytes of some messages mean, as JSON: with all that is inside them, and nothing else."""
        reached = {message.name: message for root in roots for message in self._inside(root)}
        enums = {each.of for message in reached.values() for each in message.fields if each.type == "enum"}
        return {
            "messages": {
                name: {
                    "fields": [each.meaning for each in sorted(message.fields, key=lambda each: each.number)],
                    **({"entry": True} if message.is_entry else {}),
                }
                for name, message in reached.items()
            },
            "enums": {name: {str(number): symbol for number, symbol in self.enums[name].items()} for name in enums},
        }

    @property
    def all_meaning(self) -> dict[str, Json]:
        """What the bytes of each message of the file mean, and which place in the file it has in frames."""
        own = [self.messages[name] for name in self.own]
        paths = {message.name: list(message.path) for message in own}
        return {**self.meaning(own), "paths": paths}

    def layout(self, root: ProtobufMessage) -> str:
        """Return what a decoder has to know of a message, as JSON: the same for files that mean the same."""
        return json.dumps({"root": root.name, "path": root.path, **self.meaning([root])}, sort_keys=True)

    def _inside(self, root: ProtobufMessage) -> Iterator[ProtobufMessage]:
        seen, ahead = {root.name}, [root]
        while ahead:
            message = ahead.pop()
            yield message
            further = {each.of for each in message.fields if each.of in self.messages} - seen
            seen |= further
            ahead += [self.messages[name] for name in sorted(further)]

    def lead(self, root: ProtobufMessage, path: str) -> ProtobufMessage | ProtobufField:
        """Return what is declared at a path such as `order.lines[].price`; its nearest parent that there is."""
        found: ProtobufMessage | ProtobufField = root
        message: ProtobufMessage | None = root
        for name in path.replace("[]", "").replace("{}", "").split("."):
            inner = message.field(name) if message is not None else None
            if inner is None:
                break
            found, entry = inner, self.entry(inner)
            value = entry.field("value") if entry is not None else inner
            message = self.messages.get(value.of) if value is not None else None
        return found
