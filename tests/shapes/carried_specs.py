"""The specs of the pipelines whose intervals hand on tables, and what each must produce."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pandas as pd

from sluice.specs.model.model import PipelineSpec
from tests.shapes.specs import pipeline_document

_CARRIES: Mapping[str, tuple[list[str], Mapping[str, object]]] = {
    "running": (["carrier"], {"counted": {"keys": ["carrier"], "columns": {"carrier": "string", "flights": "long"}}}),
    "first_seen": (
        ["carrier", "origin"],
        {
            "seen": {
                "keys": ["carrier", "origin"],
                "columns": {"carrier": "string", "origin": "string", "since": "timestamp"},
            },
            "fleets": {"keys": ["carrier"], "columns": {"carrier": "string", "origins": "array<string>"}},
        },
    ),
    "turns": (
        ["flight_id"],
        {
            "fleet": {
                "keys": ["carrier"],
                "columns": {"carrier": "string", "number": "long", "at": "timestamp", "origins": "array<string>"},
            }
        },
    ),
}
"""Of each shape: the keys of its rows, and what it carries."""
CARRIED = tuple(_CARRIES)


def carried_document(shape: str) -> dict[str, object]:
    """Return the spec of a shape, as its file would hold it."""
    keys, carries = _CARRIES[shape]
    output = {"table": shape, "time_column": "at", "interval": "hour", "keys": keys, "carries": carries}
    return {**pipeline_document("hours"), "name": shape, "transform": f"carried:{shape}", "output": output}


def carried_pipeline(shape: str) -> PipelineSpec:
    """Return the spec of a shape."""
    return PipelineSpec.model_validate_json(json.dumps(carried_document(shape)))


def running_of(flights: pd.DataFrame) -> pd.DataFrame:
    """Return the running totals of flights, by pandas."""
    hours = flights.groupby(["carrier", "hour_utc"], as_index=False).agg(
        at=("scheduled", "min"), flights=("scheduled", "size")
    )
    hours["flights"] = hours.sort_values("hour_utc").groupby("carrier")["flights"].cumsum()
    return hours[["at", "carrier", "flights"]]


def first_seen_of(flights: pd.DataFrame) -> pd.DataFrame:
    """Return the first flight of each carrier from each airport, by pandas."""
    rows = (
        flights.assign(flight_id=flights.index)
        .sort_values(["scheduled", "flight_id"])
        .drop_duplicates(["carrier", "origin"])
    )
    return rows.rename(columns={"scheduled": "at"})[["at", "carrier", "origin", "flight_id"]]


def turns_of(flights: pd.DataFrame) -> pd.DataFrame:
    """Return what each flight of a carrier follows, by pandas."""
    rows = flights.assign(flight_id=flights.index).sort_values(["scheduled", "flight_id"])
    each = rows.groupby("carrier")
    minutes = each["scheduled"].diff().dt.total_seconds() / 60
    rows = rows.assign(number=each.cumcount() + 1, before=each["origin"].shift(), minutes=minutes)
    return rows.rename(columns={"scheduled": "at"})[["at", "flight_id", "carrier", "number", "before", "minutes"]]


ORACLES = {"running": running_of, "first_seen": first_seen_of, "turns": turns_of}
