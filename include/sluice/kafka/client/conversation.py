"""Questions to one broker and its answers, one at a time, over a socket: without the client's retries and time-outs."""

from __future__ import annotations

import socket
from typing import Any

from kafka.protocol.parser import KafkaProtocol

_FIRST_BYTES = 64
_ALERT = b"\x15\x03"
"""How a server begins that expected TLS and heard something else."""


class SpeaksTlsError(ConnectionError):
    """A server that expected TLS."""


class Conversation:
    """Asks over a socket that somebody else opens and closes.

    Attributes:
        received: the first bytes that came, by which one may know what answers.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.received = b""
        self._connection = connection
        self._protocol = KafkaProtocol()

    def ask(self, request: Any) -> Any:  # noqa: ANN401  untyped client
        """Send a request and return the answer.

        Raises:
            OSError: the connection ended, or nothing came in time.
            SpeaksTlsError: it expects TLS; an `OSError` as well.
            KafkaError: what came is no answer.
        """
        self._protocol.send_request(request)
        self._connection.sendall(self._protocol.send_bytes())
        while data := self._connection.recv(4096):
            self.received = (self.received + data)[:_FIRST_BYTES]
            if self.received.startswith(_ALERT):
                raise SpeaksTlsError("it expects TLS")
            for _, answer in self._protocol.receive_bytes(data):
                return answer
        raise ConnectionResetError("it said nothing")
