"""A topic's keys in memory: the same behaviour as `sluice.kafka.newest_keys.KafkaPythonKeyReader`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluice.errors import RefusedError
from sluice.provisioning.growth.keys import KeySample


class InMemoryKeyReader:
    """`logs` holds the keys of every topic by partition, in the order of their offsets."""

    def __init__(self, logs: Mapping[str, Mapping[int, Sequence[bytes | None]]] | None = None) -> None:
        self.logs = {topic: {p: list(keys) for p, keys in log.items()} for topic, log in (logs or {}).items()}

    def newest_keys(self, topic: str, most: int) -> KeySample:
        if topic not in self.logs:
            raise RefusedError(f"The topic {topic!r} does not exist.", fix="run `sluice topics apply`.")
        log = self.logs[topic]
        newest = {partition: keys[-most:] for partition, keys in log.items() if keys}
        return KeySample(newest, {partition: len(keys) for partition, keys in log.items()})
