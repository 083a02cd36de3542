"""The one way in which records are read through kafka-python: committed ones only, and without a consumer group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer
from kafka.errors import CorruptRecordError, KafkaError, UnsupportedCodecError

from sluice.errors import NotReadyError, RefusedError, UnreachableError
from sluice.kafka.client.connection import client_arguments, reachable
from sluice.kafka.client.login import refuse_login


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


@contextmanager
def reading(topic: str, bootstrap: Sequence[str], client: Mapping[str, str]) -> Iterator[None]:
    """Say why a topic cannot be read, where it cannot.

    Raises:
        UnreachableError: no broker answers, none lets us in, or what was to be read is gone.
        NotReadyError: the library for the compression of a record is not installed.
        RefusedError: a record is damaged, or is one that kafka-python takes for damaged.
    """
    try:
        yield
    except UnsupportedCodecError as error:
        raise NotReadyError(
            f"{topic} has records whose compression cannot be read here ({error}).",
            fix="install all that Sluice depends on, lz4, python-snappy and zstandard among it, as `make setup` does.",
        ) from error
    except CorruptRecordError as error:
        raise RefusedError(
            f"{topic} has a record that cannot be read here ({error}).",
            fix="read other offsets of it. If a header's name is no UTF-8, have its producer name headers by text.",
        ) from error
    except (KafkaError, OSError) as error:
        refuse_login(bootstrap, client)
        raise UnreachableError(
            f"{topic} could not be read ({error}).", fix="see whether the brokers run, then run the command again."
        ) from error
