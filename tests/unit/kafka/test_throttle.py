"""A throttle that the cluster does not take: no replica moves without it, and its removal passes over what is gone."""

from __future__ import annotations

from typing import Any

import pytest

from sluice.errors import RefusedError, UnreachableError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.topics.replica_administration import Throttle

REFUSED = "[Error 44] PolicyViolationError: no throttles here"
TIMED_OUT = "[Error 7] RequestTimedOutError"
FORBIDDEN = "[Error 31] ClusterAuthorizationFailedError"
MOVE = Throttle(1_000, {("flights", 0): (1,)}, {("flights", 0): (2,)})


class Client:
    """A client of a cluster with two brokers.

    Attributes:
        answers: to changes, by the name of a topic or a broker.
        down: a broker that is no longer listed once it was asked.
    """

    def __init__(self, down: str = "", **answers: str) -> None:
        self.answers, self.down = answers, down
        self.asked: list[str] = []

    def describe_cluster(self) -> dict[str, Any]:
        alive = [broker for broker in (1, 2) if str(broker) != self.down or "2" not in self.asked]
        return {"brokers": [{"broker_id": broker, "is_fenced": False} for broker in alive]}

    def alter_configs(self, resources: list[Any], **_: object) -> dict[str, dict[str, str]]:
        (resource,) = resources
        self.asked.append(resource.name)
        return {resource.resource_type.name.lower(): {resource.name: self.answers.get(resource.name, "OK")}}

    def close(self) -> None:
        """There is no connection."""


def cluster(monkeypatch: pytest.MonkeyPatch, client: Client) -> KafkaPythonAdministration:
    found = KafkaPythonAdministration(["nowhere:9"], patience_seconds=0.1)
    monkeypatch.setattr(found, "_connect", lambda: client)
    monkeypatch.setattr("sluice.kafka.client.session.refuse_login", lambda *_: None)
    monkeypatch.setattr("sluice.kafka.client.session._PAUSE_SECONDS", 0)
    return found


@pytest.mark.parametrize("name", ["flights", "2"])
@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (REFUSED, RefusedError, r"refused to set .*no throttles here\). Fix: see why the cluster takes no throttle"),
        (FORBIDDEN, RefusedError, "Fix: use a principal with the role planner and the duty placement"),
        (TIMED_OUT, UnreachableError, "did not answer when asked to set .*RequestTimedOut"),
    ],
)
def test_a_throttle_that_is_not_taken_is_no_throttle(
    monkeypatch: pytest.MonkeyPatch, name: str, answer: str, kind: type[Exception], why: str
) -> None:
    with pytest.raises(kind, match=why):
        cluster(monkeypatch, Client(**{name: answer})).throttle(MOVE)


def test_a_broker_that_has_died_meanwhile_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("2", **{"2": TIMED_OUT})
    cluster(monkeypatch, client).throttle(MOVE)
    assert client.asked[-1] == "flights"


def test_a_throttle_is_lifted_as_far_as_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(flights="[Error 3] UnknownTopicOrPartitionError", **{"1": TIMED_OUT})
    cluster(monkeypatch, client).unthrottle(["flights"])
    assert client.asked == ["flights", "1", "2"]
    with pytest.raises(RefusedError, match="the duty placement"):
        cluster(monkeypatch, Client(**{"2": FORBIDDEN})).unthrottle(["flights"])
