"""The alert policy in force: the deployment's own, or the default, which sends everything to one connection."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.alerts.alert import Alert
from sluice.alerts.rounds import rule_of
from sluice.specs.load import scan
from sluice.specs.model.alerting import EVERYTHING_TO_ONE, AlertClass, AlertPolicySpec, AlertRule, Channel
from sluice.specs.reading.kinds import Kind
from sluice.specs.rules.alerting_rules import policies_leave_nothing_out, policies_name_what_they_have

_SECTIONS = {
    AlertClass.FAILED_RUN: "failed-run",
    AlertClass.HALTED: "halted",
    AlertClass.LOSS_RISK: "loss_risk",
    AlertClass.REWOUND: "rewound",
    AlertClass.STALLED: "stalled",
    AlertClass.STOPPED: "stopped",
    AlertClass.UNKNOWN: "unknown",
    AlertClass.DEADLINE: "missed-deadline",
    AlertClass.FAST_BURN: "error-budget",
    AlertClass.SLOW_BURN: "error-budget",
    AlertClass.GATE: "failed-gate",
    AlertClass.PARITY: "parity",
    AlertClass.PROOF: "broken-proof",
    AlertClass.DRIFT: "topic-drift",
    AlertClass.APPROVAL: "approval",
    AlertClass.DATA: "data-alert",
    AlertClass.TEST: "undelivered-alert",
}
"""The section of the runbook for each class."""
_SECTIONS_OF_SUBJECTS = {"mirror": "mirror"}
"""The section for all classes of a subject, by its first word: other steps help than for a stream."""


@dataclass(frozen=True)
class Policy:
    """Who is notified about what.

    Attributes:
        spec: what holds.
        note: why it is not the declared one; empty if it is, or if none is declared.
    """

    spec: AlertPolicySpec = EVERYTHING_TO_ONE
    note: str = ""

    def rule_of(self, alert: Alert) -> AlertRule:
        """Return the rule that decides about an alert."""
        return rule_of(alert, self.spec)

    def channels_of(self, alert: Alert) -> list[Channel]:
        """Return the channels that an alert goes to."""
        return [self.spec.channels[name] for name in self.rule_of(alert).notify]

    def channels_of_end(self, end: Alert, reached: Collection[str]) -> list[Channel]:
        """Return the channels that have the beginning; if the policy has none of them any more, those of its rule.

        Args:
            end: the alert that says that it is over.
            reached: the identities of the channels that have the beginning.
        """
        known = {each.identity: each for each in self.spec.channels.values() if each.identity in reached}
        return list(known.values()) or self.channels_of(end)

    def complete(self, alert: Alert) -> Alert:
        """Return an alert with its section of the runbook, and with why the declared policy does not hold."""
        notes = (self.note,) if self.note else ()
        return replace(alert, runbook=f"{self.spec.runbook}#{section_of(alert)}", evidence=(*alert.evidence, *notes))


def section_of(alert: Alert) -> str:
    """Return the section of the runbook that says what to do about an alert."""
    return _SECTIONS_OF_SUBJECTS.get(alert.concerns.partition(" ")[0]) or _SECTIONS[alert.alert_class]


def read_policy(include: Path, deployment: str) -> Policy:
    """Return the policy of a deployment. It raises nothing: a broken policy leaves everything to one connection."""
    rules = (policies_name_what_they_have, policies_leave_nothing_out)
    try:
        scanned = scan(include, kinds=(Kind.POLICY,), rules=rules)
    except OSError as error:
        return Policy(note=f"the alert policy could not be read ({error.strerror}); everything goes to sluice_alerts.")
    if faults := scanned.broken.get((Kind.POLICY, deployment)):
        return Policy(note=f"{faults[0]} Until that is repaired, every alert goes to sluice_alerts.")
    return Policy(scanned.catalog.alerts.get(deployment, EVERYTHING_TO_ONE))
