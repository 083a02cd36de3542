"""What of a fleet is so bad that somebody has to know, and what is well again: from how its streams stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sluice.alerts.ending import ABOUT_STREAMS, ABOUT_UNITS, ends
from sluice.alerts.incidents import Key
from sluice.alerts.rounds import Condition
from sluice.specs.model.alerting import AlertClass
from sluice.streams.health.fleet import Standing
from sluice.streams.health.recording import DWELL
from sluice.streams.health.verdict import Health

_CLASSES: Mapping[Health, AlertClass] = {
    Health.LOSS_RISK: AlertClass.LOSS_RISK,
    Health.REWOUND: AlertClass.REWOUND,
    Health.STALLED: AlertClass.STALLED,
    Health.STOPPED: AlertClass.STOPPED,
    Health.UNKNOWN: AlertClass.UNKNOWN,
}
"""Of LAGGING a deadline tells: only the spec knows how long a stream may take."""

PATIENCE: Mapping[AlertClass, timedelta] = {
    AlertClass.STALLED: timedelta(minutes=2),
    AlertClass.STOPPED: timedelta(minutes=10),
    AlertClass.UNKNOWN: timedelta(minutes=10),
}
"""How long it must have been so: restarts and short absences are nothing to be told of."""

_HALTED_FIX = "mend what made it fail, then resume it: `sluice streams resume {unit}`, or `resume` in its DAG's form."


@dataclass
class FleetConditions:
    """What a look at a fleet amounts to.

    Attributes:
        conditions: what is so now.
        over: of what is certainly over, the reason.
    """

    conditions: dict[Key, Condition] = field(default_factory=dict)
    over: dict[Key, str] = field(default_factory=dict)


def found_in(standings: Iterable[Standing], owners: Mapping[str, str], now: datetime) -> FleetConditions:
    """Return what of a fleet has to be told, and what is over.

    A stream that is well must have been so for a while: else an end would be told between two crashes.

    Args:
        standings: how the streams of a fleet stand.
        owners: who owns each stream.
        now: the present (UTC).
    """
    found, units = FleetConditions(), dict[str, list[Standing]]()
    for standing in standings:
        units.setdefault(standing.unit, []).append(standing)
        _of_stream(standing, owners, now, found)
    for unit, streams in units.items():
        _of_unit(unit, streams, owners, now, found)
    return found


def _of_stream(standing: Standing, owners: Mapping[str, str], now: datetime, found: FleetConditions) -> None:
    verdict, subject = standing.verdict, f"stream {standing.stream}"
    now_is = _CLASSES.get(verdict.health) if standing.needs_somebody and not standing.halted else None
    since = standing.since
    if now_is is not None and since is not None and now - since >= PATIENCE.get(now_is, timedelta()):
        found.conditions[subject, now_is] = Condition(
            subject=subject,
            alert_class=now_is,
            what=f"Stream {standing.stream} is {verdict.health} (unit {standing.unit})",
            why=verdict.why,
            what_to_do=verdict.what_to_do,
            unit=standing.unit,
            owner=owners.get(standing.stream, ""),
            since=since,
        )
    for alert_class in ABOUT_STREAMS:
        if _ended(alert_class, standing, now):
            found.over[subject, alert_class] = _over(standing)


def _of_unit(
    unit: str, streams: list[Standing], owners: Mapping[str, str], now: datetime, found: FleetConditions
) -> None:
    first, subject = streams[0], f"unit {unit}"
    if first.halted:
        found.conditions[subject, AlertClass.HALTED] = Condition(
            subject=subject,
            alert_class=AlertClass.HALTED,
            what=f"Unit {unit} is HALTED: nothing starts until a person asks for it",
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


def _ended(alert_class: AlertClass, standing: Standing, now: datetime) -> bool:
    """Whether a stream proves the end of what an alert told of: a stop is done, or it has worked for long enough."""
    if not ends(alert_class, standing.verdict, wanted=standing.wanted):
        return False
    if standing.verdict.health is Health.STOPPED:
        return True
    times = (standing.since, standing.changed_at)
    return standing.since is not None and all(at is None or now - at >= DWELL for at in times)


def _over(standing: Standing) -> str:
    if not standing.wanted:
        return f"It shall not run any more. {standing.verdict.why}"
    return f"It is {standing.verdict.health} now, generation {standing.generation}. {standing.verdict.why}"
