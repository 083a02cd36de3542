"""The services behind an Airflow connection: people through Apprise and Airflow's SMTP, programs through webhooks.

A service's address is a secret as a whole: of many, the host name is a token. So no part of an address is ever sent or
logged, and every part of it is redacted from error messages.
"""

from __future__ import annotations

import html
import json
import logging
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from urllib.parse import unquote

from airflow.sdk import BaseHook, Connection

from sluice.airflow.alerts.webhook import Webhook
from sluice.alerts.alert import Alert, Level
from sluice.alerts.redaction import Redaction
from sluice.errors import SluiceError
from sluice.specs.model.alerting import EVERYTHING_TO_ONE, Channel

(DEFAULT,) = EVERYTHING_TO_ONE.channels.values()
CONNECTION = DEFAULT.connection
"""The channel without a policy."""

_TALKATIVE = ("apprise", "urllib3")
"""Loggers that write whole addresses at DEBUG."""

_KINDS: Mapping[Level, Literal["info", "success"]] = {
    Level.TEST: "info",
    Level.QUESTION: "info",
    Level.RECOVERY: "success",
}
"""What is no failure, in Apprise's words."""


class Service(Protocol):
    """Takes alerts."""

    @property
    def name(self) -> str:
        """What kind of service it is; nothing of its address."""
        ...

    def send(self, alert: Alert) -> str:
        """Send an alert and return why that failed; empty if it was taken."""
        ...


@dataclass(frozen=True)
class Unusable:
    """An entry of a connection that names no service.

    Attributes:
        reason: why; nothing of an address.
    """

    reason: str


def services_of_channel(channel: Channel) -> Sequence[Service | Unusable]:
    """Return the services of a channel's connection.

    Raises:
        AirflowNotFoundException: there is no such connection.
        SluiceError: what it holds is no address.
    """
    connection = BaseHook.get_connection(channel.connection)
    if connection.conn_type == "smtp":
        return [MailService(channel, connection)]
    if connection.conn_type == "http":
        return [Webhook(connection)]
    return services_of(connection.extra_dejson, channel.connection)


class MailService:
    """Mail through the SMTP server of an Airflow connection, as Airflow's own notifier sends it.

    Raises:
        SluiceError: the channel has no recipient.
    """

    name = "SMTP"

    def __init__(self, channel: Channel, connection: Connection) -> None:
        if not channel.to:
            raise SluiceError(f"a channel of the SMTP connection {channel.connection} has no recipient: it needs `to`.")
        self._channel = channel
        self._redact = Redaction(filter(None, (connection.host, connection.login, connection.password)))

    def send(self, alert: Alert) -> str:
        """Send an alert and return why that failed; empty if the server took it."""
        from airflow.providers.smtp.notifications.smtp import (  # noqa: PLC0415 - who sends no mail does not load it
            SmtpNotifier,
        )

        notifier = SmtpNotifier(
            to=list(self._channel.to),
            subject=" ".join(alert.what.split()),  # a header has one line
            html_content=f"<pre>{html.escape(alert.text())}</pre>",
            custom_headers={"X-Sluice-Alert": alert.id},
            smtp_conn_id=self._channel.connection,
        )
        try:
            notifier.notify({})
        except Exception as error:  # noqa: BLE001 - a service's own fault is what this method returns
            return self._redact(f"{type(error).__name__}: {error}")
        return ""


def services_of(extra: dict[str, Any], connection: str = CONNECTION) -> list[Service | Unusable]:
    """Return the services in a connection's extra, as Airflow's Apprise provider has them.

    The extra is `{"config": {"path": address}}`, or has a list of these; `config` may be JSON text. An invalid
    entry is reported with every delivery, and does not affect the other services.

    Raises:
        SluiceError: no entry names a service. The message quotes nothing of them.
    """
    config = extra.get("config")
    try:
        entries: Any = json.loads(config) if isinstance(config, str) else config
    except ValueError:
        entries = None
    services: list[Service] = []
    reasons: list[str] = []
    for entry in entries if isinstance(entries, list) else [entries]:
        try:
            services.append(_service(entry, connection))
        except SluiceError as error:
            reasons.append(str(error))
    if not services:
        raise SluiceError(reasons[0] if reasons else _NO_ADDRESS.format(connection))
    return [*services, *map(Unusable, reasons)]


_NO_ADDRESS = 'the extra of {} is no {{"config": {{"path": "an Apprise address"}}}}.'


def _service(entry: Any, connection: str) -> AppriseService:  # noqa: ANN401 - whatever stands in the connection
    try:
        address = str(entry["path"])
    except (TypeError, KeyError):
        raise SluiceError(_NO_ADDRESS.format(connection)) from None
    return AppriseService(address, connection)


class AppriseService:
    """A service behind an Apprise address, such as `mailtos://user:password@example.org`; see the Apprise wiki.

    Raises:
        SluiceError: Apprise does not know such an address.
    """

    def __init__(self, address: str, connection: str = CONNECTION) -> None:
        import apprise  # noqa: PLC0415 - 0.2 s that no DAG file pays for while it is parsed

        self._redact = Redaction(_parts(address))
        with _kept_quiet() as messages:
            service = apprise.Apprise.instantiate(address)
        if service is None:
            reason = self._redact("; ".join(messages)) or "unknown kind of service"
            raise SluiceError(f"an address in {connection} is none of Apprise's: {reason}")
        self.name = str(service.service_name)
        self._markdown = service.notify_format == apprise.NotifyFormat.MARKDOWN
        self._sender = apprise.Apprise()
        self._sender.add(service)

    def send(self, alert: Alert) -> str:
        """Send an alert and return why that failed; empty if it was taken."""
        with _kept_quiet() as messages:
            try:
                taken = bool(
                    self._sender.notify(
                        title=alert.what,
                        body=alert.markdown() if self._markdown else alert.text(),
                        body_format="markdown" if self._markdown else "text",
                        notify_type=_KINDS.get(alert.level, "failure"),
                    )
                )
            except Exception as error:  # noqa: BLE001 - a service's own fault is what this method returns
                messages.append(f"{type(error).__name__}: {error}")
                taken = False
        return "" if taken else self._redact("; ".join(messages)) or "it was not taken"


def _parts(address: str) -> set[str]:
    """Return everything in an address that may be a secret: all of it but the kind of service."""
    _, _, rest = address.partition("://")
    parts = {part for part in re.split(r"[/:@?&=#,]", rest) if part}
    return {address, rest, *parts, *map(unquote, parts)}


class _Collector(logging.Handler):
    """Collects what this thread logs."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._said = messages
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self._said.append(record.getMessage())


@contextmanager
def _kept_quiet() -> Iterator[list[str]]:
    """Give the warnings of Apprise in this thread, and keep what it logs out of every log: it quotes addresses."""
    messages: list[str] = []
    collector = _Collector(messages)
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.setLevel(logging.WARNING)
        logger.addHandler(collector)
    try:
        yield messages
    finally:
        for name in _TALKATIVE:
            logging.getLogger(name).removeHandler(collector)
