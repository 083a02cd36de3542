"""A live source in memory: it replays from a cursor, forgets, cuts connections and doubles events as a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from sluice.feeds.following.ports import DisconnectedError, ReceivedEvent
from tests.twins.clock import ManualClock

FIRST = datetime(2013, 1, 7, 11, 0, tzinfo=UTC)


def micros(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)


def live_event(number: int, *, seconds: float | None = None) -> bytes:
    """Return an event that happened so many seconds after the first; a second for each number unless said."""
    at = FIRST + timedelta(seconds=number if seconds is None else seconds)
    return json.dumps({"id": number, "time_us": micros(at), "who": "ABC"[number % 3]}).encode()


class InMemoryLiveSource:
    """Twin of the connectors. Its cursor is the `time_us` of an event, and takes in the events of that time.

    Attributes:
        events: all that ever happened, in the order of delivery.
        first: events before this one are forgotten.
        live: where one begins who asks for nothing.
        cuts: after so many events of a connection it ends, one number for each connection.
        asked: the cursors that it was asked for.
        disorder: delivers events up to so many seconds later than others, in another order for each connection.
        step: called before everything that it does.
    """

    def __init__(self, events: Sequence[bytes], clock: ManualClock, *, batch: int = 3) -> None:
        self.events = list(events)
        self.first = self.live = 0
        self.cuts: list[int] = []
        self.refusals: list[Exception] = []
        self.asked: list[JsonValue] = []
        self.connections: list[InMemoryConnection] = []
        self.silent = False
        self.disorder: Callable[[], float] | None = None
        self.step: Callable[[], None] = lambda: None
        self.clock = clock
        self._batch = batch

    def open(self, cursor: JsonValue) -> InMemoryConnection:
        self.step()
        self.asked.append(cursor)
        if self.refusals:
            raise self.refusals.pop(0)
        start = self.live
        if isinstance(cursor, int):
            times = [json.loads(event)["time_us"] if event.startswith(b"{") else 0 for event in self.events]
            start = next((n for n, at in enumerate(times) if at >= cursor), len(times))
        cut = self.cuts.pop(0) if self.cuts else None
        self.connections.append(InMemoryConnection(self, max(start, self.first), cut, self._batch))
        return self.connections[-1]

    def after(self, start: int) -> list[bytes]:
        """Return the events from one on as a connection delivers them."""
        found = self.events[start:]
        if (late := self.disorder) is None:
            return found
        return sorted(found, key=lambda event: json.loads(event)["time_us"] / 1_000_000 + late())


class InMemoryConnection:
    def __init__(self, source: InMemoryLiveSource, start: int, cut: int | None, batch: int) -> None:
        self._source, self._start, self._left, self._batch = source, start, cut, batch
        self._order: list[bytes] | None = None if source.disorder is None else source.after(start)
        self._next = 0
        self.closed = False

    def receive(self, seconds: float) -> Sequence[ReceivedEvent] | None:
        self._source.step()
        if self._left is not None and self._left <= 0:
            raise DisconnectedError("The connection was cut.")
        count = self._batch if self._left is None else min(self._batch, self._left)
        events = self._source.after(self._start) if self._order is None else self._order
        batch = events[self._next : self._next + count]
        if not batch:
            self._source.clock.sleep(seconds)
            return None if self._source.silent else []
        self._next += len(batch)
        if self._left is not None:
            self._left -= len(batch)
        return [ReceivedEvent(value) for value in batch]

    def close(self) -> None:
        self.closed = True
