"""The in-memory twin behaves as the real administration does (tests/integration/kafka/test_administration.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sluice.topics.administration import KafkaAdministration, TopicCreation
from sluice.topics.identity import is_by_name
from tests.suites.kafka_administration_suite import Consuming, KafkaAdministrationSuite, ReadGroup, Send
from tests.twins.kafka_administration import InMemoryKafkaAdministration


class TestInMemoryKafkaAdministration(KafkaAdministrationSuite):
    @pytest.fixture
    def administration(self) -> InMemoryKafkaAdministration:
        return InMemoryKafkaAdministration()

    @pytest.fixture
    def send(self, administration: InMemoryKafkaAdministration) -> Send:
        return administration.append

    @pytest.fixture
    def read_group(self, administration: InMemoryKafkaAdministration) -> ReadGroup:
        return lambda group: administration.groups[group]

    @pytest.fixture
    def consuming(self, administration: InMemoryKafkaAdministration) -> Consuming:
        @contextmanager
        def consume(topic: str, group: str) -> Iterator[None]:
            assert topic in administration.topics
            administration.consumed.add(group)
            yield
            administration.consumed.discard(group)

        return consume

    @pytest.fixture
    def elsewhere(self) -> InMemoryKafkaAdministration:
        twin = InMemoryKafkaAdministration()
        twin.reachable = False
        return twin


class TestWithoutIds(TestInMemoryKafkaAdministration):
    """As a cluster from before topics had ids, or a service that gives none."""

    @pytest.fixture
    def administration(self) -> InMemoryKafkaAdministration:
        return InMemoryKafkaAdministration(ids=False)

    def test_each_topic_has_its_own_id(self, administration: KafkaAdministration, name: str) -> None:
        other = name + "_b"
        administration.create([TopicCreation(name, 1, 1), TopicCreation(other, 1, 1)])
        ids = [state.topic_id for state in administration.describe([name, other]).values()]
        assert all(map(is_by_name, ids))
        assert len(set(ids)) == 2
