"""What following needs of a live source. `sluice.feeds.connectors` has the real ones, one module for each protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from sluice.errors import SluiceError, UnreachableError


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """An event as a source delivers it.

    Attributes:
        value: its bytes: what is sent.
        cursor: the position behind it, where the protocol has one; None: the event itself may say it.
    """

    value: bytes
    cursor: JsonValue = None


class DisconnectedError(UnreachableError):
    """A connection to a live source ended, or could not be made; another attempt may succeed.

    Attributes:
        retry_after: seconds before which the source does not want to be asked again.
        lasted: seconds for which the connection was open.
    """

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message, fix="see whether the source runs, and whether this machine reaches it.")
        self.retry_after = retry_after
        self.lasted = 0.0


class SourceEndedError(SluiceError):
    """A live source says that nothing will follow."""


class EventConnection(Protocol):
    """An open connection to a live source. For one thread."""

    def receive(self, seconds: float) -> Sequence[ReceivedEvent] | None:
        """Wait so long for events, and return them in their order.

        What was not received stays with the source, or in a buffer of bounded size: a slow receiver slows it down.

        Returns:
            Nothing but an empty sequence is a sign of life; None: nothing came.

        Raises:
            DisconnectedError: the connection ended.
            SourceEndedError: nothing will follow.
            RefusedError: the source has something that cannot be read.
        """
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class EventSource(Protocol):
    """A live source."""

    def open(self, cursor: JsonValue) -> EventConnection:
        """Connect, and ask for the events behind a cursor; of None for those that happen from now on.

        Raises:
            DisconnectedError: no connection could be made; another attempt may succeed.
            SourceEndedError: nothing will follow.
            SpecError: the source refuses the request, and will refuse it again.
            NotConfiguredError: it refuses the credentials.
            RefusedError: it does not have what is behind the cursor in the form in which it was read.
        """
        ...
