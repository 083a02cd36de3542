"""Servers on this machine that speak Kafka's protocol as far as a test says, or something else."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from kafka.protocol.admin import DescribeQuorumResponse
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from sluice.clock import SystemClock

Versions: TypeAlias = Mapping[int, tuple[int, int]]

METADATA, HANDSHAKE, API_VERSIONS, AUTHENTICATE, QUORUM = 3, 17, 18, 36, 55
SPOKEN: Versions = {METADATA: (0, 8), HANDSHAKE: (0, 1), API_VERSIONS: (0, 3), AUTHENTICATE: (0, 1), QUORUM: (0, 2)}
ILLEGAL_SASL_STATE, UNSUPPORTED_MECHANISM, AUTHENTICATION_FAILED = 34, 33, 58


@dataclass
class Wire:
    """A broker.

    Attributes:
        brokers: node → (host, port), as its metadata names them.
        cluster: the cluster's id.
        versions: what it speaks.
        user: the only one that it lets in, with its password, by PLAIN; None: it asks nobody.
        ahead: of its controller's clock.
        tls: with it, it speaks TLS.
        asked: the numbers of the requests that came.
    """

    brokers: dict[int, tuple[str, int]] = field(default_factory=dict)
    cluster: str = "one"
    versions: Versions = field(default_factory=lambda: SPOKEN)
    user: tuple[str, str] | None = None
    ahead: timedelta = timedelta()
    tls: ssl.SSLContext | None = None
    asked: list[int] = field(default_factory=list)

    def answer(self, key: int, version: int, body: bytes) -> Any:  # noqa: ANN401  untyped client
        """Return the answer to a request."""
        self.asked.append(key)
        if key == API_VERSIONS:
            keys = [
                ApiVersionsResponse.ApiVersion(api_key=k, min_version=a, max_version=b)
                for k, (a, b) in self.versions.items()
            ]
            return ApiVersionsResponse(version=0, error_code=0, api_keys=keys)
        if key == HANDSHAKE:
            known = self.user is not None and b"PLAIN" in body
            error = ILLEGAL_SASL_STATE if self.user is None else 0 if known else UNSUPPORTED_MECHANISM
            return SaslHandshakeResponse(version=version, error_code=error, mechanisms=["PLAIN"])
        if key == AUTHENTICATE:
            good = self.user is not None and "\0".join(self.user).encode() in body
            error, message = (0, None) if good else (AUTHENTICATION_FAILED, "wrong password")
            return SaslAuthenticateResponse(version=version, error_code=error, error_message=message, auth_bytes=b"")
        if key == METADATA:
            return self._metadata(version)
        return self._quorum(version)

    def _metadata(self, version: int) -> Any:  # noqa: ANN401  untyped client
        broker = MetadataResponse.MetadataResponseBroker
        named = [broker(node_id=n, host=host, port=port, rack=None) for n, (host, port) in self.brokers.items()]
        return MetadataResponse(version=version, brokers=named, cluster_id=self.cluster, controller_id=1, topics=[])

    def _quorum(self, version: int) -> Any:  # noqa: ANN401  untyped client
        now = int((SystemClock().now() + self.ahead).timestamp() * 1000)
        topic = DescribeQuorumResponse.TopicData
        part = topic.PartitionData
        voters = [
            part.ReplicaState(replica_id=2, log_end_offset=9, last_fetch_timestamp=1, last_caught_up_timestamp=1),
            part.ReplicaState(replica_id=1, log_end_offset=9, last_fetch_timestamp=now, last_caught_up_timestamp=now),
        ]
        one = part(partition_index=0, error_code=0, leader_id=1, leader_epoch=1, current_voters=voters, observers=[])
        topics = [topic(topic_name="__cluster_metadata", partitions=[one])]
        return DescribeQuorumResponse(version=version, error_code=0, topics=topics)


def converse(wire: Wire, connection: socket.socket) -> None:
    """Answer what comes over a connection until it ends."""
    if wire.tls is not None:
        connection = wire.tls.wrap_socket(connection, server_side=True)
    while header := connection.recv(4, socket.MSG_WAITALL) if wire.tls is None else exactly(connection, 4):
        (size,) = struct.unpack(">i", header)
        if not 0 < size < 100_000:  # as a broker does with what is no request
            return
        body = exactly(connection, size)
        key, version, correlation = struct.unpack(">hhi", body[:8])
        answer = wire.answer(key, version, body)
        answer.with_header(correlation_id=correlation)
        connection.sendall(answer.encode(header=True, framed=True))


def exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes of a connection; none if it ends before."""
    data = b""
    while len(data) < size and (more := connection.recv(size - len(data))):
        data += more
    return data if len(data) == size else b""


@contextmanager
def serving(handle: Any, port: int = 0) -> Iterator[int]:  # noqa: ANN401 - a function of a connection
    """Have each connection to a port of this machine, a free one unless said, handled in a thread; yields the port."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", port)) as server:

        def one(connection: socket.socket) -> None:
            with suppress(OSError, ValueError), connection:
                handle(connection)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    kept.append(connection)
                    threading.Thread(target=one, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield int(server.getsockname()[1])
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in kept:
                connection.close()


@contextmanager
def wired(wire: Wire) -> Iterator[int]:
    """Serve one broker; where it names none, it names itself as node 1."""
    with serving(lambda connection: converse(wire, connection)) as port:
        wire.brokers = wire.brokers or {1: ("127.0.0.1", port)}
        yield port
