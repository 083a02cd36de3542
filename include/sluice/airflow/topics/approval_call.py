"""Alerts that a plan waits for an answer, and that it has one."""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from typing import Any

from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.alerts.failure import new_id, owner_of, run_url
from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import already_known
from sluice.clock import Clock
from sluice.specs.model.alerting import AlertClass

log = logging.getLogger(__name__)


def call(context: Mapping[str, Any], plan: str, question: str, hours: float, clock: Clock) -> None:
    """Alert that a plan waits for an answer, unless an alert about it is open.

    Raises nothing: without an alert the page still waits.
    """
    _notify(
        context,
        clock,
        level=Level.QUESTION,
        subject=_subject(plan),
        what=f"Plan {plan} waits for an answer",
        why=f"{question} It waits at most {hours:g} hours; then the run fails and nothing is applied.",
        what_to_do="read the page under Required Actions, and approve or reject it there.",
    )


def settle(context: Mapping[str, Any], plan: str, outcome: str, clock: Clock) -> None:
    """Report that the wait is over, if its beginning was recorded. Raises nothing."""
    if _subject(plan) in airflow_dispatcher(clock).read().lasting(context["dag"].dag_id):
        _notify(
            context,
            clock,
            level=Level.RECOVERY,
            subject=_subject(plan),
            what=f"Plan {plan} waits no longer",
            why=outcome,
            what_to_do="Nothing.",
        )


def _subject(plan: str) -> str:
    return f"plan {plan}"


def _notify(context: Mapping[str, Any], clock: Clock, **said: Any) -> None:  # noqa: ANN401 - an alert's
    dag_id, run_id = context["dag"].dag_id, context["run_id"]
    alert = Alert(
        id=new_id(),
        at=clock.now(),
        evidence=(),
        where=run_url(dag_id, run_id),
        dag_id=dag_id,
        run_id=run_id,
        host=socket.gethostname(),
        alert_class=AlertClass.APPROVAL,
        owner=owner_of(context),
        **said,
    )
    dispatcher = airflow_dispatcher(clock)
    if alert.level is Level.RECOVERY:
        dispatcher.notify_end(alert)
    elif known := already_known(alert, dispatcher.read()):
        log.info("Alert %s reported it at %s.", known.id, f"{known.at:%Y-%m-%d %H:%M} UTC")
    else:
        dispatcher.notify(alert)
