"""Sends one day of the feed and dies by SIGKILL where it is told: `BOOTSTRAP TOPIC FOLDER sends|saves COUNT`.

`sends 300`: after the 300th record was handed to the client, acknowledged or not. `saves 1`: when the manifest was
saved once and would be saved again, so that everything since is sent and not counted.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import date
from pathlib import Path

from sluice.clock import SystemClock
from sluice.feeds.manifest import Manifest, ManifestStore
from sluice.feeds.publish import Feed
from sluice.feeds.sources import load_source
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.producer import KafkaAcknowledgement, KafkaPythonProducer
from sluice.kafka.reader import KafkaPythonReader
from sluice.settings import settings
from sluice.specs.load import load_catalog

DAY = date(2013, 1, 1)


class Fuse:
    """Burns down with every use; at the end the process is gone."""

    def __init__(self, count: int) -> None:
        self._left = count

    def burn(self) -> None:
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


class DyingProducer(KafkaPythonProducer):
    fuse: Fuse

    def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> KafkaAcknowledgement:
        self.fuse.burn()
        return super().send(key, value, partition)


class DyingStore(ManifestStore):
    fuse: Fuse

    def save(self, manifest: Manifest) -> None:
        self.fuse.burn()
        super().save(manifest)


def main(bootstrap: str, topic: str, folder: str, where: str, count: str) -> None:
    catalog = load_catalog(settings().home / "include")
    producer, store = DyingProducer([bootstrap], topic), DyingStore(Path(folder))
    producer.fuse = Fuse(int(count) if where == "sends" else sys.maxsize)
    store.fuse = Fuse(int(count) if where == "saves" else sys.maxsize)
    feed = Feed(
        catalog.feeds["flights"],
        catalog.topics["flights"].model_copy(update={"name": topic}),
        [],
        source=load_source(catalog.feeds["flights"], catalog.topics["flights"], settings().home / "include"),
        producer=producer,
        reader=KafkaPythonReader(KafkaPythonAdministration([bootstrap]), topic),
        store=store,
        clock=SystemClock(),
    )
    feed.send(DAY, DAY)


if __name__ == "__main__":
    main(*sys.argv[1:])
