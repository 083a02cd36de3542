"""Visitors who are shown advertisements, page by page, and click on some of them within minutes or hours."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

CAMPAIGNS = {"c1": 0.05, "c2": 0.02, "c3": 0.08, "c4": 0.03, "c5": 0.01}
"""The chance of a click, by campaign."""
VISITORS, PAGES = 900, 40
BETWEEN_VISITS, BETWEEN_PAGES = timedelta(hours=3), timedelta(minutes=2)
GOES_ON = 0.85
"""The chance that a visitor looks at one more page."""
FIRST_CLICK = timedelta(minutes=12)
"""The mean time until a click; one of a hundred comes after more than an hour, and counts no more."""

Event = tuple[datetime, str, dict[str, Any]]


def impressions(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield what is shown, in the order of the times."""
    return ((at, fields) for at, kind, fields in story(random, start, end) if kind == "impression")


def clicks(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield the clicks on it, in the order of the times."""
    return ((at, fields) for at, kind, fields in story(random, start, end) if kind == "click")


def story(random: Random, start: datetime, end: datetime) -> Iterator[Event]:
    """Yield impressions and clicks in the order of their times."""
    due: list[tuple[datetime, int, str, dict[str, Any]]] = []
    for number in range(VISITORS):
        heapq.heappush(due, (start + wait(random, BETWEEN_VISITS), number, "impression", {"visitor": f"v{number}"}))
    number = VISITORS
    while due and due[0][0] < end:
        at, _, kind, fields = heapq.heappop(due)
        number += 1
        if kind == "click":
            yield at, kind, {"click": f"click-{number}", **fields}
            continue
        campaign = list(CAMPAIGNS)[int(random.random() * len(CAMPAIGNS))]
        shown = {"impression": f"imp-{number}", "campaign": campaign}
        yield at, kind, {**shown, **fields, "page": f"/page/{int(random.random() ** 2 * PAGES)}"}
        if random.random() < CAMPAIGNS[campaign]:
            heapq.heappush(due, (at + wait(random, FIRST_CLICK), number, "click", shown))
        pause = BETWEEN_PAGES if random.random() < GOES_ON else BETWEEN_VISITS
        heapq.heappush(due, (at + wait(random, pause), number, "impression", fields))


def wait(random: Random, mean: timedelta) -> timedelta:
    """Draw how long it takes until something happens."""
    return timedelta(seconds=-math.log(1 - random.random()) * mean.total_seconds())
