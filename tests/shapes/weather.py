"""A second topic: the weather at the three airports, hour by hour, as it was measured, and published a while later."""

from __future__ import annotations

import json

import pandas as pd

from sluice.specs.model.model import TopicSpec
from tests.oracle import package_file

TOPIC = "weather"
PARTITIONS = 2
LATE_AFTER = pd.Timedelta("60min")

DOCUMENT = {
    "name": TOPIC,
    "partitions": PARTITIONS,
    "retention": "forever",
    "value": {
        "format": "json",
        "event_time": "measured_at",
        "arrival_time": "published_at",
        "heartbeat": "heartbeat",
        "fields": {
            "origin": {"type": "string", "required": True},
            "measured_at": {"type": "timestamp", "required": True},
            "published_at": {"type": "timestamp", "required": True},
            "wind": {"type": "double", "minimum": 0},
            "heartbeat": {"type": "boolean"},
        },
    },
    "raw": {"table": "weather_raw", "driver": "weather"},
}


def topic() -> TopicSpec:
    """Return the topic's spec."""
    return TopicSpec.model_validate(DOCUMENT)


def weather(first: str, last: str) -> pd.DataFrame:
    """Return the measurements of some local days, in the order in which they are published.

    Most of them are published within the hour, each seventeenth is late.

    Returns:
        `origin`, `measured` and `published` (UTC), `wind` (miles per hour), `late`.
    """
    table = pd.read_csv(package_file("weather.csv"), usecols=["origin", "month", "day", "wind_speed", "time_hour"])
    measured = pd.to_datetime(table["time_hour"], utc=True)
    day = measured.dt.tz_convert("America/New_York").dt.strftime("%F")
    table = table.assign(measured=measured, wind=table["wind_speed"].round(1))[(day >= first) & (day <= last)]
    table = table.dropna(subset=["wind"]).sort_values(["measured", "origin"]).reset_index(drop=True)
    minutes = table.index.to_series() * 7 % 50
    minutes = minutes.where(table.index.to_series() % 17 != 3, 75)
    table["published"] = table["measured"] + pd.to_timedelta(minutes, unit="min")
    table["late"] = table["published"] - table["measured"] > LATE_AFTER
    return table.sort_values(["published", "origin"])[["origin", "measured", "published", "wind", "late"]]


def values(table: pd.DataFrame) -> list[tuple[int, bytes]]:
    """Return partition and value of each record, in order."""
    rows = zip(table["origin"], table["measured"], table["published"], table["wind"], strict=True)
    return [
        (
            ("EWR", "JFK", "LGA").index(origin) % PARTITIONS,
            json.dumps(
                {
                    "origin": origin,
                    "measured_at": f"{measured:%FT%TZ}",
                    "published_at": f"{published:%FT%TZ}",
                    "wind": wind,
                }
            ).encode(),
        )
        for origin, measured, published, wind in rows
    ]
