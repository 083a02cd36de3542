"""Keeps what is offered to lineage until a test wants it made, as the thread that sends does."""

from __future__ import annotations

from openlineage.client.event_v2 import RunEvent

from sluice.lineage.emitter import MakeEvents


class RecordedLineage:
    """Implements `sluice.lineage.emitter.Lineage`."""

    def __init__(self) -> None:
        self._offered: list[MakeEvents] = []
        self.expendable = 0

    def offer(self, make: MakeEvents, *, expendable: bool = False) -> None:
        self._offered.append(make)
        self.expendable += expendable

    def events(self) -> list[RunEvent]:
        """Return what was offered since the last time."""
        offered, self._offered = self._offered, []
        return [event for make in offered for event in make()]
