"""Campaigns and visits, worked out record by record."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from tests.scenarios.records import on_time

TABLES = ("campaign_minutes", "campaign_stops", "visits")
HOUR, PAUSE = timedelta(hours=1), timedelta(minutes=30)
TEXT = (str,)
IMPRESSION = {"impression": TEXT, "campaign": TEXT, "visitor": TEXT, "page": TEXT}
CLICK = {"click": TEXT, "impression": TEXT, "campaign": TEXT}
RULES: dict[str, Any] = {"lateness": timedelta(minutes=10), "skew": timedelta(minutes=1)}


def tables(sent: dict[str, Sequence[bytes]], project: Path) -> dict[str, pd.DataFrame]:
    """Return the rows of all tables, given the values of each topic."""
    with (project / "include" / "data" / "campaigns.csv").open(encoding="utf-8") as file:
        campaigns = {row["campaign"]: row for row in csv.DictReader(file)}
    shown = on_time(sent["impressions"], IMPRESSION, event="shown_at", arrival="shown_seen_at", **RULES)
    clicked = on_time(sent["clicks"], CLICK, event="clicked_at", arrival="click_seen_at", **RULES)
    impressions = {each["impression"]: each for each in shown}
    clicks = {each["click"]: each for each in clicked}
    return {
        "campaign_minutes": pd.DataFrame(minutes(impressions, clicks, campaigns)),
        "campaign_stops": pd.DataFrame(stops(clicks, campaigns)),
        "visits": pd.DataFrame(visits(impressions)),
    }


def minutes(
    impressions: dict[str, dict[str, Any]], clicks: dict[str, dict[str, Any]], campaigns: dict[str, dict[str, str]]
) -> list[dict[str, Any]]:
    of: dict[str, int] = defaultdict(int)
    for click in clicks.values():
        shown = impressions.get(click["impression"])
        if shown is not None and timedelta() <= click["clicked_at"] - shown["shown_at"] <= HOUR:
            of[click["impression"]] += 1
    groups: dict[tuple[datetime, str], list[int]] = defaultdict(list)
    for name, shown in impressions.items():
        groups[shown["shown_at"].replace(second=0, microsecond=0), shown["campaign"]].append(of[name])
    return [
        {
            "minute": minute,
            "campaign": campaign,
            "name": campaigns[campaign]["name"],
            "impressions": len(counts),
            "clicked": sum(count > 0 for count in counts),
            "clicks": sum(counts),
            "spent_cents": sum(counts) * int(campaigns[campaign]["cents_per_click"]),
        }
        for (minute, campaign), counts in groups.items()
    ]


def stops(clicks: dict[str, dict[str, Any]], campaigns: dict[str, dict[str, str]]) -> list[dict[str, Any]]:
    rows = []
    for campaign, said in campaigns.items():
        price, budget = int(said["cents_per_click"]), int(said["budget_cents"])
        own = sorted((each["clicked_at"], each["click"]) for each in clicks.values() if each["campaign"] == campaign)
        needed = -(-budget // price)
        if len(own) >= needed:
            spent = {"command": "stop", "spent_cents": needed * price, "budget_cents": budget}
            rows.append({"stopped_at": own[needed - 1][0], "campaign": campaign, **spent})
    return rows


def visits(impressions: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    by_visitor: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in sorted(impressions.values(), key=lambda each: each["shown_at"]):
        by_visitor[each["visitor"]].append(each)
    rows = []
    for visitor, shown in by_visitor.items():
        breaks = [n for n, (one, two) in enumerate(pairwise(shown), 1) if two["shown_at"] - one["shown_at"] >= PAUSE]
        for first, last in pairwise([0, *breaks, len(shown)]):
            visit = shown[first:last]
            times = {"began_at": visit[0]["shown_at"], "ended_at": visit[-1]["shown_at"] + PAUSE}
            counts = {"views": len(visit), "pages": len({each["page"] for each in visit})}
            rows.append({**times, "visitor": visitor, **counts})
    return rows


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table as the oracle has them."""
    return rows
