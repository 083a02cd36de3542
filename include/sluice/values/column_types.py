"""Types of declared columns, in the words of specs: `long`, `decimal(18, 2)`, `array<struct<city: string>>`."""

from __future__ import annotations

import re

_FLAT = {
    "string": "string",
    "long": "bigint",
    "integer": "int",
    "double": "double",
    "boolean": "boolean",
    "timestamp": "timestamp",
    "date": "date",
    "binary": "binary",
}
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|\d+|[<>(),:])")
_KNOWN = f"{', '.join(_FLAT)}, decimal(18, 2), array<...>, map<string, ...> or struct<name: ..., ...>"
_MOST_LEVELS = 10


def ddl_of(text: str) -> str:
    """Return a type in Spark's words.

    Args:
        text: such as `map<string, array<long>>`.

    Raises:
        ValueError: it is no such type.
    """
    reader = _Reader(text)
    found = reader.kind(_MOST_LEVELS)
    reader.end()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def kind(self, levels: int) -> str:
        name = self._next("a type")
        if name in _FLAT:
            return _FLAT[name]
        if not levels:
            raise ValueError(f"{self._text!r} goes deeper than {_MOST_LEVELS} types inside one another")
        match name:
            case "decimal":
                return self._decimal()
            case "array":
                self._expect("<")
                found = f"array<{self.kind(levels - 1)}>"
            case "map":
                self._expect("<", "string", ",")
                found = f"map<string,{self.kind(levels - 1)}>"
            case "struct":
                self._expect("<")
                found = f"struct<{self._fields(levels - 1)}>"
            case _:
                raise ValueError(f"{name!r} is no type; write {_KNOWN}")
        self._expect(">")
        return found

    def end(self) -> None:
        if rest := self._text[self._at :].strip():
            raise ValueError(f"{rest!r} follows the type in {self._text!r}; remove it")

    def _decimal(self) -> str:
        self._expect("(")
        precision = self._number("a precision", 1, 38)
        self._expect(",")
        scale = self._number("a scale", 0, precision)
        self._expect(")")
        return f"decimal({precision},{scale})"

    def _fields(self, levels: int) -> str:
        fields = list[str]()
        while True:
            name = self._next("the name of a field")
            if not name.isidentifier():
                raise ValueError(f"{self._text!r} has {name!r} where the name of a field belongs")
            self._expect(":")
            fields.append(f"`{name}`:{self.kind(levels)}")
            if not self._follows(","):
                return ",".join(fields)

    def _number(self, what: str, least: int, most: int) -> int:
        text = self._next(what)
        if not text.isdigit() or not least <= int(text) <= most:
            raise ValueError(f"{text!r} in {self._text!r} is not {what} from {least} to {most}")
        return int(text)

    def _expect(self, *tokens: str) -> None:
        for token in tokens:
            if (found := self._next(repr(token))) != token:
                raise ValueError(f"{self._text!r} has {found!r} where {token!r} belongs; write {_KNOWN}")

    def _follows(self, token: str) -> bool:
        found = _TOKEN.match(self._text, self._at)
        if found is None or found[1] != token:
            return False
        self._at = found.end()
        return True

    def _next(self, what: str) -> str:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise ValueError(f"{self._text!r} ends, or has an unknown character, where {what} belongs; write {_KNOWN}")
        self._at = found.end()
        return found[1]
