"""A second topic: the weather at the three airports, hour by hour, as it was measured, and published a while later.

Its values are framed Protobuf, where those of the flights are JSON.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from sluice.specs.model.model import TopicSpec
from tests.oracle import package_file
from tests.protobuf_oracle import classes

TOPIC = "weather"
PARTITIONS = 2
LATE_AFTER = pd.Timedelta("60min")
HEAD = b"\x00\x00\x00\x00\x07\x02\x02"
"""The frame: schema 7, and the second message of its file."""

PROTO = """\
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Report {
  google.protobuf.Timestamp published_at = 1;
  optional double wind = 2;
}
message Measurement {
  enum Airport { EWR = 0; JFK = 1; LGA = 2; }
  Airport origin = 1;
  int64 measured = 2;
  Report report = 3;
  bool heartbeat = 4;
}
"""
DOCUMENT = {
    "name": TOPIC,
    "partitions": PARTITIONS,
    "retention": "forever",
    "value": {
        "format": "protobuf",
        "message": "Measurement",
        "framing": "confluent",
        "schemas": {"7": 1},
        "event_time": "measured_at",
        "arrival_time": "published_at",
        "heartbeat": "heartbeat",
        "fields": {
            "origin": {"type": "string", "required": True},
            "measured_at": {"type": "timestamp", "required": True, "epoch": "seconds", "path": "$.measured"},
            "published_at": {"type": "timestamp", "required": True, "path": "$.report.published_at"},
            "wind": {"type": "double", "minimum": 0, "path": "$.report.wind"},
            "heartbeat": {"type": "boolean"},
        },
    },
    "raw": {"table": "weather_raw", "driver": "weather"},
}


def write_specs(include: Path, **more: object) -> None:
    """Write the topic's spec, with other values of some keys, and its contract."""
    (include / "topics" / f"{TOPIC}.yaml").write_text(json.dumps({**DOCUMENT, **more}), encoding="utf-8")
    contract = include / "schemas" / TOPIC
    contract.mkdir(parents=True, exist_ok=True)
    (contract / "1.proto").write_text(PROTO, encoding="utf-8")


def topic(folder: Path) -> TopicSpec:
    """Return the topic's spec as the loader leaves it.

    Args:
        folder: where specs may be written.
    """
    (folder / "topics").mkdir(parents=True, exist_ok=True)
    write_specs(folder)
    spec = TopicSpec.model_validate(DOCUMENT)
    return spec.model_copy(update={"value": spec.value.with_schemas(folder / "schemas" / TOPIC)})


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
            AIRPORTS.index(origin) % PARTITIONS,
            _value(origin=AIRPORTS.index(origin), measured=at, published=then, wind=wind),
        )
        for origin, at, then, wind in rows
    ]


AIRPORTS = ("EWR", "JFK", "LGA")


def heartbeat(at: str) -> bytes:
    """Return the value of a record that only moves times."""
    return _value(origin=0, measured=pd.Timestamp(at), published=pd.Timestamp(at), heartbeat=True)


def _value(*, measured: pd.Timestamp, published: pd.Timestamp, wind: float | None = None, **more: object) -> bytes:
    message: Any = _measurement()(measured=int(measured.timestamp()), **more)
    message.report.published_at.FromDatetime(published.to_pydatetime())
    if wind is not None:
        message.report.wind = wind
    return HEAD + bytes(message.SerializeToString())


@cache
def _measurement() -> Any:  # noqa: ANN401 - a class that is made of text
    return classes(PROTO)["Measurement"]
