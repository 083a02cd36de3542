"""The notifier of every DAG: a failure is recorded first, and then sent.

* A task that has failed for good (no retry is left; a skip is no failure) alerts at once.
* The run that fails with it is recorded too, but sent only if no task's alert was delivered: a run alerts once. A run
  that fails without a failed task (a timeout, a deadlock) alerts by itself. The rule is `already_notified`.
* A task about a lasting state (its `alert_subject`) alerts when the state is news. Otherwise the task's log says so.
* A unit's next death, or the same failure of another run, is only recorded while the first one is open. The rule is
  `is_repetition`; reminders and ends are sent by the minute's round, see `sluice.airflow.alerts.alert_round`.
* The deployment's policy says when and to whom, see `sluice.alerts.dispatch`.
* No error in here fails a run: the alert is in the journal, with the outcome of its delivery.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partialmethod
from typing import Any

from airflow.sdk import BaseNotifier, Context

from sluice.airflow import runtime
from sluice.airflow.alerts.delivery import Find
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.alerts.failure import OPEN_THE_LOG, DagSubject, dag_alert, printable, task_alert
from sluice.airflow.alerts.unit_evidence import UnitFacts, unit_evidence
from sluice.airflow.links import address_of
from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import AlertHistory, DeliveryOutcome, DeliveryResult, already_known, already_notified
from sluice.alerts.dispatch import AlertDispatcher
from sluice.alerts.incidents import is_repetition, open_incidents
from sluice.clock import Clock, SystemClock
from sluice.settings import StateFolder, settings
from sluice.specs.model.alerting import AlertClass

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.5


def task_facts(task: Any, folder: StateFolder) -> Iterator[str]:  # noqa: ANN401 - any operator
    """Yield one fact per page and report."""
    for link in getattr(task, "operator_extra_links", ()):
        if not type(link).__module__.startswith("sluice."):
            continue  # others ask Airflow for what they show, which may not answer now
        if page := link.get_link(task, ti_key=None):
            yield f"{link.name}: {address_of(page)}"
    backfill_id = getattr(task, "backfill_id", None)
    if isinstance(backfill_id, str):
        yield f"reports of backfill {backfill_id}: {folder.backfill(backfill_id)}"


class FailureNotifier(BaseNotifier):
    """Records a failure and sends an alert.

    Args:
        level: which callback it is given to.
        subject: what the DAG is about; a unit's driver adds its evidence.
        find: returns the services of a channel. Omitted: those of its Airflow connection.
        clock: gives the time.
        tasks_notify: the DAG's tasks alert by themselves, and the next run comes soon: a run that fails with a task
            sends no alert of its own.
        context: what Airflow's callbacks in a triggerer are constructed with.
    """

    def __init__(
        self,
        level: Level = Level.TASK,
        subject: DagSubject | None = None,
        *,
        find: Find | None = None,
        clock: Clock | None = None,
        tasks_notify: bool = False,
        context: Context | None = None,
    ) -> None:
        super().__init__(context)
        self.level = level
        self.subject = subject
        self._find = find
        self._clock = clock or SystemClock()
        self._tasks_notify = tasks_notify

    __call__ = partialmethod(BaseNotifier.__call__)
    """Airflow serialises a callback as its source code, which it finds, tokenises and stores for every DAG. It
    finds none of this one."""

    def notify(self, context: Context) -> None:
        """Record the failure, and send it unless it was reported already. Raises nothing."""
        values: Mapping[str, Any] = context
        if self._tasks_notify and values.get("reason") == "task_failure":
            return
        try:
            dispatcher = airflow_dispatcher(self._clock, self._find)
            self._notify(dispatcher, self._alert(context, dispatcher))
        except Exception:
            log.exception("The alert about a failure was cut off.")

    def render_template_fields(self, context: Context, jinja_env: Any = None) -> None:  # noqa: ANN401 - jinja2's
        """Render nothing: there are no templates, and `dag.test()` gives a DAG that cannot render any."""

    async def async_notify(self, context: Context) -> None:
        """Do the same beside the event loop."""
        await asyncio.to_thread(self.notify, context)

    def _alert(self, context: Context, dispatcher: AlertDispatcher) -> Alert:
        values: Mapping[str, Any] = context
        if self.level is Level.TASK:
            alert = task_alert(values, self.subject, self._clock.now())
            alert = _with_evidence(alert, self._evidence(values["ti"].task))
            alert = replace(alert, successes=_successes(values["ti"]))
        else:
            alert = dag_alert(values, self.subject, self._clock.now())
            history = self._settled(dispatcher, alert)
            failed = history.tasks_of(alert)
            alert = _with_tasks(alert, failed, history) if failed else _with_evidence(alert, self._evidence())
        return replace(alert, at=self._clock.now())

    def _evidence(self, task: object = None) -> UnitFacts:
        """Gather the facts of the task's operator and of the unit. A failure to gather them is a fact too."""
        facts: list[str] = []
        unit = UnitFacts(())
        try:
            facts += task_facts(task, settings().folder)
            if self.subject is not None and self.subject.kind == "unit":
                unit = unit_evidence(runtime.open_project(), self.subject.name)
        except Exception as error:  # noqa: BLE001 - an alert goes out with what could be seen
            facts.append(f"some evidence is missing: {error}")
        return replace(unit, facts=(*facts, *unit.facts))

    def _settled(self, dispatcher: AlertDispatcher, alert: Alert) -> AlertHistory:
        """Return what is on record once no task's alert of this run is under way."""
        while True:
            history = dispatcher.read()
            now = self._clock.now()
            if not any(history.in_flight(other, now) for other in history.tasks_of(alert)):
                return history
            self._clock.sleep(_POLL_SECONDS)

    def _notify(self, dispatcher: AlertDispatcher, alert: Alert) -> None:
        before = dispatcher.read()
        if alert.subject and (known := already_known(alert, before)):
            log.info("Alert %s reported it at %s: %s", known.id, f"{known.at:%Y-%m-%d %H:%M} UTC", alert.why)
            return
        incident = open_incidents(before).get(alert.key)
        alert = dispatcher.enter(alert)
        caller = already_notified(alert, dispatcher.read(), self._clock.now())
        if caller is not None:
            dispatcher.conclude(
                alert,
                DeliveryResult(DeliveryOutcome.WITHHELD, f"alert {caller.id} is about the same run and was sent."),
            )
        elif incident is not None and incident.reported is not None and is_repetition(alert, incident):
            known = incident.reported
            why = f"alert {known.id} reported it at {known.at:%Y-%m-%d %H:%M} UTC, and it is not over."
            dispatcher.conclude(alert, DeliveryResult(DeliveryOutcome.WITHHELD, why))
        else:
            dispatcher.dispatch(alert)


def _with_evidence(alert: Alert, unit: UnitFacts) -> Alert:
    facts = tuple(map(printable, unit.facts))
    return replace(
        alert,
        evidence=(*alert.evidence, *facts),
        what_to_do=alert.what_to_do or unit.what_to_do or OPEN_THE_LOG,
        alert_class=AlertClass.HALTED if unit.halted else alert.alert_class,
        since=unit.ended_at,
    )


def _with_tasks(alert: Alert, failed: Sequence[Alert], history: AlertHistory) -> Alert:
    facts = []
    for other in failed:
        delivery = history.deliveries.get(other.id)
        outcome = "no outcome recorded" if delivery is None else delivery.outcome.value
        facts.append(f"task {other.task_id}, try {other.try_number}: {other.why} (alert {other.id}: {outcome})")
    tasks = ", ".join(dict.fromkeys(str(other.task_id) for other in failed))
    return replace(
        alert,
        why=f"{alert.why} Failed tasks: {tasks}.",
        evidence=(*alert.evidence, *facts),
        what_to_do=failed[0].what_to_do,
        alert_class=failed[0].alert_class,
        successes=failed[0].successes,
        since=failed[0].since,
    )


def _successes(ti: Any) -> int | None:  # noqa: ANN401 - the SDK's task instance
    """Return how many runs of the DAG have succeeded: one more than these ends the alert."""
    if not answers_about_runs():
        return None
    try:
        return int(ti.get_dr_count(dag_id=ti.dag_id, states=["success"]))
    except Exception:  # noqa: BLE001 - an alert goes out with what could be seen
        return None


def answers_about_runs() -> bool:
    """Whether Airflow answers this process when it asks about runs.

    The DAG processor runs the callback of a task whose process died. It does not answer a question that it does not
    know: the process that asks waits until it is killed, and the alert with it.
    """
    runner = sys.modules.get("airflow.sdk.execution_time.task_runner")
    decoder = getattr(getattr(runner, "SUPERVISOR_COMMS", None), "body_decoder", None)
    if decoder is None:
        return True
    try:
        decoder.validate_python({"type": "DRCount", "count": 0})
    except ValueError:
        return False
    return True
