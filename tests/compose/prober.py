"""What a port says to somebody who has neither a login nor a certificate, in plain text and encrypted.

Runs in a container, with the standard library alone: `python - HOST:PORT...` prints one JSON object, address → what was
found open there, a list of sentences.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

SECONDS = 4.0
PATHS = ("/", "/metrics", "/json/", "/api/v2/dags", "/api/v2/connections", "/sluice/", "/sluice/metrics", "/execution/")
"""What servers of these containers keep behind their login."""
_ROOT = PATHS[0]
_METADATA = struct.pack(">hhihi", 3, 1, 7, -1, 0)
_STARTUP = b"user\0airflow\0database\0airflow\0\0"
_SPARK = b"\x06" + struct.pack(">i", 9) + b"/jars/any"
_ALERT = 0x15

Talk = Callable[[socket.socket], str]


def _exchange(connection: socket.socket, message: bytes) -> bytes:
    """Send, and return the beginning of the answer; nothing if the other side ends the connection or is silent."""
    try:
        connection.sendall(message)
        return connection.recv(4096)
    except OSError:
        return b""


def kafka(connection: socket.socket) -> str:
    """Ask for the cluster's topics and brokers."""
    answer = _exchange(connection, struct.pack(">i", len(_METADATA)) + _METADATA)
    return "answers Kafka's request for metadata" if answer[4:8] == struct.pack(">i", 7) else ""


def postgres(connection: socket.socket) -> str:
    """Begin a session as Airflow's user."""
    body = struct.pack(">i", 196608) + _STARTUP
    answer = _exchange(connection, struct.pack(">i", len(body) + 4) + body)
    if answer[:1] != b"R":
        return ""
    (kind,) = struct.unpack(">i", answer[5:9])
    return {0: "PostgreSQL lets everybody in", 3: "PostgreSQL asks for the password as it is"}.get(kind, "")


def spark(connection: socket.socket) -> str:
    """Ask for a jar, as an executor does."""
    answer = _exchange(connection, struct.pack(">q", len(_SPARK) + 8) + _SPARK)
    opened = len(answer) > 8 and answer[8] in {7, 8}  # a stream, or the reason why this one is not there
    return "Spark looks for a file" if opened else ""


def page(connection: socket.socket) -> Iterator[str]:
    """Ask for one page after the other on one connection, as long as that stays.

    An application without any data, in which a browser may log in, is no open page, under whichever address it comes.
    """
    application = b""
    for path in PATHS:
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
        try:
            connection.sendall(request.encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            body = answer.read()
        except (OSError, http.client.HTTPException):
            return
        html = answer.headers.get("Content-Type", "").startswith("text/html")
        if path == _ROOT and html:
            application = body
        if answer.status == http.client.OK and not (html and body == application):
            yield f"answers GET {path} with {body[:60]!r}"


def connected(host: str, port: int) -> socket.socket:
    """Return a connection."""
    return socket.create_connection((host, port), timeout=SECONDS)


def encrypted(host: str, port: int, *, of_postgres: bool) -> socket.socket:
    """Return a connection that is encrypted, to whoever is there.

    Raises:
        OSError: nobody encrypts there, or not without a certificate.
    """
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = connected(host, port)
    if of_postgres and _exchange(connection, struct.pack(">ii", 8, 80877103)) != b"S":
        raise OSError("it does not encrypt")
    return context.wrap_socket(connection, server_hostname=host)


def open_in_plain_text(host: str, port: int) -> Iterator[str]:
    """Yield what a port says to somebody who does not encrypt. A redirection to where it does says nothing."""
    for talk in (kafka, postgres, spark):
        with connected(host, port) as connection:
            if said := talk(connection):
                yield f"in plain text: {said}"
    with connected(host, port) as connection:
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answer = _exchange(connection, request)
        if answer[:5] == b"HTTP/" and answer[9:10] not in {b"3", b"4"}:
            yield f"in plain text: {answer[:60]!r}"
    with connected(host, port) as connection:
        yield from (f"in plain text: {said}" for said in page(connection))


def open_when_encrypted(host: str, port: int) -> Iterator[str]:
    """Yield what a port says to somebody who encrypts and shows nothing."""
    for talk in (kafka, postgres):
        try:
            with encrypted(host, port, of_postgres=talk is postgres) as connection:
                if said := talk(connection):
                    yield f"encrypted, to everybody: {said}"
        except OSError:
            continue
    try:
        with encrypted(host, port, of_postgres=False) as connection:
            yield from (f"encrypted, to everybody: {said}" for said in page(connection))
    except OSError:
        return


def found_open(host: str, port: int) -> list[str]:
    """Return all that a port says to everybody, each sentence once; nothing if nobody gets there from here."""
    said: dict[str, None] = {}
    for way in (open_in_plain_text, open_when_encrypted):
        with suppress(OSError):
            for sentence in way(host, port):
                said[sentence] = None
    return list(said)


def main(addresses: list[str]) -> None:
    """Print what is open at each address."""
    split = [address.rpartition(":") for address in addresses]
    sys.stdout.write(json.dumps({f"{host}:{port}": found_open(host, int(port)) for host, _, port in split}))


if __name__ == "__main__":
    main(sys.argv[1:])
