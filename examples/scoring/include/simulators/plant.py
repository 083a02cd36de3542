"""Machines that run quietly, vibrate and heat up for a while, and then break."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

MACHINES = 40
EVERY = timedelta(minutes=1)
WEARS = 0.0012
"""The chance, at each reading of a sound machine, that it begins to wear."""
SOONEST, LATEST = timedelta(minutes=55), timedelta(minutes=59)
REPAIR = timedelta(minutes=10)

Event = tuple[datetime, str, dict[str, Any]]


def readings(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield readings in the order of their times."""
    return ((at, fields) for at, kind, fields in story(random, start, end) if kind == "reading")


def breakdowns(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield breakdowns in the order of their times."""
    return ((at, fields) for at, kind, fields in story(random, start, end) if kind == "breakdown")


def story(random: Random, start: datetime, end: datetime) -> Iterator[Event]:
    """Yield readings and breakdowns in the order of their times; who wears breaks before the end."""
    breaks_at: dict[int, datetime] = {}
    repaired_at = dict.fromkeys(range(MACHINES), start)
    at, number = start, 0
    while at < end:
        for machine in range(MACHINES):
            now = at + machine * timedelta(milliseconds=1200)
            if now >= end:
                return
            if (broken_at := breaks_at.get(machine)) is not None and now >= broken_at:
                del breaks_at[machine]
                repaired_at[machine] = now + REPAIR
                number += 1
                yield now, "breakdown", {"breakdown": f"b{number}", "machine": f"m{machine}"}
                continue
            if now < repaired_at[machine]:
                continue
            if machine not in breaks_at and random.random() < WEARS and now + LATEST + EVERY < end:
                breaks_at[machine] = now + SOONEST + (LATEST - SOONEST) * random.random()
            number += 1
            yield (
                now,
                "reading",
                {"reading": f"x{number}", "machine": f"m{machine}", **measured(random, wears=machine in breaks_at)},
            )
        at += EVERY


def measured(random: Random, *, wears: bool) -> dict[str, float]:
    """Return what the sensors of a machine measure."""
    return {
        "temperature": round(60 + 6 * spread(random) + (9 if wears else 0), 2),
        "vibration": round(max(2 + 0.7 * spread(random) + (2.2 if wears else 0), 0), 3),
        "pressure": round(5 + 0.4 * spread(random) - (0.6 if wears else 0), 3),
    }


def spread(random: Random) -> float:
    """Draw a number around 0, nearly normally distributed."""
    return random.random() + random.random() + random.random() - 1.5
