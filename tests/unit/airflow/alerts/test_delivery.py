"""Deliveries, with services that a test writes by hand; the real ones are in `tests/integration/airflow`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from airflow.sdk.exceptions import AirflowNotFoundException

from sluice.airflow.alerts.delivery import deliver
from sluice.airflow.alerts.services import AppriseService, Unusable, services_of
from sluice.alerts.alert import Alert
from sluice.alerts.delivery import DeliveryOutcome, DeliveryResult
from sluice.errors import SluiceError
from sluice.specs.model.alerting import Channel
from tests.unit.alerts.examples import make_alert


@dataclass
class FakeService:
    """Takes everything, or fails with a sentence."""

    name: str
    failure: str = ""
    hold: threading.Event | None = None
    taken: list[Alert] = field(default_factory=list)

    def send(self, alert: Alert) -> str:
        if self.hold is not None:
            self.hold.wait()
        if not self.failure:
            self.taken.append(alert)
        return self.failure


def finding_of(*services: FakeService, seconds: float = 5) -> DeliveryResult:
    return deliver(make_alert(), find=lambda _: services, seconds=seconds)


def test_every_service_takes_the_alert() -> None:
    mail, chat = FakeService("E-Mail"), FakeService("Slack")

    assert finding_of(mail, chat) == DeliveryResult(
        DeliveryOutcome.DELIVERED, "delivered to E-Mail, Slack.", ("sluice_alerts",)
    )
    assert mail.taken == chat.taken == [make_alert()]


def test_a_service_that_fails_keeps_the_others_from_nothing() -> None:
    mail = FakeService("E-Mail")

    finding = finding_of(FakeService("Slack", failure="error=404"), mail)

    assert finding == DeliveryResult(DeliveryOutcome.FAILED, "delivery failed: Slack: error=404")
    assert mail.taken


def test_a_service_that_never_answers_is_left_to_itself() -> None:
    release = threading.Event()

    finding = finding_of(FakeService("Slack", hold=release), FakeService("E-Mail"), seconds=0.05)

    release.set()
    assert finding == DeliveryResult(DeliveryOutcome.FAILED, "delivery failed: Slack: no answer within 0.05 s")


def raising(error: Exception) -> Callable[[Channel], list[FakeService]]:
    def find(_: Channel) -> list[FakeService]:
        raise error

    return find


def test_no_connection_is_no_failure() -> None:
    finding = deliver(make_alert(), find=raising(AirflowNotFoundException("The conn_id isn't defined")))

    assert finding == DeliveryResult(DeliveryOutcome.NOT_CONFIGURED, "there is no Airflow connection sluice_alerts.")


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_an_unreadable_connection_is_told_without_its_text(kind: type[Exception]) -> None:
    finding = deliver(make_alert(), find=raising(kind("bad: mailtos://me:hunter2@example.org")))

    assert finding == DeliveryResult(
        DeliveryOutcome.FAILED, f"delivery failed: sluice_alerts could not be read ({kind.__name__})."
    )


@pytest.mark.parametrize(
    "extra", [{}, {"config": None}, {"config": "no JSON"}, {"config": {"url": "json://x"}}, {"config": []}]
)
def test_a_connection_without_an_address_is_refused_without_quoting_it(extra: dict[str, object]) -> None:
    with pytest.raises(SluiceError, match=r'the extra of sluice_alerts is no \{"config": '):
        services_of(extra)


def test_an_address_of_no_known_kind_is_refused_without_quoting_it() -> None:
    with pytest.raises(SluiceError, match="none of Apprise's") as caught:
        AppriseService("nosuch://hunter2/token-8271")

    assert "hunter2" not in str(caught.value)
    assert "8271" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"path": "nosuch://hunter2/token-8271"}, {"url": "json://hunter2"}, None])
def test_an_entry_that_names_no_service_keeps_the_others_from_nothing(wrong: object) -> None:
    found = services_of({"config": [wrong, {"path": "json://127.0.0.1:1/token"}]})

    assert [type(service) for service in found] == [AppriseService, Unusable]
    mail = FakeService("E-Mail")
    finding = deliver(make_alert(), find=lambda _: [mail, *found[1:]])
    assert mail.taken
    assert finding.outcome is DeliveryOutcome.DELIVERED, "it is sent again otherwise"
    assert finding.detail.startswith("delivered to E-Mail. ")
    assert "sluice_alerts" in finding.detail
    assert "hunter2" not in finding.detail


def test_a_service_is_named_by_its_kind_alone() -> None:
    services = services_of(
        {"config": '[{"path": "json://127.0.0.1:1/token-8271"}, {"path": "mailtos://me:pw@example.org"}]'}
    )

    assert [type(service) for service in services] == [AppriseService, AppriseService]
    assert [service.name for service in services if isinstance(service, AppriseService)] == ["JSON", "E-Mail"]


OURS, THEIRS = Channel(connection="pager"), Channel(connection="mail")


def test_every_channel_gets_the_alert() -> None:
    services = {"pager": FakeService("Pager"), "mail": FakeService("E-Mail")}

    finding = deliver(make_alert(), [OURS, THEIRS], find=lambda channel: [services[channel.connection]])

    assert finding == DeliveryResult(DeliveryOutcome.DELIVERED, "delivered to Pager, E-Mail.", ("pager", "mail"))


def test_a_declared_channel_without_its_connection_is_a_failure_and_keeps_the_others_from_nothing() -> None:
    mail = FakeService("E-Mail")

    def find(channel: Channel) -> list[FakeService]:
        if channel == OURS:
            raise AirflowNotFoundException("not defined")
        return [mail]

    finding = deliver(make_alert(), [OURS, THEIRS], find=find)

    assert finding == DeliveryResult(
        DeliveryOutcome.FAILED, "delivery failed: there is no Airflow connection pager", ("mail",)
    )
    assert mail.taken


def test_of_two_channels_over_one_connection_only_the_one_whose_recipient_was_refused_is_not_reached() -> None:
    ada, bob = Channel(connection="smtp", to=("ada@example.org",)), Channel(connection="smtp", to=("bob@example.org",))
    refused = FakeService("SMTP", failure="550 mailbox unavailable")

    finding = deliver(
        make_alert(), [ada, bob], find=lambda channel: [refused if channel == bob else FakeService("SMTP")]
    )

    assert finding.outcome is DeliveryOutcome.FAILED
    assert finding.reached == ("smtp ada@example.org",)
