"""Keys of a topic's newest records, read without a consumer group."""

from __future__ import annotations

from collections import defaultdict

from sluice.errors import SluiceError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.records import KafkaPythonRecords
from sluice.provisioning.growth.keys import KeySample


class KafkaPythonKeyReader:
    """Implements `sluice.provisioning.growth.keys.KeyReader` through an administration that stays the caller's."""

    def __init__(self, administration: KafkaPythonAdministration) -> None:
        self._administration = administration

    def newest_keys(self, topic: str, most: int) -> KeySample:
        """Return the keys of the newest records, at most so many of each partition, and what each partition holds."""
        extent = self._administration.extent(topic)
        held = {p: end - extent.beginnings[p] for p, end in sorted(extent.ends.items())}
        if not any(held.values()):  # then no connection is needed
            return KeySample({}, held)
        start = {p: extent.ends[p] - min(most, count) for p, count in held.items()}
        keys: dict[int, list[bytes | None]] = defaultdict(list)
        with KafkaPythonRecords(self._administration.bootstrap, self._administration.client) as records:
            try:
                for record in records.read(topic, start, extent.ends):
                    keys[record.partition].append(record.key)
            except SluiceError:
                if not keys:  # a smaller sample is a sample too
                    raise
        return KeySample(dict(keys), held)
