"""Says whether a service works: exit code 0, or one sentence. Standard library alone: it runs every few seconds.

healthy.py kafka HOST:PORT              the broker answers a request in Kafka's protocol
healthy.py spark-master URL             it leads, and takes applications
healthy.py spark-worker URL             a master has registered it
healthy.py airflow URL COMPONENT...     Airflow's API says that these components are healthy
healthy.py page URL                     it is there
healthy.py door URL                     it asks who comes

All of them encrypt. A service knows the others by the installation's authority, and shows its own certificate to those
that ask for one.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

_SECONDS = 5.0
_API_VERSIONS = 18
_CORRELATION = 7
SECRETS = Path("/run/secrets")
_AUTHORITY = "tls_ca"


class UnhealthyError(Exception):
    """What was found instead."""


def kafka(address: str) -> None:
    """Ask for the versions of the protocol: a port may accept connections before its broker serves."""
    host, _, port = address.rpartition(":")
    body = struct.pack(">hhih", _API_VERSIONS, 0, _CORRELATION, -1)
    with (
        socket.create_connection((host, int(port)), timeout=_SECONDS) as plain,
        encryption().wrap_socket(plain, server_hostname=host) as connection,
    ):
        connection.sendall(struct.pack(">i", len(body)) + body)
        answer = connection.makefile("rb").read(10)
    if len(answer) < 10:  # noqa: PLR2004 - length, correlation id and error code
        raise UnhealthyError(f"{address} closed the connection")
    _, correlation, error = struct.unpack(">iih", answer)
    if (correlation, error) != (_CORRELATION, 0):
        raise UnhealthyError(f"{address} answered with error {error} to request {correlation}")


def spark_master(url: str) -> None:
    """Check the master's own page."""
    status = _json(f"{url}/json/").get("status")
    if status != "ALIVE":
        raise UnhealthyError(f"the master's status is {status}")


def spark_worker(url: str) -> None:
    """Check the worker's own page."""
    if not _json(f"{url}/json/").get("masterurl"):
        raise UnhealthyError("no master has registered it")


def airflow(url: str, *components: str) -> None:
    """Check Airflow's monitor."""
    answer = _json(f"{url}/api/v2/monitor/health")
    states = {name: (answer.get(name) or {}).get("status") for name in components}
    if wrong := [f"{name} is {state}" for name, state in states.items() if state != "healthy"]:
        raise UnhealthyError(", ".join(wrong))


def page(url: str) -> None:
    """Ask for a page: anything but a good answer raises."""
    with _opened(url) as answer:
        answer.read()  # who is left in the middle of a page complains in its log


def door(url: str) -> None:
    """Come without a token: it works if it says that one is needed."""
    try:
        with _opened(url):
            raise UnhealthyError("it lets every client in")
    except HTTPError as error:
        if error.code != http.client.UNAUTHORIZED:
            raise


CHECKS: Mapping[str, Callable[..., None]] = {
    "kafka": kafka,
    "spark-master": spark_master,
    "spark-worker": spark_worker,
    "airflow": airflow,
    "page": page,
    "door": door,
}


def encryption(secrets: Path | None = None) -> ssl.SSLContext:
    """Return what trusts the installation's authority and no other, with the certificate of this service if it has one.

    Raises:
        OSError: there is no authority, or a file cannot be used.
    """
    folder = secrets or SECRETS
    context = ssl.create_default_context(cafile=str(folder / _AUTHORITY))
    for own in (path for path in folder.glob("tls_*") if path.name != _AUTHORITY):
        context.load_cert_chain(own)
    return context


def _opened(url: str) -> http.client.HTTPResponse:
    context = encryption() if url.startswith("https:") else None
    opened: http.client.HTTPResponse = urlopen(url, timeout=_SECONDS, context=context)  # noqa: S310 - from docker-compose.yaml
    return opened


def _json(url: str) -> dict[str, Any]:
    with _opened(url) as answer:
        body: dict[str, Any] = json.load(answer)
        return body


def main(arguments: list[str]) -> str | None:
    """Return what is wrong, or None."""
    role, *rest = arguments
    try:
        CHECKS[role](*rest)
    except (UnhealthyError, OSError, ValueError, http.client.HTTPException) as error:
        return f"{role}: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
