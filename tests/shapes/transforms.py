"""Transforms of every kind that a settled table takes. A project of the tests has this module as `shapes`."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

NEW_YORK = "America/New_York"


def hours(flights: DataFrame) -> DataFrame:
    """Count flights in windows that tumble."""
    counted = flights.groupBy(F.window("scheduled_at", "1 hour"), "origin").agg(F.count("*").alias("flights"))
    return counted.select(F.col("window.start").alias("at"), "origin", "flights")


def hopping(flights: DataFrame) -> DataFrame:
    """Count flights in windows that overlap, by their start."""
    counted = flights.groupBy(F.window("scheduled_at", "1 hour", "20 minutes"), "origin")
    return counted.agg(F.count("*").alias("flights")).select(F.col("window.start").alias("at"), "origin", "flights")


def rolling(flights: DataFrame) -> DataFrame:
    """Count the flights of the last three hours, each hour."""
    counted = flights.groupBy(F.window("scheduled_at", "3 hours", "1 hour"), "origin")
    return counted.agg(F.count("*").alias("flights")).select(F.col("window.end").alias("at"), "origin", "flights")


def half_days(flights: DataFrame) -> DataFrame:
    """Count flights in windows that are longer than an interval."""
    counted = flights.groupBy(F.window("scheduled_at", "12 hours"), "origin").agg(F.count("*").alias("flights"))
    return counted.select(F.col("window.start").alias("at"), "origin", "flights")


def local_days(flights: DataFrame) -> DataFrame:
    """Count the flights of each day of New York."""
    day = F.date_trunc("day", F.from_utc_timestamp("scheduled_at", NEW_YORK))
    counted = flights.groupBy(day.alias("day"), "carrier").agg(F.count("*").alias("flights"))
    return counted.select(F.to_utc_timestamp("day", NEW_YORK).alias("at"), "carrier", "flights")


def sessions(flights: DataFrame) -> DataFrame:
    """Count flights of a carrier at an airport that follow each other within 20 minutes."""
    counted = flights.groupBy(F.session_window("scheduled_at", "20 minutes"), "origin", "carrier")
    return counted.agg(F.count("*").alias("flights")).select(
        F.col("session_window.end").alias("at"),
        F.col("session_window.start").alias("since"),
        "origin",
        "carrier",
        "flights",
    )


def busiest(flights: DataFrame) -> DataFrame:
    """Rank the three carriers with most flights of each hour."""
    counted = flights.groupBy(F.window("scheduled_at", "1 hour"), "carrier").agg(F.count("*").alias("flights"))
    order = Window.partitionBy("window").orderBy(F.desc("flights"), "carrier")
    ranked = counted.withColumn("rank", F.row_number().over(order)).where("rank <= 3")
    return ranked.select(F.col("window.start").alias("at"), "rank", "carrier", "flights")


def pauses(flights: DataFrame) -> DataFrame:
    """Give each flight the minutes to the one before at its airport, and to the next, if they are within six hours."""
    order = Window.partitionBy("origin").orderBy("scheduled_at", "flight_id")
    before = F.timestamp_diff("MINUTE", F.lag("scheduled_at").over(order), "scheduled_at")
    after = F.timestamp_diff("MINUTE", "scheduled_at", F.lead("scheduled_at").over(order))
    return flights.select(
        F.col("scheduled_at").alias("at"),
        "flight_id",
        F.when(before <= 360, before).alias("before"),
        F.when(after <= 360, after).alias("after"),
    )


def carriers(flights: DataFrame) -> DataFrame:
    """Count the carriers that fly from an airport in an hour."""
    counted = flights.groupBy(F.window("scheduled_at", "1 hour"), "origin")
    return counted.agg(F.count_distinct("carrier").alias("carriers")).select(
        F.col("window.start").alias("at"), "origin", "carriers"
    )


def once(flights: DataFrame) -> DataFrame:
    """Keep each flight once, however often it was sent."""
    order = Window.partitionBy("flight_id").orderBy("scheduled_at", "observed_at")
    first = flights.withColumn("number", F.row_number().over(order)).where("number = 1")
    return first.select(F.col("scheduled_at").alias("at"), "flight_id", "carrier")


def standings(flights: DataFrame) -> DataFrame:
    """Say where the delay of each flight stands among all that are read, in millionths."""
    known = flights.where("dep_delay_min IS NOT NULL")
    order = Window.orderBy("dep_delay_min")
    standing = F.round(F.percent_rank().over(order) * 1_000_000).cast("long")
    return known.select(F.col("scheduled_at").alias("at"), "flight_id", standing.alias("standing"))


def totals(flights: DataFrame) -> DataFrame:
    """Count all that is read, in one row."""
    return flights.agg(
        F.min("scheduled_at").alias("at"),
        F.count("*").alias("flights"),
        F.count_distinct("carrier").alias("carriers"),
        F.round(10 * F.expr("percentile(dep_delay_min, 0.5)")).alias("middle"),
    )


def delayed(flights: DataFrame) -> DataFrame:
    """Pass on the flights that left 15 minutes late or later, record by record."""
    late = flights.where("dep_delay_min >= 15")
    return late.select(F.col("scheduled_at").alias("at"), "flight_id", "carrier", "dep_delay_min")
