"""The sources that a feed's spec can name."""

from __future__ import annotations

from pathlib import Path

from sluice.feeds.file import FileSource
from sluice.feeds.record import FeedSource
from sluice.specs.code.static import locate_file
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.model import TopicSpec


def load_source(spec: FeedSpec, topic: TopicSpec, include: Path) -> FeedSource:
    """Read the source of a feed.

    Raises:
        NotReadyError: its data are not installed.
        SpecError: its file is not there, or holds lines that are no records: all of them are named.
    """
    match spec.source:
        case "nycflights13":
            from sluice.feeds.nycflights13 import Nycflights13  # noqa: PLC0415 - pandas is slow to import

            return Nycflights13.load()
        case "file":
            return FileSource.load(locate_file(spec.package, spec.path or "", include), spec, topic.value)
