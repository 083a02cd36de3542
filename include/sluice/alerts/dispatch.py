"""Records alerts in the journal and sends them, when and to whom the policy says, and records the outcome."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import AlertHistory, Delivery, DeliveryOutcome, DeliveryResult
from sluice.alerts.incidents import Incident, ended_incidents, open_incidents, recorded_by_another
from sluice.alerts.journal import Journal
from sluice.alerts.policy import Policy, read_policy
from sluice.alerts.redaction import Redaction
from sluice.alerts.rounds import due_at
from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.settings import environment, settings
from sluice.specs.model.alerting import Channel

log = logging.getLogger(__name__)

_TO_NO_CHANNEL = DeliveryResult(DeliveryOutcome.MUTED, "the policy sends it to no channel.")

Deliver: TypeAlias = Callable[[Alert, Sequence[Channel]], DeliveryResult]
"""Sends an alert to channels, and raises nothing."""


def record_only(_alert: Alert, _channels: Sequence[Channel]) -> DeliveryResult:
    """Send nothing: channels are Airflow's connections, and there is no Airflow here."""
    return DeliveryResult(DeliveryOutcome.NOT_CONFIGURED, "there is no Airflow here.")


@dataclass
class AlertDispatcher:
    """Records and sends alerts. It reads the policy once.

    Attributes:
        clock: gives the time.
        deliver: sends to channels. Omitted: alerts are only recorded.
        mask: hides secrets in a text, besides those in the variables of this process.
    """

    clock: Clock = field(default_factory=SystemClock)
    deliver: Deliver = record_only
    mask: Callable[[str], str] = str

    def __post_init__(self) -> None:
        secrets = Redaction.of_environment(environment())
        self._redact: Callable[[str], str] = lambda text: secrets(self.mask(text))
        place = settings()
        self.journal = Journal(place.folder.alerts, clock=self.clock)
        self.policy: Policy = read_policy(place.home / "include", place.deployment)

    def read(self) -> AlertHistory:
        """Return the journal, or nothing if it cannot be read: then an alert may be sent once too often."""
        try:
            return self.journal.read()
        except SluiceError as error:
            log.error("%s", error)  # noqa: TRY400 - its message suffices
            return AlertHistory()

    def enter(self, alert: Alert) -> Alert:
        """Put an alert on record, completed and without secrets; one that cannot be is sent all the same."""
        return self.claim(alert, None) or alert

    def claim(self, alert: Alert, known: Callable[[AlertHistory], bool] | None) -> Alert | None:
        """Do the same unless `known` finds it in the journal: of several processes one gets the alert back."""
        alert = self.policy.complete(alert.with_text(self._redact))
        try:
            if not self.journal.append_unless(alert, known):
                return None
        except SluiceError as error:
            alert = replace(alert, evidence=(*alert.evidence, f"this alert is not recorded: {error}"))
        quiet = alert.level in {Level.RECOVERY, Level.QUESTION, Level.TEST}
        log.log(logging.INFO if quiet else logging.ERROR, "Alert %s: %s. %s", alert.id, alert.what, alert.why)
        return alert

    def claim_delivery(self, alert: Alert, before: AlertHistory) -> bool:
        """Record that an alert is being sent again; return whether no other process has done so since.

        If this process dies without an outcome, the alert is sent once more, as if the service had not taken it.

        Args:
            alert: on record.
            before: what was on record when that was decided.

        Raises:
            SluiceError: the journal does not take it, so others would send it too, and again each minute.
        """
        tried = before.deliveries.get(alert.id)
        reached = () if tried is None else tried.reached
        attempt = Delivery(
            alert.id, self.clock.now(), DeliveryOutcome.FAILED, "it is being sent; no answer so far.", reached
        )
        return self.journal.append_unless(attempt, lambda now: now.deliveries.get(alert.id) != tried)

    def dispatch(self, alert: Alert) -> Delivery:
        """Send a recorded alert, or hold it back, as the policy says of what has been so since its incident began."""
        rule = self.policy.rule_of(alert)
        if not rule.notify:
            return self.conclude(alert, _TO_NO_CHANNEL)
        incident = open_incidents(self.read()).get(alert.key)
        now = self.clock.now()
        due = due_at(alert.began_at if incident is None else incident.since, rule, self.policy.spec, now)
        if due > now:
            held = f"held until {due:%Y-%m-%d %H:%M:%S} UTC, as the policy says; sent then if it lasts."
            return self.conclude(alert, DeliveryResult(DeliveryOutcome.HELD, held))
        return self._send(alert, self.policy.channels_of(alert))

    def _send(self, alert: Alert, channels: Sequence[Channel]) -> Delivery:
        """Send an alert to those of some channels that do not have it yet."""
        tried = self.read().deliveries.get(alert.id)
        reached = () if tried is None else tried.reached
        lacking = [each for each in channels if each.identity not in reached]
        if not lacking:
            return self.conclude(
                alert, DeliveryResult(DeliveryOutcome.DELIVERED, "every channel has it already.", reached)
            )
        finding = self.deliver(alert, lacking)
        return self.conclude(alert, replace(finding, reached=(*reached, *finding.reached)))

    def notify(self, alert: Alert) -> Delivery:
        """Put an alert on record and dispatch it."""
        return self.dispatch(self.enter(alert))

    def notify_end(self, alert: Alert) -> Delivery:
        """Record an end (level recovery), and send it if its beginning was delivered and the policy reports ends."""
        incident = open_incidents(self.read()).get(alert.key)
        return self.dispatch_end(self.enter(alert), incident)

    def notify_once(self, alert: Alert) -> Delivery | None:
        """Notify about a beginning or an end that several processes observe; None if another one has recorded it.

        Args:
            alert: an end if it is of the level recovery.
        """
        incident = open_incidents(self.read()).get(alert.key)
        entered = self.claim(alert, partial(recorded_by_another, alert))
        if entered is None:
            return None
        return self.dispatch_end(entered, incident) if alert.level is Level.RECOVERY else self.dispatch(entered)

    def dispatch_end(self, alert: Alert, incident: Incident | None) -> Delivery:
        """Send a recorded end to every channel that has the beginning, if one has it and the policy reports ends."""
        if incident is None or incident.reported is None:
            return self.conclude(alert, DeliveryResult(DeliveryOutcome.WITHHELD, "its beginning was not delivered."))
        rule = self.policy.rule_of(alert)
        if not rule.resolve:
            return self.conclude(alert, DeliveryResult(DeliveryOutcome.MUTED, "the policy reports no ends."))
        if not rule.notify:
            return self.conclude(alert, _TO_NO_CHANNEL)
        return self._send(alert, self.policy.channels_of_end(alert, incident.reached))

    def dispatch_again(self, alert: Alert, before: AlertHistory) -> Delivery:
        """Dispatch an alert or an end whose delivery has failed or was cut off.

        Args:
            alert: on record.
            before: what was on record when that was decided.
        """
        if alert.level is not Level.RECOVERY:
            return self.dispatch(alert)
        if alert.key in open_incidents(self.read()):
            return self.conclude(alert, DeliveryResult(DeliveryOutcome.WITHHELD, "it has begun again since."))
        return self.dispatch_end(alert, ended_incidents(before).get(alert.key))

    def conclude(self, alert: Alert, finding: DeliveryResult) -> Delivery:
        """Record the outcome of a delivery, and return the record."""
        delivery = Delivery(alert.id, self.clock.now(), finding.outcome, self._redact(finding.detail), finding.reached)
        level = logging.ERROR if finding.outcome is DeliveryOutcome.FAILED else logging.INFO
        log.log(level, "Alert %s: %s", alert.id, delivery.detail)
        try:
            self.journal.append(delivery)
        except SluiceError as error:
            log.error("The outcome of alert %s is not recorded: %s", alert.id, error)  # noqa: TRY400 - the same
        return delivery
