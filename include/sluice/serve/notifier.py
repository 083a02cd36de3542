"""Makes alerts of rule transitions and sends them from queues, so that reading never waits for a service."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from queue import Empty, Full, Queue
from secrets import token_hex

from pydantic import JsonValue

from sluice.alerts.alert import Alert, Level
from sluice.alerts.dispatch import AlertDispatcher
from sluice.alerts.incidents import open_incidents
from sluice.clock import Clock
from sluice.live.rules import RuleEvent, Transition, missing_column
from sluice.live.values import Key, Value, as_text
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.data_alerts import DataAlert
from sluice.specs.model.model import PipelineSpec

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
MAX_PAYLOAD_BYTES = 8_000
_THREADS = 4
"""A service that hangs holds one of them for 15 s."""


class AlertNotifier:
    """Sends alerts about rules, in order for each key, by a dispatcher with the present policy."""

    def __init__(
        self, dispatcher: Callable[[], AlertDispatcher], page: Callable[[str, str], str], clock: Clock
    ) -> None:
        self.lost = 0
        self._dispatcher = dispatcher
        self._page = page
        self._clock = clock
        self._queues: list[Queue[Alert | None]] = [Queue(MAX_WAITING) for _ in range(_THREADS)]
        self._threads = [
            threading.Thread(target=self._work, args=(queue,), name="sluice-alerts", daemon=True)
            for queue in self._queues
        ]
        for thread in self._threads:
            thread.start()

    def notify(self, pipeline: PipelineSpec, event: RuleEvent) -> None:
        """Have an alert sent soon. It does not block: if the queue is full, the alert is dropped and counted."""
        alert = alert_of(pipeline, event, self._page(pipeline.name, event.rule.output), self._clock)
        try:
            self._queues[hash(alert.subject) % _THREADS].put_nowait(alert)
        except Full:
            self.lost += 1
            log.error("%s alerts wait already; this one is dropped: %s", MAX_WAITING, alert.what)  # noqa: TRY400 - it has no traceback

    def known(self, pipeline: PipelineSpec) -> Mapping[str, Iterable[Key]]:
        """Return the keys with an open alert, by rule: the empty one is that of the alert that several share."""
        keys: dict[str, list[Key]] = {}
        for subject, alert_class in open_incidents(self._dispatcher().read()):
            if alert_class is AlertClass.DATA:
                for rule in pipeline.alerts:
                    prefix = _prefix(pipeline, rule)
                    if subject.startswith(prefix) and (key := _key_in(subject.removeprefix(prefix))) is not None:
                        keys.setdefault(rule.name, []).append(key)
        return keys

    def stop(self, seconds: float = 5.0) -> None:
        """Send what waits, within some seconds, and end."""
        for queue in self._queues:
            try:
                queue.put(None, timeout=seconds)
            except Full:
                continue
        for thread in self._threads:
            thread.join(seconds)

    def _work(self, queue: Queue[Alert | None]) -> None:
        while True:
            try:
                alert = queue.get(timeout=60)
            except Empty:
                continue
            if alert is None:
                return
            try:
                if self._dispatcher().notify_once(alert) is None:
                    log.info("Another process has sent it: %s", alert.what)
            except Exception:
                log.exception("An alert was cut off: %s", alert.what)


def alert_of(pipeline: PipelineSpec, event: RuleEvent, page: str, clock: Clock) -> Alert:
    """Return the alert about a transition of a pipeline's rule, with the address of the output's page."""
    rule, resolved = event.rule, event.transition is Transition.RESOLVED
    name = f"{pipeline.name}: {rule.name}"
    where = ", ".join(event.key) or "more keys than alert one by one"
    alert = Alert(
        id=token_hex(4),
        at=clock.now(),
        level=Level.RECOVERY if resolved else Level.STATE,
        what=f"{name} is over for {where}" if resolved else f"{name} holds for {where}",
        why=_why(event),
        evidence=(f"the rule: {rule.words()}", f"the output: {rule.output}"),
        where=page,
        what_to_do="Nothing." if resolved else rule.message or f"ask its owner, {pipeline.owner}.",
        host=socket.gethostname(),
        subject=_prefix(pipeline, rule) + json.dumps(event.key),
        alert_class=AlertClass.DATA,
        owner=pipeline.owner,
    )
    if event.value is None:
        return alert if event.key else replace(alert, since=event.at)  # by which a late one is told from a new one
    row = ", ".join(f"{column} {as_text(cell)}" for column, cell in event.value.fields.items())
    delivered = f"delivered at {event.value.at:%Y-%m-%d %H:%M:%S.%f} UTC"
    payload, notes = _payload(rule, event.value)
    evidence = (*alert.evidence, delivered, f"the row: {row}", *notes)
    return replace(alert, since=event.value.at, evidence=evidence, row=payload)


def _payload(rule: DataAlert, value: Value) -> tuple[dict[str, JsonValue] | None, list[str]]:
    """Return what a program gets of a row, and what it lacks: the journal has no room for rows of any size."""
    row = {column: value.fields.get(column) for column in rule.payload or value.fields}
    notes = [missing_column(column, value) for column in rule.payload if column not in value.fields]
    text = json.dumps(row)
    if len(text) > MAX_PAYLOAD_BYTES:
        size = f"{len(text):,} bytes of JSON, and {MAX_PAYLOAD_BYTES:,} are sent; name columns in `payload`"
        return None, [*notes, f"webhooks get no row: it has {size}"]
    return json.loads(text, parse_constant=lambda _: None), notes  # JSON has neither NaN nor infinity


def _why(event: RuleEvent) -> str:
    rule, value = event.rule, event.value
    if event.transition is Transition.RATE_LIMITED:
        return f"In the last hour it began to hold for {rule.most_per_hour} keys, and for more since."
    if value is None:
        return "The key has no value any more." if event.key else "It holds for no more keys than alerted one by one."
    values = ", ".join(f"{column} is {as_text(value.fields.get(column))}" for column in rule.when)
    return f"{values}."[:1].upper() + f"{values}."[1:]


def _prefix(pipeline: PipelineSpec, rule: DataAlert) -> str:
    return f"pipeline {pipeline.name}, alert {rule.name} "


def _key_in(text: str) -> Key | None:
    """Return a key; None if this is none."""
    try:
        key = json.loads(text)
    except ValueError:
        return None
    return tuple(map(str, key)) if isinstance(key, list) else None
