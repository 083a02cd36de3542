"""Somebody without Spark's secret, who knows the frames of its transport."""

from __future__ import annotations

import socket
import struct

CHUNK, STREAM = 1, 7
"""Kinds of answers that hand out what was asked for."""
_CHUNK, _CALL, _STREAM, _ONE_WAY = 0, 3, 6, 9
_SASL = 0xEA
_SECONDS = 20.0


def stream_request(name: str) -> bytes:
    """Return the request for a stream, such as `/jars/<file>` or `/files/<file>`."""
    return _framed(struct.pack(">bi", _STREAM, len(name)) + name.encode())


def chunk_request(stream: int) -> bytes:
    """Return the request for the first chunk of a stream that is open."""
    return _framed(struct.pack(">bqi", _CHUNK, stream, 0))


def one_way() -> bytes:
    """Return a message that waits for no answer, with nothing in it."""
    return _framed(struct.pack(">bi", _ONE_WAY, 0))


def first_word(application: str) -> bytes:
    """Return how a handshake of Spark's by SASL begins: with a name, before anything is proven."""
    body = struct.pack(">Bi", _SASL, len(application)) + application.encode() + struct.pack(">i", 0)
    return _framed(struct.pack(">bqi", _CALL, 1, len(body)) + body)


def told(port: int, *requests: bytes) -> bytes:
    """Return what a port answers the last request, without a body that follows; empty if it ends the connection.

    Raises:
        TimeoutError: it does neither.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
        answer = b""
        for request in requests:
            connection.sendall(request)
            answer = _frame(connection)
        return answer


def _frame(connection: socket.socket) -> bytes:
    found, size = b"", struct.calcsize(">q")
    while len(found) < size or len(found) < struct.unpack_from(">q", found)[0]:
        try:
            more = connection.recv(1000)
        except ConnectionResetError:
            more = b""
        if not more:
            break
        found += more
    return found


def kind_of(answer: bytes) -> int:
    """Return the kind of an answer; -1 if there is none."""
    return answer[8] if len(answer) > struct.calcsize(">q") else -1


def length_of_stream(answer: bytes) -> int:
    """Return how long the stream is that an answer hands out."""
    _, _, name = struct.unpack_from(">qbi", answer)
    (length,) = struct.unpack_from(">q", answer, struct.calcsize(">qbi") + name)
    return int(length)


def _framed(body: bytes) -> bytes:
    return struct.pack(">q", 8 + len(body)) + body
