"""Server-Sent Events over HTTP, by the library `httpx`."""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from queue import Empty, Full, Queue
from threading import Event, Thread

import httpx
from pydantic import JsonValue

from sluice.errors import RefusedError, SpecError
from sluice.feeds.connectors.urls import SourceRequest, named
from sluice.feeds.following.event_stream import EventStreamParser, TooLongError
from sluice.feeds.following.ports import DisconnectedError, ReceivedEvent, SourceEndedError
from sluice.specs.feeds.live import SseSpec

_CONNECT_SECONDS = 10.0
_WAITING_PIECES = 16
_NAP_SECONDS = 0.2
_OK, _NO_CONTENT = 200, 204
_TYPE = "text/event-stream"

logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs whole URLs, which may hold secrets


class SseSource:
    """Implements `sluice.feeds.following.ports.EventSource`."""

    def __init__(self, spec: SseSpec) -> None:
        """Find out where the source is.

        Raises:
            NotConfiguredError: a variable that the spec names is not set here.
        """
        self._spec, self._request = spec, SourceRequest.of("sse", spec)

    def open(self, cursor: JsonValue) -> SseConnection:
        """Connect, and ask for what follows an id.

        Raises:
            DisconnectedError: no connection could be made.
            SourceEndedError: the server says that nothing will follow (204).
            SpecError: it refuses the request, or what it answers is no stream of events.
            NotConfiguredError: it refuses the credentials.
        """
        last_id = cursor if isinstance(cursor, str) and self._spec.cursor is not None else ""
        headers = {**self._request.headers, "Accept": _TYPE, "Cache-Control": "no-store"}
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        if last_id:
            encoded.append((b"Last-Event-ID", last_id.encode()))
        stack = ExitStack()
        try:
            client = stack.enter_context(httpx.Client(timeout=httpx.Timeout(_CONNECT_SECONDS, read=None)))
            response = stack.enter_context(client.stream("GET", self._request.url, headers=encoded))
            self._refuse(response)
        except httpx.HTTPError as error:
            stack.close()
            raise DisconnectedError(f"No connection to {self._request.place}: {named(error)}.") from error
        except BaseException:
            stack.close()
            raise
        return SseConnection(response, stack, last_id)

    def _refuse(self, response: httpx.Response) -> None:
        status, kind = response.status_code, response.headers.get("Content-Type", "")
        if status == _NO_CONTENT:
            raise SourceEndedError(f"{self._request.place} answered 204: nothing will follow.")
        if status != _OK:
            raise self._request.refusal(status, response.headers.get("Retry-After"))
        if kind.partition(";")[0].strip().lower() != _TYPE:
            message = f"{self._request.place} answered with {kind or 'no type'}, and not with {_TYPE}."
            raise SpecError(message, fix=f"correct {self._request.where}.")


class SseConnection:
    """Implements `sluice.feeds.following.ports.EventConnection`.

    httpx cannot wait for a while and then go on, so a thread reads, at most a few pieces ahead.
    """

    def __init__(self, response: httpx.Response, stack: ExitStack, last_id: str) -> None:
        self._response, self._stack = response, stack
        self._parser = EventStreamParser(last_id)
        self._pieces: Queue[bytes | DisconnectedError] = Queue(_WAITING_PIECES)
        self._closed = Event()
        self._thread = Thread(target=self._read, name="sse", daemon=True)
        self._thread.start()

    def receive(self, seconds: float) -> Sequence[ReceivedEvent] | None:
        """Return the events that end in what comes within so long; a comment is a sign of life.

        Raises:
            DisconnectedError: the connection ended; an event that was cut is dropped.
            RefusedError: an event does not end.
        """
        try:
            piece = self._pieces.get(timeout=seconds)
        except Empty:
            return None
        if isinstance(piece, DisconnectedError):
            piece.retry_after = (self._parser.retry_milliseconds or 0) / 1000
            raise piece
        try:
            return [ReceivedEvent(each.data.encode(), each.last_id or None) for each in self._parser.feed(piece)]
        except TooLongError as error:
            message = "The source sent more than 16 MiB without an end of an event."
            raise RefusedError(message, fix="check that it sends events, each with an empty line behind it.") from error

    def close(self) -> None:
        """Close the connection, and wait for the thread that reads."""
        self._closed.set()
        stream = self._response.extensions.get("network_stream")
        connected = stream.get_extra_info("socket") if stream is not None else None
        if connected is not None:
            with suppress(OSError):  # it is closed already
                connected.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join(_CONNECT_SECONDS)
        self._stack.close()

    def _read(self) -> None:
        try:
            for piece in self._response.iter_bytes():
                self._hand_over(piece)
                if self._closed.is_set():
                    return
            self._hand_over(DisconnectedError("The source closed the connection."))
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            self._hand_over(DisconnectedError(f"The connection broke: {named(error)}."))

    def _hand_over(self, piece: bytes | DisconnectedError) -> None:
        while not self._closed.is_set():
            with suppress(Full):
                self._pieces.put(piece, timeout=_NAP_SECONDS)
                return
