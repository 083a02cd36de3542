"""A proxy before a broker that offers less of Kafka's protocol, as an older broker or another service does.

It answers nothing itself: of a broker's list of requests it leaves out some, and caps the versions of others. A request
that is not on the list then ends the connection.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from kafka.protocol.metadata import ApiVersionsResponse

from tests.unit.kafka.wire import exactly, serving

_METADATA, _API_VERSIONS = 3, 18

_CONSUMERS = {8: (0, 3), 9: (0, 3), 10: (0, 1), 11: (0, 2), 12: (0, 1), 13: (0, 1), 14: (0, 1), 15: (0, 1), 16: (0, 1)}
EVENT_HUBS: Mapping[int, tuple[int, int]] = _CONSUMERS | {
    0: (3, 7),
    1: (4, 6),
    2: (0, 2),
    3: (0, 5),
    17: (0, 1),
    18: (0, 1),
    22: (0, 1),
    32: (0, 2),
    36: (0, 1),
}
"""What Event Hubs has listed in logs that its users have published (docs/kafka-services.md), without its changes of
topics; the producer's id (22) is there because it takes idempotent producers since."""

WITHOUT_IDS: Mapping[int, tuple[int, int]] = dict.fromkeys(range(100), (0, 99)) | {_METADATA: (0, 9)}
"""All that a broker has, but for what it says of topics: as before they had ids."""


@dataclass
class OlderProtocol:
    """Attributes: the versions that are offered, by the request's number; and which requests have come."""

    offered: Mapping[int, tuple[int, int]]
    asked: set[int] = field(default_factory=set)

    def relay(self, client: socket.socket, port: int) -> None:
        """Hand on what a client asks and what the broker at a port answers."""
        with socket.create_connection(("127.0.0.1", port)) as broker:
            versions: dict[int, int] = {}
            back = threading.Thread(target=self._answers, args=(broker, client, versions), daemon=True)
            back.start()
            with suppress(OSError):
                while frame := _frame(client):
                    key, version, correlation = struct.unpack(">hhi", frame[:8])
                    self.asked.add(key)
                    if key not in self.offered:
                        return
                    if key == _API_VERSIONS:
                        versions[correlation] = version
                    broker.sendall(struct.pack(">i", len(frame)) + frame)

    def _answers(self, broker: socket.socket, client: socket.socket, versions: Mapping[int, int]) -> None:
        with suppress(OSError):
            while frame := _frame(broker):
                (correlation,) = struct.unpack(">i", frame[:4])
                if correlation in versions:
                    frame = self._reduced(frame, versions[correlation])
                client.sendall(struct.pack(">i", len(frame)) + frame)

    def _reduced(self, frame: bytes, version: int) -> bytes:
        # A broker that does not know the version of the question answers in version 0, with an error.
        spoken = 0 if struct.unpack(">h", frame[4:6])[0] else version
        answer = ApiVersionsResponse.decode(frame[4:], version=spoken)
        kept = [
            ApiVersionsResponse.ApiVersion(
                api_key=key.api_key,
                min_version=max(key.min_version, self.offered[key.api_key][0]),
                max_version=min(key.max_version, self.offered[key.api_key][1]),
            )
            for key in answer.api_keys
            if key.api_key in self.offered
        ]
        reduced = ApiVersionsResponse(version=spoken, error_code=answer.error_code, api_keys=kept)
        return frame[:4] + bytes(reduced.encode())


def _frame(connection: socket.socket) -> bytes:
    header = exactly(connection, 4)
    return exactly(connection, struct.unpack(">i", header)[0]) if header else b""


@contextmanager
def older_protocol(listening: int, port: int, offered: Mapping[int, tuple[int, int]]) -> Iterator[OlderProtocol]:
    """Listen at a port of this machine before the broker at another one."""
    proxy = OlderProtocol(offered)
    with serving(lambda client: proxy.relay(client, port), listening):
        yield proxy
