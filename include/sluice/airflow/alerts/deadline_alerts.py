"""Tells people of deadlines that a running stream misses or meets again, the way of all alerts.

The watcher's thread only hands over what is to be told. One thread of its own claims it, puts it into the journal and
sends it, so neither the event loop nor a look ever waits for a service. Who does not get the claim tells nothing.
"""

from __future__ import annotations

import logging
import socket
import threading
from datetime import datetime
from queue import SimpleQueue

from sluice.airflow.alerts.delivery import Find
from sluice.airflow.alerts.dispatch import AlertDispatcher
from sluice.airflow.alerts.failure import OPEN_THE_LOG, dag_url, new_id, printable
from sluice.airflow.alerts.unit_evidence import unit_evidence
from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import DeliveryOutcome
from sluice.clock import Clock, SystemClock
from sluice.project.project import Project
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.specs.model.alerting import AlertClass
from sluice.streams.deadlines.notices import Notice, Occasion
from sluice.streams.deadlines.record import Deadline, DeadlineRecord

log = logging.getLogger(__name__)

_VERBS = {
    Occasion.MISSED: "misses its deadline",
    Occasion.STILL_MISSED: "still misses its deadline",
    Occasion.MET: "meets its deadline again:",
}


class DeadlineAlerts:
    """Tells what it is offered, one after the other.

    Args:
        find: returns the services of a channel. Omitted: those of its Airflow connection.
        clock: gives the time.
    """

    def __init__(self, *, find: Find | None = None, clock: Clock | None = None) -> None:
        self._find = find
        self._clock = clock or SystemClock()
        self._queue: SimpleQueue[tuple[Project, Notice]] = SimpleQueue()
        self._waiting: set[tuple[str, str, Deadline]] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def offer(self, project: Project, notice: Notice) -> None:
        """Have something told soon. What waits already, or is being told, is not taken twice."""
        with self._lock:
            if _key(notice) in self._waiting:
                return
            self._waiting.add(_key(notice))
            if self._thread is None:  # it ends with the process: a service that never answers must not keep that alive
                self._thread = threading.Thread(target=self._work, name="sluice-deadlines", daemon=True)
                self._thread.start()
        self._queue.put((project, notice))

    def _work(self) -> None:
        while True:
            project, notice = self._queue.get()
            try:
                self.tell(project, notice)
            except Exception:
                log.exception("The alert about a deadline of %s was cut off; it is tried again.", notice.stream)
            finally:
                with self._lock:
                    self._waiting.discard(_key(notice))

    def tell(self, project: Project, notice: Notice) -> None:
        """Claim a notice, record it and send it; nothing if somebody else has claimed it.

        Raises:
            UnreachableError: the control database could not be asked; nothing was told.
        """
        registry = project.records.registry()
        claim = notice.claim(self._clock.now())
        if not registry.replace_deadline_record(claim):
            return
        alert = deadline_alert(project, notice, claim, self._clock.now())
        desk = AlertDispatcher(self._clock, self._find)
        delivery = desk.tell(alert) if notice.missed else desk.tell_end(alert)
        if delivery.outcome is not DeliveryOutcome.FAILED:
            registry.replace_deadline_record(claim.told(self._clock.now()))


def deadline_alert(project: Project, notice: Notice, claim: DeadlineRecord, now: datetime) -> Alert:
    """Return what to say.

    Args:
        project: gives the unit's evidence.
        notice: what is to be told.
        claim: since when that is so.
        now: the present (UTC).
    """
    finding, verdict, dag_id = notice.finding, notice.verdict, stream_dag_id(notice.unit)
    since = f"{'missed' if notice.missed else 'met'} since {claim.since:%Y-%m-%d %H:%M:%S} UTC"
    judged = f"verdict now: {verdict.health}. {verdict.why}"
    seen = unit_evidence(project, notice.unit)
    return Alert(
        id=new_id(),
        at=now,
        level=Level.DEADLINE if notice.missed else Level.RECOVERY,
        what=f"Stream {notice.stream} {_VERBS[notice.occasion]} {finding.deadline} (unit {notice.unit})",
        why=printable(finding.why),
        evidence=tuple(map(printable, (f"deadline {finding.deadline}: {since}", judged, *seen.facts))),
        where=dag_url(dag_id),
        what_to_do=printable(verdict.what_to_do or finding.what_to_do or OPEN_THE_LOG) if notice.missed else "Nothing.",
        dag_id=dag_id,
        host=socket.gethostname(),
        subject=f"stream {notice.stream}, deadline {finding.deadline}",
        alert_class=AlertClass.DEADLINE,
        owner=project.catalog.owner_of(notice.stream),
    )


def _key(notice: Notice) -> tuple[str, str, Deadline]:
    return notice.unit, notice.stream, notice.finding.deadline
