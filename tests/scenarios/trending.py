"""Trending hashtags, counted post by post."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from tests.scenarios.records import on_time

LENGTH, STEP, SHOWN = timedelta(minutes=15), timedelta(minutes=5), 20
KINDS = {"post": (str,), "author": (str,), "lang": (str,), "tags": (list,)}
TABLES = ("tag_counts", "trending")


def tables(sent: dict[str, Sequence[bytes]], project: Path) -> dict[str, pd.DataFrame]:
    """Return the rows of both tables, given the values of each topic."""
    blocked = set((project / "include" / "data" / "blocked.csv").read_text().split()[1:])
    posts = on_time(
        sent["posts"], KINDS, event="posted_at", arrival="seen_at", lateness=STEP, skew=timedelta(minutes=1)
    )
    posts_of: dict[tuple[datetime, str, str], set[str]] = defaultdict(set)
    authors_of: dict[tuple[datetime, str, str], set[str]] = defaultdict(set)
    for post in posts:
        if post["author"] in blocked:
            continue
        for began_at in windows(post["posted_at"]):
            for tag in {tag.lower() for tag in post["tags"]}:
                posts_of[began_at, post["lang"], tag].add(post["post"])
                authors_of[began_at, post["lang"], tag].add(post["author"])
    counts = {key: (len(posts_of[key]), len(authors_of[key])) for key in posts_of}
    rows = [{**named(key), "posts": many, "authors": people} for key, (many, people) in counts.items()]
    return {"tag_counts": pd.DataFrame(rows), "trending": pd.DataFrame(top(counts))}


def windows(at: datetime) -> list[datetime]:
    """Return the starts of all windows with an instant."""
    newest = at - (at - datetime.min.replace(tzinfo=at.tzinfo)) % STEP
    return [newest - n * STEP for n in range(LENGTH // STEP)]


def named(key: tuple[datetime, str, str]) -> dict[str, Any]:
    return dict(zip(("began_at", "lang", "tag"), key, strict=True))


def top(counts: dict[tuple[datetime, str, str], tuple[int, int]]) -> list[dict[str, Any]]:
    """Return the first places of every window and language."""
    groups: dict[tuple[datetime, str], list[str]] = defaultdict(list)
    for began_at, lang, tag in counts:
        groups[began_at, lang].append(tag)
    places: dict[tuple[datetime, str, str], int] = {}
    for (began_at, lang), tags in groups.items():
        tags.sort(key=lambda tag: (-counts[began_at, lang, tag][1], -counts[began_at, lang, tag][0], tag))
        places.update({(began_at, lang, tag): place for place, tag in enumerate(tags, 1)})
    rows = []
    for (began_at, lang, tag), place in places.items():
        if place <= SHOWN:
            posts, authors = counts[began_at, lang, tag]
            old = began_at - LENGTH, lang, tag
            change = authors - counts.get(old, (0, 0))[1]
            row = {
                "place": place,
                "posts": posts,
                "authors": authors,
                "change": change,
                "place_before": places.get(old),
            }
            rows.append({**named((began_at, lang, tag)), **row})
    return rows


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table as the oracle has them."""
    return rows
