"""Which events of a live source are in the topic already, and must not be sent again."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sluice.topics.records import RecordPosition


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event that is in the topic, or on its way there.

    Attributes:
        at: its time (UTC), as it was when it came first.
        position: of its record; None where nothing has to be known of it.
        counted: the manifest has counted it, or will when it is acknowledged.
    """

    at: datetime
    position: RecordPosition | None = None
    counted: bool = True


class Recognition(Protocol):
    """Recognises events that come again."""

    @property
    def pending(self) -> bool:
        """Whether records were found that can be recognised by this run only, and did not come again yet."""
        ...

    def found(self, identity: str, stored: StoredEvent) -> None:
        """Note an event that was read from the topic, in the order of its partition."""
        ...

    def sent(self, identity: str, at: datetime) -> None:
        """Note an event that is being sent."""
        ...

    def take(self, identity: str) -> StoredEvent | None:
        """Return what is there of an event that came; None: it has to be sent."""
        ...

    def forget(self, before: datetime) -> None:
        """Let go of events that cannot come again: those before a time."""
        ...


class ByIdentity:
    """Events have an identity of their own: whatever has the same is the same event."""

    def __init__(self) -> None:
        self._stored: dict[str, StoredEvent] = {}
        self._times: deque[tuple[datetime, str]] = deque()

    @property
    def pending(self) -> bool:
        """Nothing: every run reads as much of the topic as an overlap needs."""
        return False

    def found(self, identity: str, stored: StoredEvent) -> None:
        """Note an event that was read from the topic; the first of several that are one is the one that counts."""
        if identity not in self._stored:
            self._stored[identity] = stored
            self._times.append((stored.at, identity))

    def sent(self, identity: str, at: datetime) -> None:
        """Note an event that is being sent."""
        self.found(identity, StoredEvent(at))

    def take(self, identity: str) -> StoredEvent | None:
        """Return what is there of an event; from the second time on it is counted."""
        stored = self._stored.get(identity)
        if stored is not None and not stored.counted:
            self._stored[identity] = StoredEvent(stored.at)
        return stored

    def forget(self, before: datetime) -> None:
        """Let go of events before a time; one that came after a later one stays until that goes."""
        while self._times and self._times[0][0] < before:
            del self._stored[self._times.popleft()[1]]


class ByContent:
    """Events have no identity: what comes again is exactly what follows the cursor, and each record stands for one."""

    def __init__(self) -> None:
        self._stored: defaultdict[str, deque[StoredEvent]] = defaultdict(deque)

    @property
    def pending(self) -> bool:
        """Whether a record was found whose line did not come again yet."""
        return any(self._stored.values())

    def found(self, identity: str, stored: StoredEvent) -> None:
        """Note a record that was read from the topic."""
        self._stored[identity].append(stored)

    def sent(self, identity: str, at: datetime) -> None:
        """Note nothing: a line that is sent now does not come again, and its like is another one."""

    def take(self, identity: str) -> StoredEvent | None:
        """Return a record with this content, and take it as this event's."""
        waiting = self._stored.get(identity)
        return waiting.popleft() if waiting else None

    def forget(self, before: datetime) -> None:
        """Forget nothing: what was found beyond the cursor has no time."""
