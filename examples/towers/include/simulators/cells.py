"""Cell towers in regions, some of which a crowd visits for half an hour."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

REGIONS, TOWERS = 3, 8
EVERY = timedelta(seconds=20)
CAPACITY_MBIT = 1_000
CROWD_CHANCE, CROWD = 0.002, timedelta(minutes=30)
"""At each sample of a calm tower, and how long it stays on average."""


def samples(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield samples of all towers in the order of their times; a tower's share of traffic wanders slowly."""
    names = [f"r{region}t{tower}" for region in range(REGIONS) for tower in range(TOWERS)]
    share = {name: 0.3 + 0.3 * random.random() for name in names}
    crowded_until = dict.fromkeys(names, start)
    at = start
    while at + EVERY < end:
        for n, name in enumerate(names):
            share[name] = min(max(share[name] + 0.02 * (random.random() - 0.5), 0.2), 0.7)
            if at >= crowded_until[name] and random.random() < CROWD_CHANCE:
                crowded_until[name] = at + CROWD * (0.5 + random.random())
            load = share[name] + (0.45 if at < crowded_until[name] else 0.0) + 0.1 * (random.random() - 0.5)
            mbit = max(math.floor(CAPACITY_MBIT * load), 0)
            yield at + n * timedelta(milliseconds=250), {"tower": name, "users": mbit // 4, "mbit": mbit}
        at += EVERY
