"""Alerts: what lasts, and what was sent or only recorded."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from sluice.alerts.alert import Alert
from sluice.alerts.delivery import AlertHistory, DeliveryOutcome
from sluice.alerts.incidents import open_incidents
from sluice.alerts.journal import Journal
from sluice.alerts.policy import read_policy
from sluice.console.context.access import Visitor, VisitorDep
from sluice.console.context.page_context import ConsoleContext, ContextDep
from sluice.console.html.paging import PageNumber, paged
from sluice.console.html.site import page

router = APIRouter()


@router.get("/alerts")
def alerts(request: Request, visitor: VisitorDep, context: ContextDep, number: PageNumber = 1) -> HTMLResponse:
    """Show the alerts about DAGs that the visitor may see, newest first."""
    history = readable_alerts(_history(context), visitor)
    newest_first = history.alerts[::-1]
    place = context.project.settings
    policy = read_policy(place.home / "include", place.deployment)
    return page(
        request,
        "alerts.html",
        lasting=[(each, policy.rule_of(each.newest).notify) for each in open_incidents(history).values()],
        policy_note=policy.note,
        undelivered=sum(outcome(alert, history) == DeliveryOutcome.FAILED for alert in newest_first),
        total=len(newest_first),
        notes=history.notes,
        **paged(newest_first, number, lambda alert: (alert, outcome(alert, history))),
    )


@router.get("/alerts/{alert_id}")
def alert(request: Request, alert_id: str, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show everything about one alert."""
    history = readable_alerts(_history(context), visitor)
    chosen = next((each for each in history.alerts if each.id == alert_id), None)
    if chosen is None:
        raise HTTPException(404, "There is no such alert, or it is not yours to see.")
    delivery = history.deliveries.get(chosen.id)
    return page(request, "alert.html", alert=chosen, delivery=delivery)


def outcome(alert: Alert, history: AlertHistory) -> str:
    """Return how the delivery of an alert ended, in a word."""
    delivery = history.deliveries.get(alert.id)
    return "unknown" if delivery is None else delivery.outcome.value


def _history(context: ConsoleContext) -> AlertHistory:
    return Journal(context.project.folder.alerts, clock=context.clock).read()


def readable_alerts(history: AlertHistory, visitor: Visitor) -> AlertHistory:
    """Return the history of DAGs that a visitor may see; every visitor may see an alert that is about no DAG."""
    readable = set(visitor.readable({alert.dag_id for alert in history.alerts if alert.dag_id}))
    return replace(history, alerts=[alert for alert in history.alerts if not alert.dag_id or alert.dag_id in readable])
