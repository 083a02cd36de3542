"""Records under a schema, or several: bare, or in frames that say under which one they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sluice.proof.generation.avro_values import AvroWriting
from sluice.proof.generation.json_values import JsonWriting
from sluice.proof.generation.line_values import ColumnWriting
from sluice.proof.generation.made import UnmadeError
from sluice.proof.generation.pattern_values import PatternWriting
from sluice.proof.generation.protobuf_values import ProtobufWriting
from sluice.proof.generation.writing import ValueWriting, varint
from sluice.specs.model.encoding import UNDER_SCHEMAS
from sluice.specs.model.model import TopicValue

_TURN = 40
HEAD = 5
"""The bytes of a frame: a zero, and the id of a schema in four."""
_WITHOUT_SCHEMA: Mapping[str, Callable[[TopicValue], ValueWriting]] = {
    "json": JsonWriting,
    "text": PatternWriting,
    "csv": ColumnWriting,
}
_LAST_ID = (1 << 31) - 1


@dataclass(frozen=True)
class WrittenForm:
    """How some records of a topic are written.

    Attributes:
        writing: makes the bytes of a value.
        head: what stands before them.
    """

    writing: ValueWriting
    head: bytes = b""


@dataclass(frozen=True)
class TopicForms:
    """All forms of a topic's records, which take turns.

    Attributes:
        value: the declaration.
    """

    value: TopicValue

    @cached_property
    def all(self) -> Sequence[WrittenForm]:
        """The forms, at least one.

        Raises:
            UnmadeError: one of the schemas is not there.
        """
        if self.value.framing == "none":
            return (self._form(self.value.version, b""),)
        return tuple(
            self._form(version, b"\x00" + number.to_bytes(4, "big"))
            for number, version in sorted(self.value.schemas.items())
        )

    def of(self, number: int) -> WrittenForm:
        """Return the form of the record with a number."""
        return self.all[self.place(number)]

    def place(self, number: int) -> int:
        """Return the place of that form: moved on now and then, so that what comes every so often has each of them."""
        return (number + number // _TURN) % len(self.all)

    @property
    def unknown_id(self) -> bytes:
        """The head of a frame with an id that no spec has."""
        free = next(number for number in range(_LAST_ID, 0, -1) if number not in self.value.schemas)
        return b"\x00" + free.to_bytes(4, "big")

    def _form(self, version: int | None, head: bytes) -> WrittenForm:
        value = self.value
        if value.format not in UNDER_SCHEMAS:
            return WrittenForm(_WITHOUT_SCHEMA[value.format](value), head)
        if version is None or version not in value.written:
            raise UnmadeError(
                f"version {version} of its contract is not there, or cannot be read",
                "`sluice check` says what is wrong with include/schemas.",
            )
        if value.format == "avro":
            return WrittenForm(AvroWriting(value.fields, value.written[version]), head)
        message = ProtobufWriting(value.fields, value.written[version])
        return WrittenForm(message, head and head + _place(message.path))


def _place(path: Sequence[int]) -> bytes:
    """Return the place of a message in its file as frames have it: one zero stands for the first."""
    if tuple(path) == (0,):
        return b"\x00"
    return b"".join(varint(number << 1) for number in (len(path), *path))
