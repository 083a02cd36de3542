"""The minute's round: which conditions have begun, which alerts are due, which are repeated, and what is over.

A round compares the conditions of now with the journal, and keeps no state of its own: if it is killed, the next one
continues.

* An alert that was held back, by quiet hours or because the condition had to last, is sent when its time has come, if
  the condition still lasts.
* An alert that a service did not take is tried again every five minutes for a day, then as often as it is repeated.
* An end that a service did not take is tried again as often, for a day, unless it has begun again.
* A condition that lasts is repeated as often as the policy says; a missed deadline as often as its stream's spec says.
* What could not be checked neither begins nor ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from sluice.alerts.alert import Alert
from sluice.alerts.delivery import AlertHistory, DeliveryOutcome, under_way
from sluice.alerts.incidents import Incident, Key, ended_incidents, halted_again, open_incidents
from sluice.specs.model.alerting import AlertClass, AlertPolicySpec, AlertRule

TRY_AGAIN_AFTER = timedelta(minutes=5)
TRY_FOR = timedelta(days=1)
_RELYING = frozenset({DeliveryOutcome.FAILED, DeliveryOutcome.WITHHELD})


@dataclass(frozen=True)
class Condition:
    """Something that is so now, and that an alert is about.

    Attributes:
        subject: such as `stream departures`.
        alert_class: what it is.
        what: one sentence, the title.
        why: the reason.
        what_to_do: the next step.
        unit: the unit that it is about.
        owner: who owns it.
        since: since when it is so (UTC).
        facts: its evidence, besides that of its unit.
        repeat: of a missed deadline, how often it is repeated; None: never. Of others the policy says that.
    """

    subject: str
    alert_class: AlertClass
    what: str
    why: str
    what_to_do: str
    unit: str
    owner: str
    since: datetime
    facts: tuple[str, ...] = ()
    repeat: timedelta | None = None

    @property
    def key(self) -> Key:
        """Its subject and class: an alert is sent once for both."""
        return self.subject, self.alert_class


@dataclass(frozen=True)
class Begin:
    """No incident of it is open, or it has begun again."""

    condition: Condition


@dataclass(frozen=True)
class Deliver:
    """An alert that is on record is sent now; it may be an end."""

    alert: Alert


@dataclass(frozen=True)
class Repeat:
    """A reminder is due. The condition is None where it could not be checked in this round."""

    incident: Incident
    condition: Condition | None = None


@dataclass(frozen=True)
class End:
    """It is over, and why."""

    incident: Incident
    why: str


Step: TypeAlias = Begin | Deliver | Repeat | End


def steps(
    history: AlertHistory,
    conditions: Mapping[Key, Condition],
    over: Mapping[Key, str],
    policy: AlertPolicySpec,
    now: datetime,
) -> Iterator[Step]:
    """Yield what to do at a time (UTC), at most one step for each subject and class."""
    known = open_incidents(history)
    for key, condition in conditions.items():
        if key not in known or _again(condition, known[key], now):
            yield Begin(condition)
    for key, incident in known.items():
        present = conditions.get(key)
        if present is not None and _again(present, incident, now):
            continue
        if key in over and present is None:
            yield End(incident, over[key])
        else:
            yield from _due(incident, present, policy, now)
    for key, incident in ended_incidents(history).items():
        if key not in conditions:
            yield from _due_end(incident, now)


def _again(condition: Condition, incident: Incident, now: datetime) -> bool:
    return condition.since <= now and halted_again(condition.alert_class, condition.since, incident)


def rule_of(alert: Alert, policy: AlertPolicySpec) -> AlertRule:
    """Return the rule that decides about an alert."""
    return policy.rule_for(alert.alert_class, alert.concerns, alert.owner)


def due_at(since: datetime, rule: AlertRule, policy: AlertPolicySpec, now: datetime) -> datetime:
    """Return when an alert may be sent about what has been so for a while: now, or later (UTC).

    A record from the future was made before the clock was set back: it has lasted long enough.
    """
    return policy.time_to_notify(rule, since if since <= now else now - rule.after, now)


def _due(incident: Incident, condition: Condition | None, policy: AlertPolicySpec, now: datetime) -> Iterator[Step]:
    rule, newest = rule_of(incident.newest, policy), incident.newest
    if not rule.notify or due_at(incident.since, rule, policy, now) > now:
        return
    outcome = incident.outcome(newest)
    if outcome is None and under_way(newest, now):
        return
    # An alert that was withheld relies on an earlier one, which some channel may still have to take.
    unsent = newest if outcome is None else incident.undelivered if outcome in _RELYING else None
    if unsent is not None:  # without an outcome: its sender was killed
        tried = incident.deliveries.get(unsent.id)
        every = TRY_AGAIN_AFTER if abs(now - unsent.at) < TRY_FOR else rule.repeat or TRY_FOR
        if tried is None or abs(now - tried.at) >= every:
            yield Deliver(unsent)
    elif incident.notified_at is None or outcome is DeliveryOutcome.HELD:
        yield Deliver(newest)
    elif (repeat := _repeat(newest, condition, rule)) and now - incident.notified_at >= repeat:
        yield Repeat(incident, condition)


def _due_end(incident: Incident, now: datetime) -> Iterator[Step]:
    end = incident.end
    if end is None or abs(now - end.at) >= TRY_FOR:
        return
    tried = incident.deliveries.get(end.id)
    if tried is None:  # its sender was killed, or is at work
        due = not under_way(end, now)
    else:
        due = tried.outcome is DeliveryOutcome.FAILED and abs(now - tried.at) >= TRY_AGAIN_AFTER
    if due:
        yield Deliver(end)


def _repeat(newest: Alert, condition: Condition | None, rule: AlertRule) -> timedelta | None:
    if newest.alert_class is not AlertClass.DEADLINE:
        return rule.repeat
    return None if condition is None else condition.repeat
