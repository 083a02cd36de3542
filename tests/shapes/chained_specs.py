"""The specs of the pipelines that read the settled table `hours`: one per shape, and what each must produce."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pandas as pd

from sluice.specs.model.model import PipelineSpec
from tests.shapes.specs import IN_SQL

UPSTREAM = "hours"
DAYS = ("days", f"days{IN_SQL}")
_TIME = {"allowed_lateness": "3 hours", "future_skew": "60 minutes", "arrival_disorder": "15 minutes"}
_DAY = {"window": "1 day", "interval": "day", "keys": ["origin"]}
_SHAPES: Mapping[str, tuple[Mapping[str, object], Mapping[str, object]]] = {
    **dict.fromkeys(DAYS, (_DAY, {UPSTREAM: {"table": UPSTREAM}})),
    "crowds": (
        {"interval": "hour", "keys": ["flight_id"]},
        {"flights": {"topic": "flights", "time": _TIME}, UPSTREAM: {"table": UPSTREAM, "lookback": "1 hour"}},
    ),
}
"""Of each shape: keys of its output, and its sources."""


def chained_document(shape: str) -> dict[str, object]:
    """Return the spec of a shape, as its file would hold it."""
    output, sources = _SHAPES[shape]
    return {
        "name": shape,
        "sources": dict(sources),
        "transform": f"{shape}.sql" if shape.endswith(IN_SQL) else f"chained:{shape}",
        "output": {"table": shape, "time_column": "at", **output},
        "driver": "flights",
        "trigger": "1 seconds",
        "resources": {"cores": 2, "driver_memory": "700m"},
    }


def chained_pipeline(shape: str) -> PipelineSpec:
    """Return the spec of a shape."""
    return PipelineSpec.model_validate_json(json.dumps(chained_document(shape)))


def days_of(hours: pd.DataFrame) -> pd.DataFrame:
    """Return what the days of these hours are, by pandas."""
    days = hours.assign(at=hours["at"].dt.floor("D"))
    return days.groupby(["at", "origin"], as_index=False)["flights"].sum()


def crowds_of(flights: pd.DataFrame, hours: pd.DataFrame) -> pd.DataFrame:
    """Return each flight with the flights of the hour before at its airport, by pandas."""
    before = hours.assign(hour=hours["at"] + pd.Timedelta("1h")).rename(columns={"flights": "before"})
    rows = flights.assign(hour=flights["scheduled"].dt.floor("h"), flight_id=flights.index)
    both = rows.merge(before[["hour", "origin", "before"]], on=["hour", "origin"], how="left")
    return both.rename(columns={"scheduled": "at"})[["at", "flight_id", "before"]]
