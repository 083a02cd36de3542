"""A producer for one topic: idempotent, acknowledged by all replicas, records stamped with the time of sending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from kafka import KafkaProducer
from kafka.errors import KafkaError

from sluice.errors import UnreachableError
from sluice.feeds.ports import Position
from sluice.kafka.connection import client_arguments, reachable

_RESUME = "see whether the brokers run, then run the command again: it goes on where it stopped."


class KafkaPythonProducer:
    """Sends to one topic. Closing it drops what is not acknowledged."""

    def __init__(
        self,
        bootstrap: Sequence[str],
        topic: str,
        client: Mapping[str, str] | None = None,
        *,
        delivery_seconds: float = 60,
    ) -> None:
        """Connect.

        Args:
            bootstrap: host:port of some brokers.
            topic: where to send.
            client: further settings, under Kafka's names.
            delivery_seconds: how long a record is tried before it is given up.

        Raises:
            UnreachableError: no broker answered.
        """
        self._topic = topic
        try:
            self._producer: Any = KafkaProducer(
                bootstrap_servers=reachable(bootstrap),
                acks="all",
                enable_idempotence=True,
                linger_ms=0,
                allow_auto_create_topics=False,
                delivery_timeout_ms=int(delivery_seconds * 1000),
                request_timeout_ms=int(delivery_seconds * 500),
                max_block_ms=int(delivery_seconds * 1000),
                metrics_enabled=False,
                **client_arguments(client or {}),
            )
        except KafkaError as error:
            raise UnreachableError(f"No producer for {topic} could be made ({error}).", fix=_RESUME) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> KafkaAcknowledgement:
        """Send a record; without `partition` the default partitioner decides by its key.

        Raises:
            UnreachableError: it could not even be queued.
        """
        try:
            return KafkaAcknowledgement(self._producer.send(self._topic, value=value, key=key, partition=partition))
        except KafkaError as error:
            raise UnreachableError(f"No record could be sent to {self._topic} ({error}).", fix=_RESUME) from error

    def close(self) -> None:
        """Close the connections."""
        self._producer.close(timeout=0)


class KafkaAcknowledgement:
    """The answer to one record."""

    __slots__ = ("_future",)

    def __init__(self, future: Any) -> None:  # noqa: ANN401  untyped client
        self._future = future

    def done(self) -> bool:
        """Tell whether the answer is here."""
        return bool(self._future.is_done)

    def wait(self) -> Position:
        """Block until the record is acknowledged; return where it is.

        Raises:
            UnreachableError: it was given up; whether the topic has the record is unknown.
        """
        try:
            metadata = self._future.get()
        except KafkaError as error:
            raise UnreachableError(
                f"A record was not acknowledged ({error}); whether the topic has it is unknown.", fix=_RESUME
            ) from error
        return Position(metadata.partition, metadata.offset)
