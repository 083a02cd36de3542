"""Transforms that hand on tables from hour to hour. A project of the tests has this module as `carried`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.spark.keyed import in_order


def running(flights: DataFrame, *, counted: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Count the flights of each carrier since the beginning."""
    now = flights.groupBy("carrier").agg(F.count("*").alias("new"), F.min("scheduled_at").alias("at"))
    both = now.join(counted, "carrier", "full")
    total = (F.coalesce("flights", F.lit(0)) + F.coalesce("new", F.lit(0))).alias("flights")
    rows = both.where("new IS NOT NULL").select("at", "carrier", total)
    return rows, both.select("carrier", total)


def first_seen(flights: DataFrame, *, seen: DataFrame, fleets: DataFrame) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Give each carrier its first flight from each airport, and keep the airports of each carrier."""
    first = flights.groupBy("carrier", "origin").agg(F.min(F.struct("scheduled_at", "flight_id")).alias("first"))
    new = first.join(seen, ["carrier", "origin"], "left_anti").select(
        F.col("first.scheduled_at").alias("at"), "carrier", "origin", F.col("first.flight_id").alias("flight_id")
    )
    after = seen.unionByName(new.select("carrier", "origin", F.col("at").alias("since")))
    at = flights.select("carrier", F.array("origin").alias("origins")).unionByName(fleets)
    origins = F.array_sort(F.array_distinct(F.flatten(F.collect_list("origins")))).alias("origins")
    return new, after, at.groupBy("carrier").agg(origins)


def turns(flights: DataFrame, *, fleet: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Give each flight of a carrier its number, the airport of the one before, and the minutes since."""
    return in_order(
        flights,
        one_after_another,
        by="carrier",
        order=("scheduled_at", "flight_id"),
        state=fleet,
        rows="at timestamp, flight_id bigint, carrier string, number bigint, before string, minutes double",
    )


def one_after_another(flights: Iterator[Mapping[str, Any]], state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the flights of one carrier."""
    for flight in flights:
        at, last = flight["scheduled_at"], state.get("at")
        state["number"] = state.get("number", 0) + 1
        yield {
            "at": at,
            "flight_id": flight["flight_id"],
            "carrier": flight["carrier"],
            "number": state["number"],
            "before": state.get("origins", [None])[-1],
            "minutes": None if last is None else (at - last).total_seconds() / 60,
        }
        state["at"], state["origins"] = at, [*state.get("origins", []), flight["origin"]][-3:]
