"""The conditions of a fleet's streams and units that need an alert, and those that are over."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sluice.alerts.incidents import Key
from sluice.alerts.rounds import Condition
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.deadlines import StreamDeadlines
from sluice.streams.health.fleet import StreamStatus
from sluice.streams.health.health import Health
from sluice.streams.health.recording import DWELL
from sluice.streams.health.verdict import Verdict

ABOUT_STREAMS = frozenset(
    {AlertClass.LOSS_RISK, AlertClass.REWOUND, AlertClass.STALLED, AlertClass.STOPPED, AlertClass.UNKNOWN}
)
"""Classes whose subject is a stream."""

ABOUT_UNITS = frozenset({AlertClass.HALTED, AlertClass.FAILED_RUN})
"""Classes whose subject is a unit: every one of its streams must end them."""


_CLASSES: Mapping[Health, AlertClass] = {
    Health.LOSS_RISK: AlertClass.LOSS_RISK,
    Health.REWOUND: AlertClass.REWOUND,
    Health.STALLED: AlertClass.STALLED,
    Health.STOPPED: AlertClass.STOPPED,
    Health.UNKNOWN: AlertClass.UNKNOWN,
}
"""LAGGING is none: the deadlines of the spec say how late is too late."""

PATIENCE: Mapping[AlertClass, timedelta] = {
    AlertClass.STALLED: timedelta(minutes=2),
    AlertClass.STOPPED: timedelta(minutes=10),
    AlertClass.UNKNOWN: timedelta(minutes=10),
}
"""How long it must have lasted: restarts and short absences need no alert."""

_HALTED_FIX = "repair what made it fail, then resume it: `sluice streams resume {unit}`, or `resume` in its DAG's form."


def ends(alert_class: AlertClass, verdict: Verdict, *, wanted: bool) -> bool:
    """Whether a verdict proves that the condition of an alert is over.

    * A stream that is OK or IDLE works, which ends everything.
    * One that is LAGGING works too, and one that is SCHEDULED has worked to the end of its newest run. A risk of loss
      they end only if no loss is in sight any more.
    * STOPPED ends everything where the stop was asked for, and nothing where the stream is meant to run.
    * Everything else, UNKNOWN first of all, is no evidence of health and ends nothing.

    A class that is not about streams or units is ended by no verdict.

    Args:
        alert_class: what the alert is about.
        verdict: on the stream; for a class about a unit, on each of its streams.
        wanted: whether the stream is meant to run.
    """
    if alert_class not in ABOUT_STREAMS | ABOUT_UNITS:
        return False
    match verdict.health:
        case Health.OK | Health.IDLE:
            return True
        case Health.LAGGING | Health.SCHEDULED:
            return alert_class is not AlertClass.LOSS_RISK or verdict.loss_seconds is None
        case Health.STOPPED:
            return not wanted
        case _:
            return False


@dataclass
class FleetConditions:
    """The conditions of a fleet.

    Attributes:
        conditions: those that last now.
        over: the conditions that have ended, with the proof.
        titles: of what is over, the title of its recovery; omitted: `Over: ` and the title of its alert.
    """

    conditions: dict[Key, Condition] = field(default_factory=dict)
    over: dict[Key, str] = field(default_factory=dict)
    titles: dict[Key, str] = field(default_factory=dict)


def conditions_of(statuses: Collection[StreamStatus], catalog: Catalog, now: datetime) -> FleetConditions:
    """Return the conditions of a fleet, and what is over.

    A stream that is well must have been so for a while: otherwise a recovery would be sent between two crashes.
    """
    found, units = FleetConditions(), dict[str, list[StreamStatus]]()
    owners = {status.stream: catalog.owner_of(status.stream) for status in statuses}
    for status in statuses:
        units.setdefault(status.unit, []).append(status)
        _of_stream(status, owners, now, found)
        _of_deadlines(status, owners, catalog.deadlines_of(status.stream), found)
    for unit, streams in units.items():
        _of_unit(unit, streams, owners, now, found)
    return found


def _of_stream(status: StreamStatus, owners: Mapping[str, str], now: datetime, found: FleetConditions) -> None:
    verdict, subject = status.verdict, f"stream {status.stream}"
    now_is = _CLASSES.get(verdict.health) if status.needs_attention and not status.halted else None
    since = status.since
    if now_is is not None and since is not None and now - since >= PATIENCE.get(now_is, timedelta()):
        found.conditions[subject, now_is] = Condition(
            subject=subject,
            alert_class=now_is,
            what=f"Stream {status.stream} is {verdict.health} (unit {status.unit})",
            why=verdict.why,
            what_to_do=verdict.what_to_do,
            unit=status.unit,
            owner=owners.get(status.stream, ""),
            since=since,
        )
    for alert_class in ABOUT_STREAMS:
        if _ended(alert_class, status, now):
            found.over[subject, alert_class] = _over(status)


def _of_deadlines(
    status: StreamStatus, owners: Mapping[str, str], declared: StreamDeadlines, found: FleetConditions
) -> None:
    stream, verdict = status.stream, status.verdict
    for state in status.deadlines:
        key = f"stream {stream}, deadline {state.deadline}", AlertClass.DEADLINE
        if not state.missed:
            found.over[key] = state.why
            found.titles[key] = f"Stream {stream} meets its deadline again: {state.deadline} (unit {status.unit})"
        elif getattr(declared, state.deadline.value) is not None:
            found.conditions[key] = Condition(
                subject=key[0],
                alert_class=key[1],
                what=f"Stream {stream} misses its deadline {state.deadline} (unit {status.unit})",
                why=state.why,
                what_to_do=verdict.what_to_do or state.what_to_do,
                unit=status.unit,
                owner=owners.get(stream, ""),
                since=state.since,
                facts=(f"verdict now: {verdict.health}. {verdict.why}",),
                repeat=declared.remind,
            )


def _of_unit(
    unit: str, streams: list[StreamStatus], owners: Mapping[str, str], now: datetime, found: FleetConditions
) -> None:
    first, subject = streams[0], f"unit {unit}"
    if first.halted:
        found.conditions[subject, AlertClass.HALTED] = Condition(
            subject=subject,
            alert_class=AlertClass.HALTED,
            what=f"Unit {unit} is HALTED: nothing starts until an operator requests it",
            why=first.verdict.why,
            what_to_do=first.verdict.what_to_do or _HALTED_FIX.format(unit=unit),
            unit=unit,
            owner=owners.get(first.stream, ""),
            since=min(first.changed_at or now, now),
        )
        return
    for alert_class in ABOUT_UNITS:
        if all(_ended(alert_class, each, now) for each in streams):
            found.over[subject, alert_class] = _over(first)


def _ended(alert_class: AlertClass, status: StreamStatus, now: datetime) -> bool:
    """Whether a stream proves that a class of alerts is over: a stop is done, or it has worked for long enough."""
    if not ends(alert_class, status.verdict, wanted=status.should_run):
        return False
    if status.verdict.health is Health.STOPPED:
        return True
    times = (status.since, status.changed_at)
    return status.since is not None and all(at is None or now - at >= DWELL for at in times)


def _over(status: StreamStatus) -> str:
    if not status.should_run:
        return f"It is no longer meant to run. {status.verdict.why}"
    return f"It is {status.verdict.health} now, generation {status.generation}. {status.verdict.why}"
