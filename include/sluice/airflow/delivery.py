"""Delivers alerts through Apprise to the services that one Airflow connection names.

A service's address is a secret as a whole: of many, the host name is a token. So nothing of an address is ever told or
logged, and what Apprise says about a failure is redacted by every part of it.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol
from urllib.parse import unquote

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import Outcome
from sluice.alerts.redaction import Redaction
from sluice.errors import SluiceError

CONNECTION = "sluice_alerts"
DEADLINE_SECONDS = 15.0
"""After this a service that still takes its time is left to itself; shorter than `sluice.alerts.delivery.IN_FLIGHT`."""

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
class Finding:
    """How a delivery ended, and one sentence about it that holds no secret."""

    outcome: Outcome
    detail: str


def deliver(
    alert: Alert, *, find: Callable[[], Sequence[Service | Unusable]] | None = None, seconds: float = DEADLINE_SECONDS
) -> Finding:
    """Send an alert to every service at once. It raises nothing: the run goes its way whatever becomes of the alert.

    Args:
        alert: what to say.
        find: returns the services. Omitted: those of the connection.
        seconds: how long all of them together may take.
    """
    try:
        found = (find or services)()
    except AirflowNotFoundException:
        return Finding(Outcome.NOT_CONFIGURED, f"there is no Airflow connection {CONNECTION}.")
    except SluiceError as error:
        return Finding(Outcome.FAILED, f"delivery failed: {error}")
    except Exception as error:  # noqa: BLE001 - see the docstring; its text may quote the connection
        return Finding(Outcome.FAILED, f"delivery failed: {CONNECTION} could not be read ({type(error).__name__}).")
    unusable = [service.reason for service in found if isinstance(service, Unusable)]
    usable = [service for service in found if not isinstance(service, Unusable)]
    failures = _send_to_all(alert, usable, seconds)
    if failures:
        return Finding(Outcome.FAILED, f"delivery failed: {'; '.join([*failures, *unusable])}")
    names = ", ".join(service.name for service in usable)
    return Finding(Outcome.DELIVERED, " ".join([f"delivered to {names}.", *unusable]))


def services() -> list[Service | Unusable]:
    """Return the services of the connection.

    Raises:
        AirflowNotFoundException: there is no such connection.
        SluiceError: what it holds is no address.
    """
    return services_of(BaseHook.get_connection(CONNECTION).extra_dejson)


def services_of(extra: dict[str, Any]) -> list[Service | Unusable]:
    """Return the services in a connection's extra, as Airflow's Apprise provider has them.

    Args:
        extra: `{"config": {"path": address}}`, or a list of these; `config` may be JSON text.

    An entry that names no service is told with every delivery, and keeps the others from nothing.

    Raises:
        SluiceError: no entry names a service. The message quotes nothing of them.
    """
    config = extra.get("config")
    try:
        entries: Any = json.loads(config) if isinstance(config, str) else config
    except ValueError:
        entries = None
    found: list[Service] = []
    reasons: list[str] = []
    for entry in entries if isinstance(entries, list) else [entries]:
        try:
            found.append(_service(entry))
        except SluiceError as error:
            reasons.append(str(error))
    if not found:
        raise SluiceError(reasons[0] if reasons else _NO_ADDRESS)
    return [*found, *map(Unusable, reasons)]


_NO_ADDRESS = f'the extra of {CONNECTION} is no {{"config": {{"path": "an Apprise address"}}}}.'


def _service(entry: Any) -> AppriseService:  # noqa: ANN401 - whatever stands in the connection
    try:
        address = str(entry["path"])
    except (TypeError, KeyError):
        raise SluiceError(_NO_ADDRESS) from None
    return AppriseService(address)


@dataclass(frozen=True)
class Unusable:
    """An entry of the connection that names no service.

    Attributes:
        reason: why; nothing of an address.
    """

    reason: str


class AppriseService:
    """A service behind an Apprise address.

    Args:
        address: such as `mailtos://user:password@example.org`, see the Apprise wiki.

    Raises:
        SluiceError: Apprise does not know such an address.
    """

    def __init__(self, address: str) -> None:
        import apprise  # noqa: PLC0415 - 0.2 s that no DAG file pays for while it is parsed

        self._redact = Redaction(_parts(address))
        with _kept_quiet() as said:
            service = apprise.Apprise.instantiate(address)
        if service is None:
            reason = self._redact("; ".join(said)) or "unknown kind of service"
            raise SluiceError(f"an address in {CONNECTION} is none of Apprise's: {reason}")
        self.name = str(service.service_name)
        self._markdown = service.notify_format == apprise.NotifyFormat.MARKDOWN
        self._sender = apprise.Apprise()
        self._sender.add(service)

    def send(self, alert: Alert) -> str:
        """Send an alert and return why that failed; empty if it was taken."""
        with _kept_quiet() as said:
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
                said.append(f"{type(error).__name__}: {error}")
                taken = False
        return "" if taken else self._redact("; ".join(said)) or "it was not taken"


def _send_to_all(alert: Alert, found: Sequence[Service], seconds: float) -> list[str]:
    """Return what failed, one sentence each."""
    results: dict[int, str] = {}

    def send(place: int, service: Service) -> None:
        results[place] = service.send(alert)

    # Threads that end with the process: a service that never answers must not keep a task's process alive.
    threads = [threading.Thread(target=send, args=item, daemon=True) for item in enumerate(found)]
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"no answer within {seconds:g} s"
    said = [f"{service.name}: {results.get(place, late)}" for place, service in enumerate(found)]
    return [sentence for place, sentence in enumerate(said) if results.get(place, late)]


def _parts(address: str) -> set[str]:
    """Return everything in an address that may be a secret: all of it but the kind of service."""
    _, _, rest = address.partition("://")
    parts = {part for part in re.split(r"[/:@?&=#,]", rest) if part}
    return {address, rest, *parts, *map(unquote, parts)}


class _Collector(logging.Handler):
    """Collects what this thread logs."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._said = said
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self._said.append(record.getMessage())


@contextmanager
def _kept_quiet() -> Iterator[list[str]]:
    """Give the warnings of Apprise in this thread, and keep what it logs out of every log: it quotes addresses."""
    said: list[str] = []
    collector = _Collector(said)
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.setLevel(logging.WARNING)
        logger.addHandler(collector)
    try:
        yield said
    finally:
        for name in _TALKATIVE:
            logging.getLogger(name).removeHandler(collector)


def main() -> None:
    """Deliver the alert on stdin and write the finding to stdout, each as JSON: the command line's way to Airflow."""
    finding = deliver(Alert.from_dict(json.load(sys.stdin)))
    sys.stdout.write("\n" + json.dumps(asdict(finding)) + "\n")


if __name__ == "__main__":
    main()
