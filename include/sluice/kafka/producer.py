"""A producer for one topic: idempotent, acknowledged by all replicas, records stamped with the time of sending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from kafka import KafkaProducer
from kafka.errors import (
    AuthorizationError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
)

from sluice.errors import UnreachableError
from sluice.kafka.client.connection import producer_arguments, reachable
from sluice.kafka.client.login import refuse_login
from sluice.kafka.client.session import RightMissingError
from sluice.topics.records import RecordPosition, RecordTooLargeError

_CLOSING_SECONDS = 3.0
_LARGEST_BYTES = 1_048_576
"""What Kafka's clients and topics take unless told otherwise."""
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
        largest_batch: int | None = None,
    ) -> None:
        """Connect. A record is given up after `delivery_seconds`.

        One that is larger than `largest_batch` is not sent: if a broker refuses it, the client gives up all others too.

        Raises:
            UnreachableError: no broker answered.
        """
        self._topic = topic
        self._delivery_seconds = delivery_seconds
        arguments = {"request_timeout_ms": int(delivery_seconds * 500), **producer_arguments(client or {})}
        most = arguments.get("max_request_size", _LARGEST_BYTES)
        self._largest = arguments["max_request_size"] = most if largest_batch is None else min(most, largest_batch)
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
            RecordTooLargeError: it is larger than topic and client take.
            UnreachableError: it could not even be queued.
        """
        try:
            future = self._producer.send(self._topic, value=value, key=key, partition=partition)
        except MessageSizeTooLargeError as error:
            raise RecordTooLargeError(
                f"A record of {len(key or b'') + len(value):,} bytes is larger than {self._topic} takes by this client "
                f"({self._largest:,} bytes, with what belongs to a batch).",
                fix="leave it out, or raise `max.message.bytes` of the topic and `max.request.size` of the client.",
            ) from error
        except KafkaError as error:
            why = f"No record could be sent to {self._topic} ({error})."
            raise _failure(self._topic, error, why) from error
        return KafkaAcknowledgement(self._topic, future, 2 * self._delivery_seconds)

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


def _failure(topic: str, error: KafkaError, otherwise: str) -> UnreachableError:
    """Return what to say of an error, by its kind, or what to say otherwise."""
    if isinstance(error, AuthorizationError):
        return RightMissingError(
            f"Kafka does not allow us to send to {topic} ({type(error).__name__}).",
            fix="use a principal that may write there (the role feed): `sluice access list` shows who may do what.",
        )
    if isinstance(error, MessageSizeTooLargeError | RecordListTooLargeError):
        return UnreachableError(
            f"Kafka refused one of the records that were on their way as too large for {topic} ({error}); whether the "
            "topic has the others is unknown.",
            fix="declare in `max.message.bytes` of the topic's configs, or in `max.request.size` of the deployment's "
            "Kafka client, what it takes: a larger record is told, or left out with a gap, before it is sent.",
        )
    return UnreachableError(otherwise, fix=_RESUME)


class KafkaAcknowledgement:
    """The answer to one record."""

    __slots__ = ("_future", "_patience_seconds", "_topic")

    def __init__(self, topic: str, future: Any, patience_seconds: float) -> None:  # noqa: ANN401  untyped client
        self._topic = topic
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
            why = f"A record was not acknowledged ({error}); whether the topic has it is unknown."
            raise _failure(self._topic, error, why) from error
        return RecordPosition(metadata.partition, metadata.offset)
