"""What is to be told by the clock: what has begun, what is due, what is told again, and what is over.

It is asked once a minute with what is so, and remembers nothing: what was told is in the journal. So whoever asks may
end at any moment; the next one goes on.

* What was held back, by quiet hours or because it had to last, is told when its time has come, if it still lasts.
* What no service took is tried again every five minutes for a day, then as often as it would be told again.
* What lasts is told again as often as the policy says.
* What could not be looked at is neither begun nor over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from sluice.alerts.alert import Alert
from sluice.alerts.delivery import AlertHistory, DeliveryOutcome, under_way
from sluice.alerts.incidents import Incident, Key, halted_again, open_incidents
from sluice.specs.model.alerting import AlertClass, AlertPolicySpec, AlertRule

TRY_AGAIN_AFTER = timedelta(minutes=5)
TRY_FOR = timedelta(days=1)

TOLD_BY_THEIR_OWN = {AlertClass.DEADLINE}
"""Classes whose reminders are not the policy's: a stream's spec says them."""


@dataclass(frozen=True)
class Condition:
    """Something that is so now.

    Attributes:
        subject: such as `stream departures`.
        alert_class: what it is.
        what: one sentence, the title.
        why: the reason.
        what_to_do: the next step.
        unit: the unit that it is about.
        owner: who owns it.
        since: since when it is so (UTC).
    """

    subject: str
    alert_class: AlertClass
    what: str
    why: str
    what_to_do: str
    unit: str
    owner: str
    since: datetime

    @property
    def key(self) -> Key:
        """What it is told once for."""
        return self.subject, self.alert_class


@dataclass(frozen=True)
class Begin:
    """Nothing of it is on record yet, or it has begun anew."""

    condition: Condition


@dataclass(frozen=True)
class Deliver:
    """An alert that is on record goes to people now."""

    alert: Alert


@dataclass(frozen=True)
class Repeat:
    """Somebody knows, and is reminded."""

    incident: Incident


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
    """Yield what is to be done, at most one step for each subject and class.

    Args:
        history: what is on record.
        conditions: what is so now.
        over: of what is certainly over, the reason.
        policy: who is told of what.
        now: the present (UTC).
    """
    known = open_incidents(history)
    for key, condition in conditions.items():
        if key not in known or _anew(condition, known[key], now):
            yield Begin(condition)
    for key, incident in known.items():
        if key in conditions and _anew(conditions[key], incident, now):
            continue
        if key in over and key not in conditions:
            yield End(incident, over[key])
        else:
            yield from _due(incident, policy, now)


def _anew(condition: Condition, incident: Incident, now: datetime) -> bool:
    return condition.since <= now and halted_again(condition.alert_class, condition.since, incident)


def rule_of(alert: Alert, policy: AlertPolicySpec) -> AlertRule:
    """Return the rule that decides about an alert."""
    return policy.rule_for(alert.alert_class, alert.concerns, alert.owner)


def _due(incident: Incident, policy: AlertPolicySpec, now: datetime) -> Iterator[Step]:
    rule, newest = rule_of(incident.newest, policy), incident.newest
    # What is on record from the future was noticed before the clock was set back: it has lasted long enough.
    since = incident.since if incident.since <= now else now - rule.after
    if not rule.tell or policy.time_to_tell(rule, since, now) > now:
        return
    outcome, tried = incident.outcome(newest), incident.deliveries.get(newest.id)
    if outcome is None and under_way(newest, now):
        return
    if outcome in {None, DeliveryOutcome.FAILED}:  # without an outcome: whoever was to send it has died
        every = TRY_AGAIN_AFTER if abs(now - newest.at) < TRY_FOR else rule.repeat or TRY_FOR
        if tried is None or abs(now - tried.at) >= every:
            yield Deliver(newest)
    elif incident.told_at is None or outcome is DeliveryOutcome.HELD:
        yield Deliver(newest)
    elif newest.alert_class not in TOLD_BY_THEIR_OWN and rule.repeat and now - incident.told_at >= rule.repeat:
        yield Repeat(incident)
