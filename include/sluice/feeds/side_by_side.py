"""Several feeds at once, at one speed: topics that are joined go on together, as they do in production."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

from sluice.errors import SluiceError
from sluice.feeds.pace import Pace
from sluice.feeds.publish import Feed


def send_side_by_side(feeds: Sequence[Feed], seconds: float) -> dict[str, int]:
    """Send all feeds so that none runs far ahead of another; return how many records each has sent.

    Args:
        feeds: at least one.
        seconds: how long the longest of them takes.

    Raises:
        SluiceError: there is no feed, or one of them failed.
    """
    if not feeds:
        raise SluiceError("the example has no feed.", fix="write one in include/feeds.")
    longest = max(_span(feed) for feed in feeds)
    pace = Pace(speed=longest.total_seconds() / seconds)
    with ThreadPoolExecutor(len(feeds)) as pool:
        running = [(feed.spec.name, pool.submit(feed.send, pace=pace)) for feed in feeds]
        return {name: each.result().manifest.records for name, each in running}


def first_and_last_day(feed: Feed) -> tuple[date, date]:
    """Return the days of a feed's first and last events."""
    days = list(feed.source.days())
    return days[0], days[-1]


def _span(feed: Feed) -> timedelta:
    days = first_and_last_day(feed)
    first, last = next(feed.source.records(*days)), feed.source.last_event(*days)
    return max((last or first.event) - first.arrival, timedelta(seconds=1))
