"""Avro's binary encoding in plain Python, written from the specification: what a value's bytes are, and what they say.

It shares no code with us, and none with Avro's own library.
"""

from __future__ import annotations

import math
import struct
from typing import Any

DEEPEST, MOST_EMPTY = 500, 100_000


class BrokenError(Exception):
    """The bytes are no record of the schema."""


def encode(schema: Any, value: Any) -> bytes:  # noqa: ANN401, C901, PLR0911 - JSON; one case per type
    """Return a value's bytes; of a union, a pair of the branch's number and the value."""
    if isinstance(schema, list):
        return _long(value[0]) + encode(schema[value[0]], value[1])
    kind = schema["type"] if isinstance(schema, dict) else schema
    match kind:
        case "null":
            return b""
        case "boolean":
            return bytes([value])
        case "int" | "long":
            return _long(value)
        case "float" | "double":
            return struct.pack("<f" if kind == "float" else "<d", value)
        case "string" | "bytes":
            data = value.encode() if isinstance(value, str) else value
            return _long(len(data)) + data
        case "fixed":
            return bytes(value)
        case "enum":
            return _long(schema["symbols"].index(value))
        case "array":
            return _blocks([encode(schema["items"], each) for each in value])
        case "map":
            return _blocks([encode("string", key) + encode(schema["values"], each) for key, each in value.items()])
        case _:
            return b"".join(encode(field["type"], value[field["name"]]) for field in schema["fields"])


def _blocks(items: list[bytes]) -> bytes:
    return (_long(len(items)) + b"".join(items) if items else b"") + b"\x00"


def _long(number: int) -> bytes:
    rest, found = (number << 1) ^ (number >> 63), bytearray()
    while True:
        found.append(rest & 0x7F | (0x80 if rest > 0x7F else 0))
        rest >>= 7
        if not rest:
            return bytes(found)


class Reading:
    """Reads bytes under a schema, strictly.

    Args:
        data: the bytes.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        self.finite = True
        self._empty = 0

    def value(self, schema: Any, depth: int = 0) -> Any:  # noqa: ANN401, C901, PLR0911, PLR0912 - one case per type
        """Return the next value; raises BrokenError."""
        if isinstance(schema, list):
            return self.value(schema[self._below(len(schema))], depth + 1)
        if depth > DEEPEST:
            raise BrokenError
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null":
                return None
            case "boolean":
                (found,) = self._take(1)
                if found > 1:
                    raise BrokenError
                return bool(found)
            case "int":
                if not -(2**31) <= (number := self._long()) < 2**31:
                    raise BrokenError
                return number
            case "long":
                return self._long()
            case "float" | "double":
                (real,) = struct.unpack("<f" if kind == "float" else "<d", self._take(4 if kind == "float" else 8))
                self.finite &= math.isfinite(real)
                return real
            case "string":
                try:
                    return self._take(self._long()).decode()
                except UnicodeDecodeError:
                    raise BrokenError from None
            case "bytes":
                return self._take(self._long())
            case "fixed":
                return self._take(schema["size"])
            case "enum":
                return schema["symbols"][self._below(len(schema["symbols"]))]
            case "array" | "map":
                return self._entries(schema, keyed=kind == "map", depth=depth)
            case _:
                return {field["name"]: self.value(field["type"], depth + 1) for field in schema["fields"]}

    def _entries(self, schema: Any, *, keyed: bool, depth: int) -> list[Any]:  # noqa: ANN401 - JSON
        found: list[Any] = []
        while count := self._long():
            end = None
            if count < 0:
                size = self._long()
                if count == -(2**63) or not 0 <= size <= len(self.data) - self.place:
                    raise BrokenError
                count, end = -count, self.place + size
            for _ in range(count):
                before = self.place
                if keyed:
                    self.value("string", depth)
                found.append(self.value(schema["values" if keyed else "items"], depth + 1))
                self._empty += self.place == before
                if self._empty > MOST_EMPTY:
                    raise BrokenError
            if end not in (None, self.place):
                raise BrokenError
        return found

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.place:
            raise BrokenError
        self.place += size
        return self.data[self.place - size : self.place]

    def _below(self, count: int) -> int:
        if not 0 <= (number := self._long()) < count:
            raise BrokenError
        return number

    def _long(self) -> int:
        number = 0
        for shift in range(0, 64, 7):
            (part,) = self._take(1)
            if shift == 63 and part > 1:
                break
            number |= (part & 0x7F) << shift
            if part < 0x80:
                return (number >> 1) ^ -(number & 1)
        raise BrokenError
