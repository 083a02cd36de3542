"""A webhook: an alert as a JSON document, posted to the address of an Airflow connection of type `http`.

Programs act on it, so it is made to be sent twice: an alert that is sent again has the same id, which is also the
request's `Idempotency-Key`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from airflow.sdk import Connection

from sluice.alerts.alert import Alert, Level
from sluice.alerts.redaction import Redaction
from sluice.errors import SluiceError

_SECONDS = 4.0
"""To connect, and to answer."""
_MOST_QUOTED = 200


class Webhook:
    """A program that takes alerts over HTTP.

    Of the connection, `host` and `schema` (or a whole address as `host`), `port`, `login`, `password` and the headers
    in `extra` are used as Airflow's HTTP provider uses them; a password without a login is a bearer token.

    Raises:
        SluiceError: the connection has no host, or its extra is no object of texts.
    """

    name = "HTTP"

    def __init__(self, connection: Connection) -> None:
        self._address = _address(connection)
        self._headers = _headers(connection)
        self._login = (connection.login, connection.password or "") if connection.login else None
        secrets = (self._address, connection.host, connection.login, connection.password, *self._headers.values())
        self._redact = Redaction(filter(None, secrets))

    def send(self, alert: Alert) -> str:
        """Post an alert and return why that failed; empty if the answer's status is 2xx. No redirect is followed."""
        headers = {**self._headers, "Idempotency-Key": alert.id}
        try:
            answer = httpx.post(
                self._address, json=document(alert), headers=headers, auth=self._login, timeout=_SECONDS
            )
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            return self._redact(f"{type(error).__name__}: {error}")
        if answer.is_success:
            return ""
        return self._redact(f"it answered {answer.status_code}: {answer.text[:_MOST_QUOTED]}")


def document(alert: Alert) -> dict[str, Any]:
    """Return the document: `row` is that of a rule about data, null for all other alerts."""
    return {
        "id": alert.id,
        "state": {Level.RECOVERY: "over", Level.TEST: "test"}.get(alert.level, "begun"),
        "class": alert.alert_class.value,
        "subject": alert.concerns,
        "at": alert.at.isoformat(),
        "since": None if alert.since is None else alert.since.isoformat(),
        "what": alert.what,
        "why": alert.why,
        "what_to_do": alert.what_to_do,
        "where": alert.where,
        "owner": alert.owner,
        "row": alert.row,
    }


def _address(connection: Connection) -> str:
    host = connection.host or ""
    if not host:
        raise SluiceError(f"the HTTP connection {connection.conn_id} has no host.")
    address = host if "://" in host else f"{connection.schema or 'http'}://{host}"
    if not connection.port:
        return address
    scheme, _, rest = address.partition("://")
    name, slash, path = rest.partition("/")
    return f"{scheme}://{name}:{connection.port}{slash}{path}"


def _headers(connection: Connection) -> dict[str, str]:
    given: object = connection.extra_dejson.get("headers", connection.extra_dejson)
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in given.values()):
        raise SluiceError(f"the extra of the HTTP connection {connection.conn_id} is no object of headers.")
    headers = dict(given)
    if connection.password and not connection.login:
        headers["Authorization"] = f"Bearer {connection.password}"
    return headers
