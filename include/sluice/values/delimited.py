"""One line of text with a delimiter, quoted as RFC 4180 has it. Pure."""

from __future__ import annotations

_QUOTE = '"'


def split_line(line: str, delimiter: str) -> list[str | None] | None:
    """Return the columns of a line, None for one that is empty and not quoted; None if the quoting is broken."""
    columns: list[str | None] = []
    at = 0
    while True:
        quoted = line.startswith(_QUOTE, at)
        end = _closing(line, at) if quoted else _unquoted(line, at, delimiter)
        if end < 0 or (end < len(line) and line[end] != delimiter):
            return None
        columns.append(line[at + 1 : end - 1].replace('""', '"') if quoted else line[at:end] or None)
        if end == len(line):
            return columns
        at = end + 1


def without_end(text: str) -> str:
    """Return a line without the one line end behind it, if there is any."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def join_line(columns: list[str | None], delimiter: str) -> str:
    """Return a line of columns, quoted where that is needed."""
    return delimiter.join(_quoted(column, delimiter) for column in columns)


def _quoted(column: str | None, delimiter: str) -> str:
    if column is None:
        return ""
    plain = column and not set(column) & {_QUOTE, delimiter, "\r", "\n"}
    return column if plain else f'"{column.replace(_QUOTE, _QUOTE * 2)}"'


def _closing(line: str, start: int) -> int:
    """Return the place behind the quote that closes; -1 if none does."""
    at = start + 1
    while (at := line.find(_QUOTE, at)) >= 0:
        if not line.startswith(_QUOTE, at + 1):
            return at + 1
        at += 2
    return -1


def _unquoted(line: str, start: int, delimiter: str) -> int:
    end = line.find(delimiter, start)
    end = len(line) if end < 0 else end
    return -1 if any(character in line[start:end] for character in '"\r\n') else end
