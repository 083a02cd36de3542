"""A proxy between clients and a server that keeps every byte it forwards: what can be read on the way is found in it.

Kafka's clients go on to the address that a broker advertises, so it is that of the proxy (`advertise`).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread

_CHUNK = 65_536


@dataclass
class Wiretap:
    """What has passed.

    Attributes:
        address: host:port of the proxy.
        connections: how many there were.
    """

    address: str
    connections: int = 0
    _passed: list[bytearray] = field(default_factory=list)
    _sockets: list[socket.socket] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @property
    def passed_bytes(self) -> int:
        """How many bytes were forwarded, in both directions."""
        with self._lock:
            return sum(map(len, self._passed))

    def plaintext_bytes(self, *secrets: bytes) -> int:
        """Return how many of the bytes that passed are occurrences of something that nobody else should read."""
        with self._lock:
            return sum(bytes(way).count(secret) * len(secret) for way in self._passed for secret in secrets)

    def cut(self) -> None:
        """End all connections that there are; new ones are let through."""
        with self._lock:
            ended, self._sockets = self._sockets, []
        for each in ended:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def opened(self, *sockets: socket.socket) -> tuple[bytearray, bytearray]:
        """Begin to keep both directions of a connection."""
        with self._lock:
            ways = bytearray(), bytearray()
            self._passed += ways
            self._sockets += sockets
            self.connections += 1
            return ways

    def keep(self, way: bytearray, data: bytes) -> None:
        """Add what passed in a direction."""
        with self._lock:
            way += data


@contextmanager
def wiretapped(target: str) -> Iterator[Wiretap]:
    """Forward connections to a server that may not listen yet, until the block ends."""
    host, _, port = target.rpartition(":")
    with socket.create_server(("127.0.0.1", 0)) as server:
        tap = Wiretap(f"127.0.0.1:{server.getsockname()[1]}")
        Thread(target=_accept, args=(server, (host, int(port)), tap), daemon=True).start()
        yield tap


def advertise(server_properties: Path, listener: str, address: str) -> None:
    """Have a broker that is configured and not started send the clients of a listener to another address."""
    text = server_properties.read_text(encoding="utf-8")
    line = re.search(r"^advertised\.listeners=.*$", text, re.MULTILINE)
    assert line is not None, f"{server_properties} advertises nothing"
    moved = re.sub(rf"\b{listener}://[^,\s]+", f"{listener}://{address}", line[0])
    assert moved != line[0], f"{server_properties} has no listener {listener}"
    server_properties.write_text(text.replace(line[0], moved), encoding="utf-8")


def _accept(server: socket.socket, target: tuple[str, int], tap: Wiretap) -> None:
    with suppress(OSError):  # the block has ended
        while True:
            client, _ = server.accept()
            try:
                upstream = socket.create_connection(target, timeout=10)
            except OSError:
                client.close()
                continue
            upstream.settimeout(None)
            out, back = tap.opened(client, upstream)
            for source, sink, way in ((client, upstream, out), (upstream, client, back)):
                Thread(target=_forward, args=(source, sink, way, tap), daemon=True).start()


def _forward(source: socket.socket, sink: socket.socket, way: bytearray, tap: Wiretap) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            tap.keep(way, data)
            sink.sendall(data)
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
