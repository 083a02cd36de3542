"""What campaigns have spent, and what visitors look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.spark.keyed import in_order


def campaign_stops(clicks: DataFrame, *, campaigns: DataFrame, spendings: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return the click with which each campaign has spent its budget, and what each has spent."""
    priced = clicks.join(F.broadcast(campaigns), "campaign")
    return in_order(
        priced,
        of_one_campaign,
        by="campaign",
        order=("clicked_at", "click", "click_seen_at"),
        state=spendings,
        rows="stopped_at timestamp, campaign string, command string, spent_cents bigint, budget_cents bigint",
    )


def of_one_campaign(clicks: Iterator[Mapping[str, Any]], spending: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the command to stop a campaign, once."""
    for click in clicks:
        if click["click"] == spending.get("last_click"):
            continue  # it was sent twice
        before = spending.get("spent_cents") or 0
        spending["last_click"] = click["click"]
        spending["spent_cents"] = before + click["cents_per_click"]
        if before < click["budget_cents"] <= spending["spent_cents"]:
            yield {
                "stopped_at": click["clicked_at"],
                "campaign": click["campaign"],
                "command": "stop",
                "spent_cents": spending["spent_cents"],
                "budget_cents": click["budget_cents"],
            }


def visits(impressions: DataFrame) -> DataFrame:
    """Group what a visitor was shown into visits, which end with half an hour without anything."""
    return (
        impressions.dropDuplicates(["impression", "shown_at"])
        .groupBy(F.session_window("shown_at", "30 minutes"), "visitor")
        .agg(F.count("*").alias("views"), F.size(F.collect_set("page")).alias("pages"))
        .select(
            F.col("session_window.start").alias("began_at"),
            F.col("session_window.end").alias("ended_at"),
            "visitor",
            "views",
            "pages",
        )
    )
