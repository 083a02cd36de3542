from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.suites.kafka_replicas_suite import KafkaReplicasSuite
from tests.twins.kafka_administration import InMemoryKafkaAdministration


class TestInMemoryReplicas(KafkaReplicasSuite):
    @pytest.fixture
    def racks(self) -> Mapping[int, str]:
        return {1: "0/0", 2: "1/1", 3: "2/2", 4: "0/1"}

    @pytest.fixture
    def administration(self, racks: Mapping[int, str]) -> InMemoryKafkaAdministration:
        return InMemoryKafkaAdministration(4, racks)
