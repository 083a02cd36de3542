"""The twin of a topic that a raw table is compared with does what the real one does."""

from __future__ import annotations

import pytest

from sluice.intervals.backfill.conservation import KafkaRecords, StoredRecord
from tests.suites.stored_records_suite import SENT, KafkaRecordsSuite, OpenStored
from tests.twins.stored_records import InMemoryStoredTopic


class TestInMemoryStoredTopic(KafkaRecordsSuite):
    @pytest.fixture
    def opened(self) -> OpenStored:
        def opened(count: int) -> KafkaRecords:
            topic = InMemoryStoredTopic()
            for offset in range(count):
                for partition in (0, 1):
                    topic.add(partition, offset)
                    record = StoredRecord(b"k", b"%d" % offset, (("h", b"\xff"),), SENT)
                    topic.committed[partition, offset] = record
            return topic

        return opened

    @pytest.fixture
    def elsewhere(self) -> KafkaRecords:
        return InMemoryStoredTopic(reachable=False)
