"""Records that were sent and are not acknowledged yet, bounded in arrival time.

If one partition ran far ahead of another while a feed is sent, records of the slower one would come after their
interval was settled, and behind the watermark of live outputs, which drop them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta

from sluice.feeds.ports import Acknowledgement
from sluice.feeds.record import FeedRecord
from sluice.topics.records import RecordPosition


class InFlight:
    """A queue in the order of sending. Records leave it in that order, so what left it is a prefix of what was sent."""

    def __init__(self, longest: timedelta) -> None:
        self._longest = longest
        self._waiting: deque[tuple[FeedRecord, Acknowledgement]] = deque()

    def add(self, record: FeedRecord, acknowledgement: Acknowledgement) -> None:
        """Note what was just sent."""
        self._waiting.append((record, acknowledgement))

    def collect(self) -> Iterator[tuple[FeedRecord, RecordPosition]]:
        """Yield what is acknowledged, without waiting."""
        while self._waiting and self._waiting[0][1].done():
            yield self._first()

    def make_room(self, arrival: datetime) -> Iterator[tuple[FeedRecord, RecordPosition]]:
        """Yield what is acknowledged, waiting until a record that arrives at `arrival` may be sent."""
        while self._waiting and arrival - self._waiting[0][0].arrival > self._longest:
            yield self._first()
        yield from self.collect()

    def drain(self) -> Iterator[tuple[FeedRecord, RecordPosition]]:
        """Yield everything, waiting for each."""
        while self._waiting:
            yield self._first()

    def _first(self) -> tuple[FeedRecord, RecordPosition]:
        record, acknowledgement = self._waiting[0]
        position = acknowledgement.wait()
        self._waiting.popleft()
        return record, position
