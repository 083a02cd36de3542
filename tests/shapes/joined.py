"""Transforms over two topics, of every kind that a settled table takes. A project of the tests has it as `joined`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it


def _before(flights: DataFrame, weather: DataFrame) -> Column:
    """Whether a measurement is of the flight's airport, and 30 to 90 minutes older: one such is known at a time."""
    flown, measured = flights["scheduled_at"], weather["measured_at"]
    recent = measured > flown - F.expr("interval 90 minutes")
    return (flights["origin"] == weather["origin"]) & recent & (measured <= flown - F.expr("interval 30 minutes"))


def inner(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Give each flight the wind that was known before, and leave out those of which it is not known."""
    both = flights.join(weather, _before(flights, weather))
    return both.select(F.col("scheduled_at").alias("at"), "flight_id", "wind")


def left(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Give each flight the wind that was known before, where it is known."""
    both = flights.join(weather, _before(flights, weather), "left")
    return both.select(F.col("scheduled_at").alias("at"), "flight_id", "wind")


def anti(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Return the flights of which the wind that was known before is not known."""
    alone = flights.join(weather, _before(flights, weather), "left_anti")
    return alone.select(F.col("scheduled_at").alias("at"), "flight_id")


def semi(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Return the flights after which a strong wind was measured within two hours."""
    flown, measured = flights["scheduled_at"], weather["measured_at"]
    after = (flown < measured) & (measured <= flown + F.expr("interval 2 hours"))
    strong = after & (flights["origin"] == weather["origin"]) & (weather["wind"] >= 15)
    return flights.join(weather, strong, "left_semi").select(F.col("scheduled_at").alias("at"), "flight_id")


def following(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Count the flights 30 to 90 minutes after each measurement, none among them."""
    both = weather.join(flights, _before(flights, weather), "left")
    counted = both.groupBy("measured_at", weather["origin"]).agg(F.count("flight_id").alias("flights"))
    return counted.select(F.col("measured_at").alias("at"), "origin", "flights")


def union(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Count the records of both topics, hour by hour."""
    each = [
        flights.select(F.lit("flight").alias("kind"), F.col("scheduled_at").alias("time")),
        weather.select(F.lit("measurement").alias("kind"), F.col("measured_at").alias("time")),
    ]
    counted = each[0].unionByName(each[1]).groupBy(F.window("time", "1 hour"), "kind").agg(F.count("*").alias("n"))
    return counted.select(F.col("window.start").alias("at"), "kind", "n")
