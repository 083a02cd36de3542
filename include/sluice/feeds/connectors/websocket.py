"""Messages of a WebSocket, by the library `websockets`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from pydantic import JsonValue
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, reconnect

from sluice.errors import SpecError
from sluice.feeds.connectors.urls import SourceRequest, named
from sluice.feeds.following.ports import DisconnectedError, ReceivedEvent
from sluice.specs.feeds.live import WebSocketSpec

_LARGEST = 16 * 1024 * 1024
_WAITING_FRAMES = 16
_CLOSE_SECONDS = 2.0


class _WithoutRedirects(reconnect):  # the library would take secret headers and parameters to another server
    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class WebSocketSource:
    """Implements `sluice.feeds.following.ports.EventSource`."""

    def __init__(self, spec: WebSocketSpec) -> None:
        """Find out where the source is.

        Raises:
            NotConfiguredError: a variable that the spec names is not set here.
        """
        self._spec, self._request = spec, SourceRequest.of("websocket", spec)

    def open(self, cursor: JsonValue) -> WebSocketConnection:
        """Connect, and ask for what follows a cursor.

        Raises:
            DisconnectedError: no connection could be made.
            SpecError: the server refuses the request.
            NotConfiguredError: it refuses the credentials.
        """
        url = self._request.url
        if self._spec.cursor is not None and cursor is not None:
            url = self._request.with_parameter(self._spec.cursor.parameter, cursor)
        opening = _WithoutRedirects(
            url,
            additional_headers=dict(self._request.headers),
            max_size=_LARGEST,
            max_queue=_WAITING_FRAMES,
            close_timeout=_CLOSE_SECONDS,
            ping_interval=None,  # while nothing is read because Kafka is slow, no answer to a ping would be either
        )
        stack = ExitStack()
        try:
            connection = stack.enter_context(opening)
            for message in self._spec.subscribe:
                connection.send(message)
        except InvalidStatus as error:
            status, headers = error.response.status_code, error.response.headers
            raise self._request.refusal(status, headers.get("Retry-After")) from None
        except InvalidURI:  # it quotes the URL
            message = f"{self._request.place} is no URL of a WebSocket."
            raise SpecError(message, fix=f"correct {self._request.where}.") from None
        except (OSError, InvalidHandshake, ConnectionClosed) as error:
            raise DisconnectedError(f"No connection to {self._request.place}: {named(error)}.") from error
        return WebSocketConnection(connection, stack)


class WebSocketConnection:
    """Implements `sluice.feeds.following.ports.EventConnection`.

    The library reads ahead at most 16 frames, then no longer from the network: the server notices who is slow.
    """

    def __init__(self, connection: ClientConnection, stack: ExitStack) -> None:
        self._connection, self._stack = connection, stack

    def receive(self, seconds: float) -> Sequence[ReceivedEvent] | None:
        """Return the next message, if one comes within so long.

        Raises:
            DisconnectedError: the connection ended; a message that was cut is dropped.
        """
        try:
            message: Any = self._connection.recv(timeout=seconds, decode=False)
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise DisconnectedError(f"The connection ended: {named(error)}.") from error
        return [ReceivedEvent(bytes(message))]

    def close(self) -> None:
        """Close the connection."""
        self._stack.close()
