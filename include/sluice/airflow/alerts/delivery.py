"""Delivers alerts to the services of channels, all at once and within a bounded time."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from airflow.sdk.exceptions import AirflowNotFoundException

from sluice.airflow.alerts.services import DEFAULT, Service, Unusable, services_of_channel
from sluice.alerts.alert import Alert
from sluice.alerts.delivery import DeliveryOutcome, DeliveryResult
from sluice.errors import SluiceError
from sluice.specs.model.alerting import Channel

DEADLINE_SECONDS = 15.0
"""After this a service that still takes its time is left to itself; shorter than `sluice.alerts.delivery.IN_FLIGHT`."""

Find: TypeAlias = Callable[[Channel], Sequence[Service | Unusable]]


@dataclass
class _Ways:
    """The services of some channels, and what is wrong with the others."""

    usable: list[tuple[Channel, Service]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def _ways(channels: Sequence[Channel], find: Find) -> _Ways:
    ways = _Ways()
    for channel in channels:
        try:
            for service in find(channel):
                if isinstance(service, Unusable):
                    ways.notes.append(service.reason)
                else:
                    ways.usable.append((channel, service))
        except AirflowNotFoundException:
            ways.missing.append(f"there is no Airflow connection {channel.connection}")
        except SluiceError as error:
            ways.failures.append(str(error))
        except Exception as error:  # noqa: BLE001 - delivery raises nothing; the error's text may quote the connection
            ways.failures.append(f"{channel.connection} could not be read ({type(error).__name__}).")
    return ways


def deliver(
    alert: Alert,
    channels: Sequence[Channel] = (DEFAULT,),
    *,
    find: Find | None = None,
    seconds: float = DEADLINE_SECONDS,
) -> DeliveryResult:
    """Send an alert to every service of some channels. It raises nothing: the run goes its way whatever becomes of it.

    A channel without its connection is a failure, unless it is the default one, which is there without a policy.

    Args:
        alert: what to say.
        channels: the ways; at least one.
        find: returns the services of a channel. Omitted: those of its Airflow connection.
        seconds: how long all of them together may take.
    """
    ways = _ways(channels, find or services_of_channel)
    usable, notes = ways.usable, ways.notes
    if ways.missing and not usable and not ways.failures and list(channels) == [DEFAULT]:
        return DeliveryResult(DeliveryOutcome.NOT_CONFIGURED, f"{ways.missing[0]}.")
    answers = _send_to_all(alert, [service for _, service in usable], seconds)
    failures = [*ways.failures, *ways.missing, *(sentence for sentence in answers if sentence)]
    unreached = {channel for (channel, _), sentence in zip(usable, answers, strict=True) if sentence}
    reached = tuple(dict.fromkeys(channel.identity for channel, _ in usable if channel not in unreached))
    names = ", ".join(service.name for _, service in usable)
    if failures:
        return DeliveryResult(DeliveryOutcome.FAILED, f"delivery failed: {'; '.join([*failures, *notes])}", reached)
    return DeliveryResult(DeliveryOutcome.DELIVERED, " ".join([f"delivered to {names}.", *notes]), reached)


def _send_to_all(alert: Alert, services: Sequence[Service], seconds: float) -> list[str]:
    """Return for each service why it failed, as a sentence; empty if it took the alert."""
    results: dict[int, str] = {}

    def send(place: int, service: Service) -> None:
        results[place] = service.send(alert)

    # Threads that end with the process: a service that never answers must not keep a task's process alive.
    threads = [threading.Thread(target=send, args=item, daemon=True) for item in enumerate(services)]
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"no answer within {seconds:g} s"
    why = {place: results.get(place, late) for place in range(len(services))}
    return [f"{service.name}: {why[place]}" if why[place] else "" for place, service in enumerate(services)]


def main() -> None:
    """Deliver the alert on stdin and write the finding to stdout, each as JSON: the command line's way to Airflow."""
    asked: dict[str, Any] = json.load(sys.stdin)
    channels = [Channel.model_validate(each) for each in asked["channels"]]
    finding = deliver(Alert.from_dict(asked["alert"]), channels)
    sys.stdout.write("\n" + json.dumps(asdict(finding)) + "\n")


if __name__ == "__main__":
    main()
