"""One admin client of kafka-python, made on first use and made again when it has gone stale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import tenacity
from kafka import KafkaAdminClient
from kafka.errors import AuthorizationError, KafkaError, KafkaTimeoutError

from sluice.errors import UnreachableError
from sluice.kafka.connection import client_arguments, reachable

_Answer = TypeVar("_Answer")


class AdminConnection:
    """What adapters ask a cluster through.

    Args:
        bootstrap: host:port of some brokers.
        client: further settings, under Kafka's names.
        patience_seconds: how long to look for a broker that answers.
    """

    def __init__(self, bootstrap: Sequence[str], client: Mapping[str, str], patience_seconds: float) -> None:
        self._bootstrap = tuple(bootstrap)
        self._client = dict(client)
        self._patience_seconds = patience_seconds
        self._connected: Any = None

    def close(self) -> None:
        """Close the connections. Asking again connects again."""
        if self._connected is not None:
            self._connected.close()
            self._connected = None

    def ask(self, purpose: str, question: Callable[[Any], _Answer], *, repeatable: bool = True) -> _Answer:
        """Ask the cluster; a connection that went stale since the last question is replaced once.

        Raises:
            UnreachableError: no broker answered, or the cluster does not tell us.
        """
        stale = self._connected is not None and repeatable
        try:
            self._connected = self._connected or self._connect()
            return question(self._connected)
        except AuthorizationError as error:
            raise UnreachableError(
                f"Kafka at {', '.join(self._bootstrap)} does not allow us to {purpose} ({type(error).__name__}).",
                fix="use a principal whose role needs it: `sluice access list` shows who may do what.",
            ) from error
        except (KafkaError, OSError) as error:
            self.close()
            if stale:
                return self.ask(purpose, question, repeatable=False)
            raise UnreachableError(
                f"Kafka at {', '.join(self._bootstrap)} did not answer when asked to {purpose} ({error}).",
                fix="see whether the brokers run; a wrong password shows as a timeout too.",
            ) from error

    def _connect(self) -> Any:  # noqa: ANN401  untyped client
        retrying = tenacity.Retrying(
            # A broker's name that stopped resolving fails some first attempts although other brokers are up.
            retry=tenacity.retry_if_exception(
                lambda e: isinstance(e, KafkaError) and not isinstance(e, KafkaTimeoutError)
            ),
            stop=tenacity.stop_after_delay(self._patience_seconds),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
            reraise=True,
        )
        return retrying(
            lambda: KafkaAdminClient(
                bootstrap_servers=reachable(self._bootstrap),
                bootstrap_timeout_ms=int(self._patience_seconds * 1000),
                **client_arguments(self._client),
            )
        )
