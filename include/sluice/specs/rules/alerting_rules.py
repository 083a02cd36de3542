"""Rules about alert policies: whatever a rule names exists, every rule can be reached, and nothing fits none."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading


def policies_are_of_deployments(reading: Reading) -> Iterator[Finding]:
    """A policy is named like the deployment in which it applies."""
    for name in reading.catalog.alerts:
        if (Kind.DEPLOYMENT, name) not in reading.documents:
            message = f"there is no deployment {name!r} in include/deployments, so this policy applies nowhere."
            yield reading.finding(Kind.POLICY, name, ("name",), message, nearest(name, reading.names(Kind.DEPLOYMENT)))


def policies_name_what_they_have(reading: Reading) -> Iterator[Finding]:
    """Channels and quiet hours that a rule names are declared."""
    for name, policy in reading.catalog.alerts.items():
        for place, rule in enumerate(policy.rules):
            for number, channel in enumerate(rule.notify):
                if channel not in policy.channels:
                    message = f"there is no channel {channel!r} in this policy."
                    fix = nearest(channel, policy.channels)
                    yield reading.finding(Kind.POLICY, name, ("rules", place, "notify", number), message, fix)
            if rule.quiet is not None and rule.quiet not in policy.quiet_hours:
                message = f"there are no quiet hours {rule.quiet!r} in this policy."
                fix = nearest(rule.quiet, policy.quiet_hours)
                yield reading.finding(Kind.POLICY, name, ("rules", place, "quiet"), message, fix)


def policies_leave_nothing_out(reading: Reading) -> Iterator[Finding]:
    """The last rule fits everything, and no other does."""
    for name, policy in reading.catalog.alerts.items():
        *others, last = policy.rules
        if not last.fits_all:
            message = "an alert that no rule fits would reach no recipient, and its loss would go unnoticed."
            fix = "add a last rule without `classes`, `about` and `owners`; with `notify: []` it keeps a record only."
            yield reading.finding(Kind.POLICY, name, ("rules", len(others)), message, fix)
        for place, rule in enumerate(others):
            if rule.fits_all:
                message = "it fits everything, so no rule below it ever applies."
                yield reading.finding(Kind.POLICY, name, ("rules", place), message, "move it to the end.")
