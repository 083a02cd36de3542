"""Keeps what is offered to lineage until a test wants it made, as the thread that sends does."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sluice.lineage.event import Event


class RecordedLineage:
    """Implements `sluice.lineage.event.Lineage`."""

    def __init__(self) -> None:
        self._offered: list[Callable[[], Iterable[Event]]] = []
        self.spared = 0

    def offer(self, make: Callable[[], Iterable[Event]], *, spare: bool = False) -> None:
        self._offered.append(make)
        self.spared += spare

    def events(self) -> list[Event]:
        """Return what was offered since the last time."""
        offered, self._offered = self._offered, []
        return [event for make in offered for event in make()]
