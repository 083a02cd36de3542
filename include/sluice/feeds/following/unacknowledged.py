"""Events that were sent and are not acknowledged yet: a queue of bounded length, in the order in which they came."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from sluice.feeds.following.manifest import Fate
from sluice.feeds.following.rules import FeedEvent
from sluice.feeds.ports import Acknowledgement
from sluice.topics.records import RecordPosition


@dataclass(frozen=True, slots=True)
class SettledEvent:
    """An event of which is known what became of it.

    Attributes:
        position: of its record, where that is of interest.
    """

    event: FeedEvent
    fate: Fate
    position: RecordPosition | None = None


class UnacknowledgedEvents:
    """Events leave it in the order in which they came, so what left it is a prefix of what came."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: deque[tuple[FeedEvent, Acknowledgement] | SettledEvent] = deque()

    def __len__(self) -> int:
        """Return how many events wait."""
        return len(self._waiting)

    def add(self, event: FeedEvent, acknowledgement: Acknowledgement) -> None:
        """Note an event that was just sent."""
        self._waiting.append((event, acknowledgement))

    def add_settled(self, event: SettledEvent) -> None:
        """Note an event that was not sent; those before it may still wait."""
        self._waiting.append(event)

    def collect(self) -> Iterator[SettledEvent]:
        """Yield what is settled, without waiting."""
        while self._waiting:
            first = self._waiting[0]
            if not isinstance(first, SettledEvent) and not first[1].done():
                return
            yield self._first()

    def make_room(self) -> Iterator[SettledEvent]:
        """Yield what is settled, waiting until one more may be sent."""
        while len(self._waiting) >= self._most:
            yield self._first()

    def drain(self) -> Iterator[SettledEvent]:
        """Yield everything, waiting for each."""
        while self._waiting:
            yield self._first()

    def _first(self) -> SettledEvent:
        first = self._waiting[0]
        if not isinstance(first, SettledEvent):
            event, acknowledgement = first
            first = SettledEvent(event, "sent", acknowledgement.wait())
        self._waiting.popleft()
        return first
