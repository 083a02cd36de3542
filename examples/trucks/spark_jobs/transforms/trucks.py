"""Stops, geofences, hot engines and the fuel of routes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.spark.keyed import in_order

SLOWEST_KM_PER_HOUR = 3.0
"""Below this a truck stands."""
HOTTEST_C, READINGS = 105.0, 3
EARTH_KM = 6_371.0


def truck_stops(positions: DataFrame) -> DataFrame:
    """Group positions at which a truck stands into stops, which end with five minutes without one."""
    return (
        positions.dropDuplicates(["truck", "measured_at"])
        .where(F.col("km_per_hour") < SLOWEST_KM_PER_HOUR)
        .groupBy(F.session_window("measured_at", "5 minutes"), "truck")
        .agg(
            F.min_by("lat", "measured_at").alias("lat"),
            F.min_by("lon", "measured_at").alias("lon"),
            F.max("measured_at").alias("last_at"),
        )
        .select(
            F.col("session_window.start").alias("began_at"),
            F.col("session_window.end").alias("ended_at"),
            "truck",
            "lat",
            "lon",
            F.timestamp_diff("SECOND", F.col("session_window.start"), F.col("last_at")).alias("seconds"),
        )
    )


def fence_crossings(
    positions: DataFrame, *, geofences: DataFrame, whereabouts: DataFrame
) -> tuple[DataFrame, DataFrame]:
    """Return when each truck has entered or left a place, and where each was at last."""
    fences = F.broadcast(geofences.select("place", F.col("lat").alias("at_lat"), F.col("lon").alias("at_lon"), "km"))
    seen = positions.crossJoin(fences).withColumn(
        "within", distance_km(F.col("lat"), F.col("lon"), F.col("at_lat"), F.col("at_lon")) <= F.col("km")
    )
    return in_order(
        seen,
        of_one_fence,
        by=("truck", "place"),
        order=("measured_at", "position_seen_at"),
        state=whereabouts,
        rows="crossed_at timestamp, truck string, place string, entered boolean",
    )


def of_one_fence(positions: Iterator[Mapping[str, Any]], known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the crossings of one truck and one place; where it was at first crosses nothing."""
    for position in positions:
        if known.get("inside") is not None and known["inside"] != position["within"]:
            named = {name: position[name] for name in ("truck", "place")}
            yield {"crossed_at": position["measured_at"], **named, "entered": position["within"]}
        known["inside"] = position["within"]


def distance_km(lat: Column, lon: Column, other_lat: Column, other_lon: Column) -> Column:
    """Return the distance of two points on a sphere."""
    half_lat, half_lon = F.radians(other_lat - lat) / 2, F.radians(other_lon - lon) / 2
    chord = F.pow(F.sin(half_lat), 2) + F.cos(F.radians(lat)) * F.cos(F.radians(other_lat)) * F.pow(F.sin(half_lon), 2)
    return 2 * EARTH_KM * F.asin(F.sqrt(chord))


def engine_faults(engines: DataFrame, *, coolings: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return the engines that were too hot three times one after another, once for each time that they were."""
    rows = "since timestamp, truck string, coolant_c double"
    return in_order(engines, of_one_engine, by="truck", order=("read_at", "engine_seen_at"), state=coolings, rows=rows)


def of_one_engine(readings: Iterator[Mapping[str, Any]], known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the third of the readings that are too hot; a fourth says nothing new."""
    for reading in readings:
        if reading["read_at"] == known.get("last_read"):
            continue  # it was sent twice
        known["last_read"] = reading["read_at"]
        known["hot"] = (known.get("hot") or 0) + 1 if reading["coolant_c"] > HOTTEST_C else 0
        if known["hot"] == READINGS:
            yield {"since": reading["read_at"], "truck": reading["truck"], "coolant_c": reading["coolant_c"]}


def route_fuel(engines: DataFrame, *, meters: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return the fuel and the kilometres of each route that is over, by the meters of its first and last reading."""
    rows = "finished_at timestamp, truck string, route string, began_at timestamp, litres double, km double"
    return in_order(engines, of_one_truck, by="truck", order=("read_at", "engine_seen_at"), state=meters, rows=rows)


def of_one_truck(readings: Iterator[Mapping[str, Any]], meter: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a route when the next one begins."""
    for reading in readings:
        if reading["read_at"] == meter.get("last_read"):
            continue  # it was sent twice
        fuel, km, at = reading["fuel_used_l"], reading["odometer_km"], reading["read_at"]
        if meter.get("route") != reading["route"]:
            if meter.get("route") is not None:
                yield {
                    "finished_at": at,
                    "truck": reading["truck"],
                    "route": meter["route"],
                    "began_at": meter["began_at"],
                    "litres": round(meter["fuel_l"] - meter["first_fuel_l"], 3),
                    "km": round(meter["km"] - meter["first_km"], 3),
                }
            meter.update(route=reading["route"], first_fuel_l=fuel, first_km=km, began_at=at)
        meter.update(fuel_l=fuel, km=km, last_read=at)
