"""The in-memory twin behaves as the real reader does (tests/integration/kafka/test_records.py)."""

from __future__ import annotations

import pytest

from tests.suites.topic_records_suite import Append, RecordReaderSuite
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.topic_records import InMemoryRecords


class TestInMemoryRecords(RecordReaderSuite):
    @pytest.fixture
    def administration(self) -> InMemoryKafkaAdministration:
        return InMemoryKafkaAdministration()

    @pytest.fixture
    def reader(self, administration: InMemoryKafkaAdministration) -> InMemoryRecords:
        return InMemoryRecords(administration)

    @pytest.fixture
    def append(self, reader: InMemoryRecords) -> Append:
        return reader.append

    @pytest.fixture
    def elsewhere(self) -> InMemoryRecords:
        dead = InMemoryKafkaAdministration()
        dead.reachable = False
        return InMemoryRecords(dead)
