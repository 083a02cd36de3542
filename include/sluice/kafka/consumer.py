"""The one way in which records are read through kafka-python: committed ones only, and without a consumer group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka import KafkaConsumer

from sluice.kafka.client.connection import client_arguments, reachable


def open_consumer(
    bootstrap: Sequence[str], client: Mapping[str, str], *, beyond: str = "earliest", **settings: int
) -> Any:  # noqa: ANN401  untyped client
    """Return a consumer to which partitions are assigned by hand.

    It hands out no record of a transaction that was aborted, and none behind one that is open: no reader of Sluice's
    sees what a stream does not.

    Args:
        bootstrap: host:port of some brokers.
        client: further settings, under Kafka's names.
        beyond: where it goes on if the topic has deleted what it is to read; `none` raises then.
        settings: further ones, under kafka-python's names.

    Raises:
        UnreachableError: no broker answers.
        KafkaError: none lets it in.
    """
    return KafkaConsumer(
        bootstrap_servers=reachable(bootstrap),
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset=beyond,
        metrics_enabled=False,
        **settings,
        **client_arguments(client),
    )
