"""A throttle goes once nothing has moved for a while, and not before."""

from __future__ import annotations

import pytest

from sluice.provisioning.replicas.stale_throttle import QUIET_SECONDS, remove_stale_throttles
from sluice.topics.administration import TopicCreation
from sluice.topics.replica_administration import THROTTLED, Throttle
from tests.twins.clock import ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration


@pytest.fixture
def cluster() -> InMemoryKafkaAdministration:
    cluster = InMemoryKafkaAdministration(brokers=3)
    cluster.create([TopicCreation(name, 1, 1) for name in ("flights", "weather", "others")])
    for name in ("flights", "others"):
        cluster.throttle(Throttle(1000, {(name, 0): (1,)}, {(name, 0): (2,)}))
    return cluster


def throttled(cluster: InMemoryKafkaAdministration) -> set[str]:
    return {name for name, state in cluster.topics.items() if any(key in state.configs for key in THROTTLED)}


def test_what_nothing_moves_under_is_removed_from_our_topics_after_a_while(
    cluster: InMemoryKafkaAdministration,
) -> None:
    clock = ManualClock()
    assert remove_stale_throttles(cluster, ("flights", "weather"), clock) == ("flights",)
    assert clock.monotonic() >= QUIET_SECONDS
    assert throttled(cluster) == {"others"}
    assert cluster.rates == {}


def test_while_anything_moves_nothing_is_removed(cluster: InMemoryKafkaAdministration) -> None:
    cluster.polls_per_move = 10**6
    cluster.reassign({("weather", 0): (3,)})
    assert remove_stale_throttles(cluster, ("flights", "weather"), ManualClock()) == ()
    assert throttled(cluster) == {"flights", "others"}


def test_without_a_throttle_nobody_waits(cluster: InMemoryKafkaAdministration) -> None:
    clock = ManualClock()
    assert remove_stale_throttles(cluster, ("weather",), clock) == ()
    assert clock.monotonic() == 0
