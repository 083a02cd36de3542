"""A server of TLS that notes whose certificate each client shows, says nothing more, and ends the connection.

Clients of Kafka connect to it again and again, so it is seen with which files they do.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.unit.kafka.wire import serving


@dataclass
class TlsListener:
    """What it has seen.

    Attributes:
        address: host:port.
        names: the common name in the certificate of each client that came, in order; empty for a client without one.
    """

    address: str
    names: list[str] = field(default_factory=list)


@contextmanager
def tls_listener(certificate: Path, clients: Path | None = None) -> Iterator[TlsListener]:
    """Listen until the block ends.

    Args:
        certificate: the server's key and certificate in one file.
        clients: the authority of clients, which have to show a certificate; None: they need none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if clients is not None:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    names: list[str] = []

    def handle(plain: socket.socket) -> None:
        plain.settimeout(5)
        with context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False) as connection:
            with suppress(OSError):
                connection.do_handshake()
                subject = (connection.getpeercert() or {}).get("subject", ())
                names.append("".join(str(value) for each in subject for _, value in each))
            with suppress(OSError):  # what is not read would take back the alert that says why it failed
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass

    with serving(handle) as port:
        yield TlsListener(f"127.0.0.1:{port}", names)
