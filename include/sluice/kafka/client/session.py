"""A connection to a cluster's administration through kafka-python: made on first use, and again when it went stale."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import tenacity
from kafka import KafkaAdminClient
from kafka.errors import (
    AuthorizationError,
    IncompatibleBrokerVersion,
    KafkaError,
    KafkaTimeoutError,
    UnsupportedVersionError,
)

from sluice.errors import UnreachableError
from sluice.kafka.client.connection import client_arguments, reachable
from sluice.kafka.client.login import refuse_login

_Answer = TypeVar("_Answer")
_PAUSE_SECONDS = 0.5


class ClusterClient:
    """One cluster. Connects on first use, and again after a failure; close it, or use it as a context manager.

    Attributes:
        bootstrap: host:port of some brokers.
        client: further settings, under Kafka's names.
        patience_seconds: how long a broker may take to answer, or to show what was created.
    """

    def __init__(
        self, bootstrap: Sequence[str], client: Mapping[str, str] | None = None, *, patience_seconds: float = 15
    ) -> None:
        self.bootstrap = tuple(bootstrap)
        self.client = dict(client or {})
        self.patience_seconds = patience_seconds
        self._connected: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Using it again connects again."""
        if self._connected is not None:
            self._connected.close()
            self._connected = None


class RightMissingError(UnreachableError):
    """The cluster answers, and does not let us do what was asked."""


class AdminSession(ClusterClient):
    """A cluster's administration."""

    def _ask(self, purpose: str, question: Callable[[Any], _Answer], *, repeatable: bool = True) -> _Answer:
        """Ask the cluster; a connection that went stale since the last question is replaced.

        Raises:
            RightMissingError: the cluster does not allow it.
            UnreachableError: no broker answered, none lets us in, or the cluster cannot.
        """
        # A new connection may be to the very broker that has just died: there is a try for each that we know.
        tries = len(self.bootstrap) + (self._connected is not None) if repeatable else 1
        while True:
            tries -= 1
            try:
                self._connected = self._connected or self._connect()
                return question(self._connected)
            except AuthorizationError as error:
                raise RightMissingError(
                    f"Kafka at {', '.join(self.bootstrap)} does not allow us to {purpose} ({type(error).__name__}).",
                    fix="use a principal whose role needs it: `sluice access list` shows who may do what.",
                ) from error
            except (IncompatibleBrokerVersion, UnsupportedVersionError) as error:
                raise UnreachableError(
                    f"Kafka at {', '.join(self.bootstrap)} does not offer what it takes to {purpose} ({error}).",
                    fix="name the service (`kafka.profile` of the deployment), or run a newer version of Apache Kafka.",
                ) from error
            except (KafkaError, OSError) as error:
                self.close()
                if tries and not isinstance(error, KafkaTimeoutError):
                    time.sleep(_PAUSE_SECONDS)  # until the others have heard who is gone
                    continue
                refuse_login(self.bootstrap, self.client)
                raise UnreachableError(
                    f"Kafka at {', '.join(self.bootstrap)} did not answer when asked to {purpose} ({error}).",
                    fix="see whether the brokers run.",
                ) from error

    def _until(self, shown: Callable[[], bool]) -> None:
        """Wait until the cluster shows a change; who asks on decides what a delay means."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda found: not found),
            stop=tenacity.stop_after_delay(self.patience_seconds),
            wait=tenacity.wait_exponential(multiplier=0.05, max=1),
            retry_error_callback=lambda _: None,
        )
        retrying(shown)

    def _connect(self) -> Any:  # noqa: ANN401  untyped client
        retrying = tenacity.Retrying(
            # A broker's name that stopped resolving fails some first attempts although other brokers are up.
            retry=tenacity.retry_if_exception(
                lambda e: isinstance(e, KafkaError) and not isinstance(e, KafkaTimeoutError)
            ),
            stop=tenacity.stop_after_delay(self.patience_seconds),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
            reraise=True,
        )
        return retrying(
            lambda: KafkaAdminClient(
                bootstrap_servers=reachable(self.bootstrap),
                bootstrap_timeout_ms=int(self.patience_seconds * 1000),
                **client_arguments(self.client),
            )
        )

    @property
    def _patience_ms(self) -> float:
        return self.patience_seconds * 1000
