"""Posts with hashtags: a few tags that everybody uses, topics that burst, and accounts that do nothing but spam."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import accumulate
from random import Random
from typing import Any

POSTS_PER_SECOND = 4.0
LANGUAGES = {"en": 0.55, "pt": 0.25, "ja": 0.2}
TAGS, AUTHORS, SPAMMERS = 300, 4_000, 40
SPAM = 0.15
"""The share of posts by spammers; `data/blocked.csv` holds all but the newest of them."""
BURST_EVERY, BURST_LENGTH = timedelta(minutes=40), timedelta(minutes=20)
IN_BURST = 0.2
"""The share of posts that take part in a burst while it lasts."""


def posts(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield posts in the order of their times."""
    languages = list(LANGUAGES)
    weights = list(accumulate(1 / n for n in range(1, TAGS + 1)))
    at, number = start, 0
    while (at := at + timedelta(seconds=-math.log(1 - random.random()) / POSTS_PER_SECOND)) < end:
        number += 1
        lang = languages[min(bisect(list(accumulate(LANGUAGES.values())), random.random()), len(languages) - 1)]
        if random.random() < SPAM:
            author, tags = f"spam{int(random.random() * SPAMMERS)}", ["win", "FREE", f"deal{int(random.random() * 5)}"]
        else:
            author = f"user{int(random.random() ** 2 * AUTHORS)}"
            tags = [f"tag{bisect(weights, random.random() * weights[-1]) + 1}" for _ in range(int(random.random() * 4))]
            burst, since = divmod(at - start, BURST_EVERY)
            if since < BURST_LENGTH and random.random() < IN_BURST:
                tags.append(f"Burst{burst}")
        yield at, {"post": f"post-{number}", "author": author, "lang": lang, "tags": tags}
