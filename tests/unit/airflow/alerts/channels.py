"""The channels of a policy, each with a pager that a test can break, and the minute's rounds that send to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from sluice.airflow.alerts.alert_round import alert_round
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.alerts.services import Service
from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import Delivery
from sluice.alerts.dispatch import AlertDispatcher
from sluice.alerts.policy import Policy
from sluice.project.project import Project
from sluice.specs.model.alerting import AlertClass, AlertPolicySpec, AlertRule, Channel
from tests.unit.airflow.alerts.alerting_airflow import Airflow, Pager
from tests.unit.alerts.examples import make_alert

ADA = Channel(connection="smtp", to=("ada@example.org",))
BOB = Channel(connection="smtp", to=("bob@example.org",))
HOOK = Channel(connection="hook")


def policy_of(*channels: Channel, **rule: object) -> AlertPolicySpec:
    """Return a policy that sends everything to these channels."""
    named = {f"c{place}": channel for place, channel in enumerate(channels)}
    rules = (AlertRule.model_validate({"notify": tuple(named), **rule}),)
    return AlertPolicySpec(name="p", channels=named, rules=rules)


@dataclass
class Channels:
    """The pagers behind a policy's channels."""

    airflow: Airflow
    policy: AlertPolicySpec
    pagers: dict[str, Pager] = field(default_factory=dict)

    def pager(self, channel: Channel) -> Pager:
        return self.pagers.setdefault(channel.identity, Pager(channel.identity))

    def breaks(self, channel: Channel, fault: str = "550 mailbox unavailable") -> None:
        self.pager(channel).fault = fault

    def find(self, channel: Channel) -> Sequence[Service]:
        return [self.pager(channel)]

    def dispatcher(self) -> AlertDispatcher:
        dispatcher = airflow_dispatcher(self.airflow.twin.clock, self.find)
        dispatcher.policy = Policy(self.policy)
        return dispatcher

    def rounds(self, minutes: int = 1) -> None:
        for _ in range(minutes):
            self.airflow.twin.clock.sleep(60)
            alert_round(lambda: cast(Project, self.airflow.twin), self.airflow, self.dispatcher())

    def drift(self, name: str, **fields: object) -> Alert:
        """Return an alert of now about a topic that has drifted."""
        drifted = {"level": Level.TASK, "subject": "topic t1", "alert_class": AlertClass.DRIFT, "dag_id": "topic_drift"}
        return make_alert(name, at=self.airflow.twin.clock.now(), **{**drifted, **fields})

    def begins(self, name: str) -> Delivery:
        return self.dispatcher().notify(self.drift(name))

    def ends(self, name: str) -> Delivery:
        return self.dispatcher().notify_end(self.drift(name, level=Level.RECOVERY))

    def took(self, channel: Channel) -> list[str]:
        """Return the ids of what was sent to a channel, whatever it answered, and forget them."""
        sent = [alert.id for alert in self.pager(channel).took]
        self.pager(channel).took.clear()
        return sent
