"""The in-memory twin behaves as the real administration does (tests/integration/kafka/test_administration.py)."""

from __future__ import annotations

import pytest

from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.kafka_administration_suite import KafkaAdministrationSuite, Send


class TestInMemoryKafkaAdministration(KafkaAdministrationSuite):
    @pytest.fixture
    def administration(self) -> InMemoryKafkaAdministration:
        return InMemoryKafkaAdministration()

    @pytest.fixture
    def send(self, administration: InMemoryKafkaAdministration) -> Send:
        return administration.append

    @pytest.fixture
    def elsewhere(self) -> InMemoryKafkaAdministration:
        twin = InMemoryKafkaAdministration()
        twin.reachable = False
        return twin
