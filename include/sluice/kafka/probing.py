"""What answers at an address, by sockets of our own: DNS, the port, TLS or not, Kafka or not, the login, the metadata.

A client of Kafka's hides all of this behind retries and one timeout.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from kafka.errors import KafkaError

from sluice.clock import Clock, SystemClock
from sluice.connectivity.facts import Contact, Probe
from sluice.kafka.client.connection import host_and_port
from sluice.kafka.client.conversation import Conversation
from sluice.kafka.client.login import login_refusal, tls_context
from sluice.kafka.metadata import api_versions, read_clock, read_metadata
from sluice.topics.printable import printable_bytes

_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING")
_SHOWN_BYTES = 32


@dataclass(frozen=True)
class Prober:
    """Examines addresses as one client.

    Attributes:
        client: its settings, under Kafka's names.
        seconds: how long to wait for a connection, and for each answer.
        clock: the one that the cluster's is compared with.
    """

    client: Mapping[str, str]
    seconds: float = 3.0
    clock: Clock = field(default_factory=SystemClock)

    def probe(self, address: str) -> Probe:
        """Return what is at an address, `host:port`."""
        host, port = host_and_port(address)
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            return Probe(address, Contact.UNRESOLVED, getattr(error, "strerror", None) or str(error))
        resolved = tuple(dict.fromkeys(str(place[0]) for *_, place in found))
        reasons: dict[str, OSError] = {}
        for ip in resolved:
            try:
                self._open(ip, port).close()
            except OSError as error:
                reasons[ip] = error
            else:
                return replace(self._examined(address, host, ip, port), resolved=resolved, reached=ip)
        return replace(_unreachable(address, reasons), resolved=resolved)

    @property
    def _encrypted(self) -> bool:
        return self.client.get("security.protocol", "PLAINTEXT").endswith("SSL")

    def _open(self, ip: str, port: int) -> socket.socket:
        return socket.create_connection((ip, port), timeout=self.seconds)

    @contextmanager
    def _speaking(self, host: str, ip: str, port: int) -> Iterator[socket.socket]:
        with self._open(ip, port) as connection:
            if not self._encrypted:
                yield connection
                return
            with tls_context(self.client).wrap_socket(connection, server_hostname=host) as wrapped:
                yield wrapped

    def _examined(self, address: str, host: str, ip: str, port: int) -> Probe:
        talk: Conversation | None = None
        try:
            with self._speaking(host, ip, port) as connection:
                talk = Conversation(connection)
                versions = api_versions(talk)
                try:
                    return self._as_kafka(address, talk, versions)
                except (OSError, KafkaError) as error:
                    return Probe(address, Contact.BROKEN_OFF, _reason(error))
        except ssl.SSLCertVerificationError as error:
            return Probe(address, Contact.UNTRUSTED, error.verify_message or str(error))
        except (OSError, KafkaError) as error:
            contact, detail = self._what_is_it(ip, port, b"" if talk is None else talk.received, error)
            return Probe(address, contact, detail)

    def _as_kafka(self, address: str, talk: Conversation, versions: Mapping[int, tuple[int, int]]) -> Probe:
        if refusal := login_refusal(talk, self.client):
            return Probe(address, Contact.LOGIN_REFUSED, refusal.why)
        cluster, brokers = read_metadata(talk, versions)
        known = Probe(address, Contact.KAFKA, cluster=cluster, brokers=brokers)
        return replace(known, clock=read_clock(talk, versions, self.clock))

    def _what_is_it(self, ip: str, port: int, received: bytes, error: Exception) -> tuple[Contact, str]:
        """Return what answers at a port where the client is not understood, by asking in other ways."""
        if not self._encrypted and self._takes_tls(ip, port):
            return (Contact.HTTP, "by TLS") if self._is_web(ip, port, tls=True) else (Contact.ENCRYPTED, "")
        if self._encrypted and self._is_kafka(ip, port):
            return Contact.UNENCRYPTED, ""
        if received.startswith(b"HTTP/") or self._is_web(ip, port, tls=False):
            return Contact.HTTP, ""
        if self._encrypted and self._takes_tls(ip, port):
            return (
                (Contact.HTTP, "by TLS") if self._is_web(ip, port, tls=True) else (Contact.TLS_FAILED, _reason(error))
            )
        if received:
            return Contact.FOREIGN, f"it says {printable_bytes(received, _SHOWN_BYTES)!r}"
        return (Contact.SILENT, "") if isinstance(error, TimeoutError) else (Contact.CLOSED, _reason(error))

    def _takes_tls(self, ip: str, port: int) -> bool:
        """Whether TLS is spoken there: a handshake that succeeds, or one that is refused in its own words."""
        try:
            with self._open(ip, port) as connection, _unverified().wrap_socket(connection):
                return True
        except ssl.SSLError as error:
            return bool(error.reason) and error.reason not in _NO_TLS
        except OSError:
            return False

    def _is_kafka(self, ip: str, port: int) -> bool:
        try:
            with self._open(ip, port) as connection:
                return bool(api_versions(Conversation(connection)))
        except (OSError, KafkaError):
            return False

    def _is_web(self, ip: str, port: int, *, tls: bool) -> bool:
        try:
            with self._open(ip, port) as plain:
                connection = _unverified().wrap_socket(plain) if tls else plain
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return connection.recv(_SHOWN_BYTES).startswith(b"HTTP/")
        except OSError:
            return False


def _unverified() -> ssl.SSLContext:
    """Return settings that trust anybody, to learn whether TLS is spoken: nothing secret is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _unreachable(address: str, reasons: Mapping[str, OSError]) -> Probe:
    detail = "; ".join(f"{ip}: {_reason(error)}" for ip, error in reasons.items())
    errors = reasons.values()
    if any(isinstance(error, TimeoutError) for error in errors):
        return Probe(address, Contact.TIMEOUT, detail)
    if any(isinstance(error, ConnectionRefusedError) for error in errors):
        return Probe(address, Contact.REFUSED, detail)
    return Probe(address, Contact.UNREACHABLE, detail)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or str(error) or type(error).__name__)
