"""Data alerts on their way to people: from a notice to an alert, in a queue: reading never waits for a service."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from queue import Empty, Full, Queue
from secrets import token_hex

from sluice.alerts.alert import Alert, Level
from sluice.alerts.dispatch import AlertDispatcher
from sluice.alerts.incidents import open_incidents
from sluice.clock import Clock
from sluice.live.rules import RuleEvent, Turn
from sluice.live.values import Key, as_text
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.data_alerts import DataAlert
from sluice.specs.model.model import PipelineSpec

log = logging.getLogger(__name__)

MOST_WAITING = 10_000
_TELLERS = 4
"""A service that hangs holds one of them for 15 s."""


class AlertNotifier:
    """Tells what it is given, one after the other for each key.

    Args:
        desk: returns where alerts are put on record and sent, as the policy is now.
        page: returns the address of an output's page.
        clock: gives the time.
    """

    def __init__(self, desk: Callable[[], AlertDispatcher], page: Callable[[str, str], str], clock: Clock) -> None:
        self.lost = 0
        self._desk = desk
        self._page = page
        self._clock = clock
        self._queues: list[Queue[Alert | None]] = [Queue(MOST_WAITING) for _ in range(_TELLERS)]
        self._threads = [
            threading.Thread(target=self._work, args=(queue,), name="sluice-tell", daemon=True)
            for queue in self._queues
        ]
        for thread in self._threads:
            thread.start()

    def tell(self, pipeline: PipelineSpec, notice: RuleEvent) -> None:
        """Have something told soon. It waits for nothing; with too many waiting it is counted, and logged."""
        alert = alert_of(pipeline, notice, self._page(pipeline.name, notice.rule.output), self._clock)
        try:
            self._queues[hash(alert.subject) % _TELLERS].put_nowait(alert)
        except Full:
            self.lost += 1
            log.error("%s alerts wait already; this one is not told: %s", MOST_WAITING, alert.what)  # noqa: TRY400 - it says all

    def known(self, pipeline: PipelineSpec) -> Mapping[str, Iterable[Key]]:
        """Return the keys of which somebody was told that a rule holds, and not that it is over."""
        found: dict[str, list[Key]] = {}
        for subject, alert_class in open_incidents(self._desk().read()):
            if alert_class is AlertClass.DATA:
                for rule in pipeline.alerts:
                    prefix = _prefix(pipeline, rule)
                    if subject.startswith(prefix) and (key := _key_in(subject.removeprefix(prefix))):
                        found.setdefault(rule.name, []).append(key)
        return found

    def stop(self, seconds: float = 5.0) -> None:
        """Tell what waits, for a while, and end."""
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
                if self._desk().tell_once(alert) is None:
                    log.info("Another process has told of it: %s", alert.what)
            except Exception:
                log.exception("An alert was cut off: %s", alert.what)


def alert_of(pipeline: PipelineSpec, notice: RuleEvent, page: str, clock: Clock) -> Alert:
    """Return what to say.

    Args:
        pipeline: whose rule it is.
        notice: what has happened.
        page: address of the output's page.
        clock: gives the time.
    """
    rule, turn = notice.rule, notice.turn
    name = f"{pipeline.name}: {rule.name}"
    where = ", ".join(notice.key) or "more keys than are told of one by one"
    alert = Alert(
        id=token_hex(4),
        at=clock.now(),
        level=Level.RECOVERY if turn is Turn.OVER else Level.STATE,
        what=f"{name} is over for {where}" if turn is Turn.OVER else f"{name} holds for {where}",
        why=_why(notice),
        evidence=(f"the rule: {rule.words()}", f"the output: {rule.output}"),
        where=page,
        what_to_do="Nothing." if turn is Turn.OVER else rule.message or f"ask its owner, {pipeline.owner}.",
        host=socket.gethostname(),
        subject=_prefix(pipeline, rule) + json.dumps(notice.key),
        alert_class=AlertClass.DATA,
        owner=pipeline.owner,
    )
    if notice.value is None:
        return alert
    row = ", ".join(f"{column} {as_text(found)}" for column, found in notice.value.fields.items())
    delivered = f"delivered at {notice.value.at:%Y-%m-%d %H:%M:%S.%f} UTC"
    return replace(alert, since=notice.value.at, evidence=(*alert.evidence, delivered, f"the row: {row}"))


def _why(notice: RuleEvent) -> str:
    rule, value = notice.rule, notice.value
    if notice.turn is Turn.MORE:
        return f"In the last hour it began to hold for {rule.most_per_hour} keys, and for more since."
    if value is None:
        return "The key has no value any more." if notice.key else "It holds for no more keys than were told of."
    found = ", ".join(f"{column} is {as_text(value.fields.get(column))}" for column in rule.when)
    return f"{found}."[:1].upper() + f"{found}."[1:]


def _prefix(pipeline: PipelineSpec, rule: DataAlert) -> str:
    return f"pipeline {pipeline.name}, alert {rule.name} "


def _key_in(text: str) -> Key:
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    return tuple(map(str, found)) if isinstance(found, list) else ()
