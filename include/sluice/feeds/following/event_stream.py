"""Server-Sent Events from the bytes of a response, as the WHATWG's HTML standard says ("Parsing an event stream")."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")
_LONGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """An event.

    Attributes:
        data: its lines of data, joined by line feeds.
        kind: its type, `message` unless said.
        last_id: the id of the last event that had one; empty: there is none, or the server took it back.
    """

    data: str
    kind: str = "message"
    last_id: str = ""


class TooLongError(ValueError):
    """An event has no end within 16 MiB."""


class EventStreamParser:
    """Takes the bytes in any pieces. What has no end yet is kept; at the end of a connection it is dropped."""

    def __init__(self, last_id: str = "") -> None:
        """Begin a connection that was opened with the id of the last event, if there was one."""
        self.retry_milliseconds: int | None = None
        """How long the server wants clients to wait before they connect again."""
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._first = True
        self._after_return = False
        self._rest = ""
        self._last_id = last_id
        self._data: list[str] = []
        self._kind = ""

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that end in a piece.

        Raises:
            TooLongError: an event does not end.
        """
        for line in self._lines(self._decode(piece)):
            if line:
                self._field(line)
            elif (event := self._dispatch()) is not None:
                yield event
        if len(self._rest) + sum(map(len, self._data)) > _LONGEST:
            raise TooLongError

    def _lines(self, text: str) -> Iterator[str]:
        if text and self._first:
            self._first, text = False, text.removeprefix("\ufeff")
        if text and self._after_return:  # the return at the end of the last piece may be the first half of a line end
            self._after_return, text = False, text.removeprefix("\n")
        self._after_return = self._after_return or text.endswith("\r")
        *lines, self._rest = _LINE_END.split(self._rest + text)
        yield from lines

    def _dispatch(self) -> ServerSentEvent | None:
        data, kind, self._data, self._kind = self._data, self._kind, [], ""
        return ServerSentEvent("\n".join(data), kind or "message", self._last_id) if data else None

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")  # a comment has no name
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._kind = value
        elif name == "id" and "\0" not in value:
            self._last_id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_milliseconds = int(value[:10])
