"""How far a source is complete: by its clock, and by the partitions whose newest records are not read yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.intervals.arrivals import ArrivalClocks
from sluice.intervals.reach import Reach


@dataclass(frozen=True)
class Completeness:
    """How far the arrival times have come that every partition has passed.

    Attributes:
        clock: every record that arrived before it, less the disorder, is read; None: nothing is known.
        unread: partitions that hold the clock back, because records of them are not read yet.
        silence: how much of `clock` no record bears out, because the source has been silent for so long.
    """

    clock: datetime | None
    unread: tuple[str, ...] = ()
    silence: timedelta = timedelta()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever read and the source has been silent for long enough.

        Then it is as far as the other sources of its pipeline: what comes to it arrives later than what they have.
        """
        return self.clock is None and bool(self.silence) and not self.unread


NOTHING_KNOWN = Completeness(None)
"""Of a source of which no record was read."""


def completeness(clocks: ArrivalClocks, read: Mapping[str, int], listed: Mapping[str, int]) -> Completeness:
    """Judge one source.

    A partition that is read to its end says nothing and holds nothing: whatever is appended to it later is appended
    after the record that the clock stands at. That holds only for ends that were listed after `read` was fixed. One
    with unread records holds at its own clock, because they were appended after its newest that was read.

    Args:
        clocks: of what was read.
        read: next offset per `topic/partition`.
        listed: ends of the partitions (the log's, not the last stable offset), listed after `read` was fixed.
    """
    unread = tuple(partition for partition, end in sorted(listed.items()) if read.get(partition, 0) < end)
    newest = clocks.newest
    if newest is None:
        return Completeness(None, unread)
    held = {partition: clocks.accepted.get(partition) for partition in unread}
    slow = tuple(partition for partition, time in held.items() if time is None or time < newest)
    known = [time for time in held.values() if time is not None]
    return Completeness(min([newest, *known]) if len(known) == len(held) else None, slow)


class Silence:
    """For how long nothing was appended to a source of which everything is read."""

    def __init__(self) -> None:
        self._ends: Reach | None = None
        self._since = 0.0

    def of(self, read: Reach, listed: Reach, asked_at: float, answered_at: float) -> timedelta:
        """Return how long it lasts by now.

        What was listed before lay in the source when that answer came, and nothing else did when this one was asked
        for: so whatever is appended next arrives after the newest record and this silence.

        Args:
            read: what is read.
            listed: the ends of the source.
            asked_at: when they were asked for (monotonic seconds).
            answered_at: when the answer was there.
        """
        unread = not read.covers(listed)
        if unread or listed != self._ends:
            self._ends, self._since = None if unread else listed, answered_at
            return timedelta()
        return timedelta(seconds=asked_at - self._since)
