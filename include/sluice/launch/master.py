"""What a standalone master says of its cluster: workers, cores and who holds them, from its own page.

Standard library alone and without PySpark: a reconciler asks once a minute. Nothing is followed elsewhere: an address
that redirects is not the master.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from sluice.errors import UnreachableError
from sluice.specs.deployments.deployment import PageTls
from sluice.streams.failures.capacity import Application, ClusterCapacity, Worker

SECONDS = 3.0
_MAX_BYTES = 8 * 1024**2


def leading_capacity(pages: Sequence[str], seconds: float = SECONDS, tls: PageTls | None = None) -> ClusterCapacity:
    """Return what a cluster has now, from the page of the master that leads: of several, one does at a time.

    Args:
        pages: addresses of the pages of all masters of the cluster, at least one.
        seconds: how long each may take to answer.
        tls: the files by which pages that encrypt are known and asked; None: what the machine trusts.

    Raises:
        UnreachableError: no master leads (now); it says of each why it does not.
    """
    faults = []
    for page in pages:
        try:
            return read_capacity(page, seconds, tls)
        except UnreachableError as error:
            faults.append(error)
    if len(faults) == 1:
        raise faults[0]
    raise UnreachableError(
        f"none of {len(faults)} Spark masters leads: " + " ".join(error.message for error in faults),
        fix="wait until one leads, which takes up to a minute after the last one has died; else see why none does.",
    )


def read_capacity(page: str, seconds: float = SECONDS, tls: PageTls | None = None) -> ClusterCapacity:
    """Return what the cluster has now, by the address of its master's page, such as `http://127.0.0.1:8081`.

    Files are read each time: they may have been replaced.

    Raises:
        UnreachableError: nothing answers there, it is no master, or it does not lead (now).
    """
    try:
        page_data = _get(page, seconds, tls)
        status = page_data["status"]
        workers = [
            Worker(int(worker["cores"]), int(worker["coresfree"]), int(worker["memoryfree"]))
            for worker in page_data["workers"]
            if worker["state"] == "ALIVE"
        ]
        applications = [Application(str(app["name"]), int(app["cores"])) for app in page_data["activeapps"]]
        capacity = ClusterCapacity(str(page_data["url"]), tuple(workers), tuple(applications))
    except (OSError, http.client.HTTPException) as error:
        raise _silent(page, f"does not answer: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _silent(page, f"is no page of a Spark master: {error!r}") from error
    if status != "ALIVE":
        raise _silent(page, f"says that it is {status}")
    return capacity


def _get(page: str, seconds: float, tls: PageTls | None) -> Mapping[str, Any]:
    parts = urlsplit(page)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{page!r} is no address")
    connection = _connection(parts, seconds, tls)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/json/", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise ValueError(f"status {answer.status}")
        state: Mapping[str, Any] = json.loads(answer.read(_MAX_BYTES))
        return state
    finally:
        connection.close()


def _connection(parts: SplitResult, seconds: float, tls: PageTls | None) -> http.client.HTTPConnection:
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=seconds)
    context = ssl.create_default_context(cafile=None if tls is None else tls.ca)
    if tls is not None and tls.certificate is not None:
        context.load_cert_chain(tls.certificate, tls.key)
    return http.client.HTTPSConnection(host, port, timeout=seconds, context=context)


def _silent(page: str, what: str) -> UnreachableError:
    return UnreachableError(
        f"the Spark master's page {page} {what}.", fix="see whether the master runs (`sluice status`)."
    )
