"""A private broker with the declared topics, and flights in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from sluice.feeds.pace import Pace
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.feed import open_feed
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.settings import settings
from sluice.specs.load import load_catalog
from tests.integration.brokers import own_broker_in


@dataclass(frozen=True)
class Topics:
    """A broker's address, and the ids of its topics by name."""

    bootstrap: str
    ids: Mapping[str, str]


@contextmanager
def private_topics(folder: Path, include: Path | None = None) -> Iterator[Topics]:
    """Start a broker with the topics that this project's or other specs declare, and stop it at the end."""
    with own_broker_in(folder / "kafka") as broker:
        with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
            _, state = apply(
                Declared(load_catalog(include or settings().home / "include").kafka_topics()), administration
            )
        yield Topics(broker.bootstrap, {name: topic.topic_id for name, topic in state.items()})


def publish_flights(bootstrap: str, folder: Path, first: date | None = None, last: date | None = None) -> int:
    """Publish the flights of some days, or of all, and the heartbeat that closes them; return how many records.

    Args:
        bootstrap: the broker.
        folder: for the feed's own records; a new one for each call.
        first: first local day; omitted: the feed's first.
        last: last local day, inclusive; omitted: the feed's last.
    """
    catalog = load_catalog(settings().home / "include")
    feed, topic, readers = catalog.feeds["flights"], catalog.topics["flights"], catalog.pipelines.values()
    include = settings().home / "include"
    with open_feed(feed, topic, readers, bootstrap=(bootstrap,), client={}, folder=folder, include=include) as flights:
        return flights.send(first, last, pace=Pace()).sent
