"""Lines from a TCP connection."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from pydantic import JsonValue

from sluice.feeds.following.line_splitter import LineSplitter
from sluice.feeds.following.ports import DisconnectedError, ReceivedEvent
from sluice.specs.feeds.live import SocketSpec

_CONNECT_SECONDS = 10.0
_PIECE = 64 * 1024


class SocketSource:
    """Implements `sluice.feeds.following.ports.EventSource`."""

    def __init__(self, spec: SocketSpec) -> None:
        self._address = spec.address

    def open(self, _cursor: JsonValue) -> SocketConnection:
        """Connect; there are no cursors.

        Raises:
            DisconnectedError: nobody listens there now.
        """
        host, _, port = self._address.rpartition(":")
        try:
            return SocketConnection(socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS))
        except (OSError, OverflowError) as error:
            raise DisconnectedError(f"No connection to {self._address}: {error}.") from error


class SocketConnection:
    """Implements `sluice.feeds.following.ports.EventConnection`."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._lines = LineSplitter()

    def receive(self, seconds: float) -> Sequence[ReceivedEvent] | None:
        """Return the lines of what comes within so long.

        Raises:
            DisconnectedError: the connection ended.
            RefusedError: a line has no end.
        """
        self._socket.settimeout(seconds)
        try:
            piece = self._socket.recv(_PIECE)
        except TimeoutError:
            return None
        except OSError as error:
            raise DisconnectedError(f"The connection broke: {error}.{self._dropped()}") from error
        if not piece:
            raise DisconnectedError(f"The source closed the connection.{self._dropped()}")
        return [ReceivedEvent(line) for line in self._lines.feed(piece)]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _dropped(self) -> str:
        left = self._lines.unfinished
        return f" {left:,} bytes of a line without an end were dropped." if left else ""
