"""From which offset on a topic has the events that a source may deliver again."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta

_MARKS = 20
"""Within an overlap: the topic is read from at most a twentieth of it earlier than needed."""


class ReplayWindow:
    """Marks of times and the offsets that were reached then, as far back as an overlap needs them."""

    def __init__(self, overlap: timedelta, offsets: Mapping[int, int]) -> None:
        """Begin with the offsets from which on there is anything of interest."""
        self._overlap = overlap
        self._marks: deque[tuple[datetime | None, dict[int, int]]] = deque([(None, dict(offsets))])

    def mark(self, at: datetime, offsets: Mapping[int, int]) -> None:
        """Note that every event that came until now lies below these offsets, and is not later than a time."""
        newest = self._marks[-1][0]
        if newest is None or at - newest >= max(self._overlap / _MARKS, timedelta.resolution):
            self._marks.append((at, dict(offsets)))
        while len(self._marks) > 1 and (second := self._marks[1][0]) is not None and second < at - self._overlap:
            self._marks.popleft()

    @property
    def offsets(self) -> dict[int, int]:
        """The offsets below which nothing lies that is later than the newest mark minus the overlap."""
        return dict(self._marks[0][1])
