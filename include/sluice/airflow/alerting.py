"""The notifier behind every DAG of the house: a failure goes on record first, and then to a person.

* A task that has failed for good (no retry is left; a skip is no failure) calls at once.
* The run that fails with it is recorded too, but calls only if nobody was told: once per run is what people want. A run
  that fails without a failed task (a timeout, a deadlock) calls by itself. The rule is `already_called`.
* A task that is about a state which lasts (its `alert_subject`) calls when that is news, and once a day after. What is
  known already is in the task's log only.
* Whatever goes wrong here fails no run: the alert is in the journal, and so is what became of its delivery.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partialmethod
from typing import Any

from airflow.sdk import BaseNotifier, Context
from airflow.sdk.log import redact  # type: ignore[attr-defined]  # it is there, only not in an `__all__`

from sluice.airflow.delivery import Finding, Service, deliver
from sluice.airflow.failure import OPEN_THE_LOG, Subject, dag_alert, printable, task_alert
from sluice.airflow.runtime import open_project
from sluice.airflow.task_evidence import task_facts
from sluice.airflow.unit_evidence import Evidence, unit_evidence
from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import Delivery, History, Outcome, already_called, already_known
from sluice.alerts.journal import Journal
from sluice.alerts.redaction import Redaction
from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.project import Project
from sluice.settings import environment, settings

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.5


class FailureNotifier(BaseNotifier):
    """Records a failure and tells somebody.

    Args:
        level: which callback it is given to.
        subject: what the DAG is about; a unit's driver adds its evidence.
        open_project: gives the project, for that evidence.
        find: returns the services. Omitted: those of the Airflow connection `sluice_alerts`.
        clock: gives the time.
        tasks_tell: of a DAG whose tasks each tell for themselves, and soon again: a run that fails with a task says
            nothing of its own.
        context: what Airflow's callbacks in a triggerer are constructed with.
    """

    def __init__(
        self,
        level: Level = Level.TASK,
        subject: Subject | None = None,
        *,
        open_project: Callable[[], Project] = open_project,
        find: Callable[[], Sequence[Service]] | None = None,
        clock: Clock | None = None,
        tasks_tell: bool = False,
        context: Context | None = None,
    ) -> None:
        super().__init__(context)
        self.level = level
        self.subject = subject
        self._open_project = open_project
        self._find = find
        self._clock = clock or SystemClock()
        self._tasks_tell = tasks_tell

    __call__ = partialmethod(BaseNotifier.__call__)
    """Airflow serialises a callback as its source code, which it finds, tokenises and stores for every DAG anew. It
    finds none of this one."""

    def notify(self, context: Context) -> None:
        """Record the failure; tell somebody if nobody knows of it. Raises nothing."""
        values: Mapping[str, Any] = context
        if self._tasks_tell and values.get("reason") == "task_failure":
            return
        try:
            journal = Journal(settings().folder.alerts, clock=self._clock)
            self._tell(journal, self._alert(context, journal))
        except Exception:
            log.exception("The alert about a failure was cut off.")

    def render_template_fields(self, context: Context, jinja_env: Any = None) -> None:  # noqa: ANN401 - jinja2's
        """Render nothing: there are no templates, and `dag.test()` gives a DAG that cannot render any."""

    async def async_notify(self, context: Context) -> None:
        """Do the same beside the event loop."""
        await asyncio.to_thread(self.notify, context)

    def _alert(self, context: Context, journal: Journal) -> Alert:
        values: Mapping[str, Any] = context
        if self.level is Level.TASK:
            alert = task_alert(values, self.subject, self._clock.now())
            alert = _with_evidence(alert, self._evidence(values["ti"].task))
        else:
            alert = dag_alert(values, self.subject, self._clock.now())
            history = self._settled(journal, alert)
            failed = history.tasks_of(alert)
            alert = _with_tasks(alert, failed, history) if failed else _with_evidence(alert, self._evidence())
        return replace(alert.with_text(redaction()), at=self._clock.now())

    def _evidence(self, task: object = None) -> Evidence:
        """Gather what the task's operator and the unit can say. What cannot be seen is a fact too."""
        facts: list[str] = []
        unit = Evidence(())
        try:
            facts += task_facts(task, settings().folder)
            if self.subject is not None and self.subject.kind == "unit":
                unit = unit_evidence(self._open_project(), self.subject.name)
        except Exception as error:  # noqa: BLE001 - an alert goes out with what could be seen
            facts.append(f"could not look at all of it: {error}")
        return Evidence((*facts, *unit.facts), unit.what_to_do)

    def _settled(self, journal: Journal, alert: Alert) -> History:
        """Return what is on record once no task's alert of this run is under way."""
        while True:
            history = read(journal)
            now = self._clock.now()
            if not any(history.in_flight(other, now) for other in history.tasks_of(alert)):
                return history
            self._clock.sleep(_POLL_SECONDS)

    def _tell(self, journal: Journal, alert: Alert) -> None:
        if alert.subject and (known := already_known(alert, read(journal), self._clock.now())):
            log.info("Alert %s has told of it at %s: %s", known.id, f"{known.at:%Y-%m-%d %H:%M} UTC", alert.why)
            return
        try:
            journal.append(alert)
        except SluiceError as error:
            alert = replace(alert, evidence=(*alert.evidence, f"this alert is not on record: {error}"))
        log.error("Alert %s: %s. %s", alert.id, alert.what, alert.why)
        caller = already_called(alert, read(journal), self._clock.now())
        if caller is None:
            conclude(journal, alert, deliver(alert, find=self._find), self._clock)
        else:
            finding = Finding(Outcome.WITHHELD, f"alert {caller.id} is about the same run and was sent.")
            conclude(journal, alert, finding, self._clock)


def conclude(journal: Journal, alert: Alert, finding: Finding, clock: Clock) -> Delivery:
    """Record what became of an alert's delivery, and return the record."""
    delivery = Delivery(alert.id, clock.now(), finding.outcome, redaction()(finding.detail))
    log.log(
        logging.ERROR if finding.outcome is Outcome.FAILED else logging.INFO, "Alert %s: %s", alert.id, delivery.detail
    )
    try:
        journal.append(delivery)
    except SluiceError as error:
        log.error("What became of alert %s is not on record: %s", alert.id, error)  # noqa: TRY400 - its message says it all
    return delivery


def read(journal: Journal) -> History:
    """Return what is on record, or nothing if that cannot be read: then somebody is called once too often."""
    try:
        return journal.read()
    except SluiceError as error:
        log.error("%s", error)  # noqa: TRY400 - its message says it all
        return History()


def redaction() -> Callable[[str], str]:
    """Return what hides the secrets of this process: those in its variables, and those that Airflow has read."""
    ours = Redaction.of_environment(environment())
    return lambda text: ours(str(redact(text)))


def _with_evidence(alert: Alert, found: Evidence) -> Alert:
    facts = tuple(map(printable, found.facts))
    return replace(
        alert, evidence=(*alert.evidence, *facts), what_to_do=alert.what_to_do or found.what_to_do or OPEN_THE_LOG
    )


def _with_tasks(alert: Alert, failed: Sequence[Alert], history: History) -> Alert:
    facts = []
    for other in failed:
        delivery = history.deliveries.get(other.id)
        outcome = "no outcome on record" if delivery is None else delivery.outcome.value
        facts.append(f"task {other.task_id}, try {other.try_number}: {other.why} (alert {other.id}: {outcome})")
    tasks = ", ".join(dict.fromkeys(str(other.task_id) for other in failed))
    return replace(
        alert,
        why=f"{alert.why} Failed tasks: {tasks}.",
        evidence=(*alert.evidence, *facts),
        what_to_do=failed[0].what_to_do,
    )
