"""A producer for one topic: idempotent, acknowledged by all replicas, records stamped with the time of sending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError

from sluice.errors import UnreachableError
from sluice.kafka.client.connection import producer_arguments, reachable
from sluice.kafka.client.login import refuse_login
from sluice.topics.records import RecordPosition

_CLOSING_SECONDS = 3.0
_RESUME = "see whether the brokers run, then run the command again: it resumes where it stopped."


class KafkaPythonProducer:
    """Sends to one topic."""

    def __init__(
        self,
        bootstrap: Sequence[str],
        topic: str,
        client: Mapping[str, str] | None = None,
        *,
        delivery_seconds: float = 60,
    ) -> None:
        """Connect. A record is given up after `delivery_seconds`.

        Raises:
            UnreachableError: no broker answered.
        """
        self._topic = topic
        self._delivery_seconds = delivery_seconds
        arguments = {"request_timeout_ms": int(delivery_seconds * 500), **producer_arguments(client or {})}
        try:
            self._producer: Any = KafkaProducer(
                bootstrap_servers=reachable(bootstrap),
                acks="all",
                enable_idempotence=True,
                linger_ms=0,
                allow_auto_create_topics=False,
                delivery_timeout_ms=max(int(delivery_seconds * 1000), arguments["request_timeout_ms"]),
                max_block_ms=int(delivery_seconds * 1000),
                metrics_enabled=False,
                **arguments,
            )
        except KafkaError as error:
            refuse_login(bootstrap, client or {})
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
            return KafkaAcknowledgement(
                self._producer.send(self._topic, value=value, key=key, partition=partition), 2 * self._delivery_seconds
            )
        except KafkaError as error:
            raise UnreachableError(f"No record could be sent to {self._topic} ({error}).", fix=_RESUME) from error

    def close(self) -> None:
        """Close the connections; what is not acknowledged by then is given up."""
        try:
            self._producer.close(timeout=_CLOSING_SECONDS)
        except KafkaTimeoutError:
            # Without a broker the client neither gives up (a batch that ran out makes it wait for a new producer id,
            # and the other batches wait with it) nor closes: its thread has to be told.
            sender = self._producer._sender  # noqa: SLF001  there is no public way
            sender.force_close()
            sender.join(_CLOSING_SECONDS)
            self._producer.close(timeout=_CLOSING_SECONDS)


class KafkaAcknowledgement:
    """The answer to one record."""

    __slots__ = ("_future", "_patience_seconds")

    def __init__(self, future: Any, patience_seconds: float) -> None:  # noqa: ANN401  untyped client
        self._future = future
        self._patience_seconds = patience_seconds

    def done(self) -> bool:
        """Tell whether the answer is here."""
        return bool(self._future.is_done)

    def wait(self) -> RecordPosition:
        """Block until the record is acknowledged; return where it is.

        Raises:
            UnreachableError: it was given up; whether the topic has the record is unknown.
        """
        try:
            # Bounded: the client can lose sight of a batch, see `KafkaPythonProducer.close`.
            metadata = self._future.get(self._patience_seconds)
        except KafkaError as error:
            raise UnreachableError(
                f"A record was not acknowledged ({error}); whether the topic has it is unknown.", fix=_RESUME
            ) from error
        return RecordPosition(metadata.partition, metadata.offset)
