"""A move whose topic the answering broker has not heard of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from sluice.errors import RefusedError
from sluice.provisioning.replicas.moving import MoveOptions, move
from sluice.topics.administration import TopicCreation, TopicState
from tests.twins.clock import ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration


class Unheard(InMemoryKafkaAdministration):
    """A cluster of which the broker that answers learns of topics late."""

    unheard = 3

    def describe(self, names: Iterable[str]) -> Mapping[str, TopicState]:
        self.unheard -= 1
        return {} if self.unheard >= 0 else super().describe(names)


@pytest.fixture
def cluster() -> Unheard:
    cluster = Unheard(brokers=3)
    cluster.create([TopicCreation("flights", 1, 1, {}, ((1,),))])
    return cluster


def test_a_topic_that_is_new_is_waited_for(cluster: Unheard) -> None:
    move(cluster, {("flights", 0): (2,)}, MoveOptions(clock=ManualClock()))
    assert cluster.describe(["flights"])["flights"].replicas == ((2,),)


def test_a_topic_that_is_gone_is_refused_by_name(cluster: Unheard) -> None:
    cluster.unheard = 10**6
    with pytest.raises(RefusedError, match="shows no topic flights"):
        move(cluster, {("flights", 0): (2,)}, MoveOptions(clock=ManualClock()))
