"""The specs of the pipelines: one per shape, all over the flights."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sluice.specs.model.model import PipelineSpec

_OUTPUTS: dict[str, Mapping[str, object]] = {
    "hours": {"window": "1 hour", "keys": ["origin"]},
    "hopping": {"window": "1 hour", "lookahead": "40 minutes", "keys": ["origin"]},
    "rolling": {"window": "3 hours", "lookback": "3 hours", "keys": ["origin"]},
    "half_days": {"window": "12 hours", "lookahead": "11 hours", "keys": ["origin"]},
    "local_days": {"lookahead": "25 hours", "keys": ["carrier"]},
    "sessions": {"lookback": "1 hour", "since_column": "since", "keys": ["origin", "carrier"]},
    "busiest": {"window": "1 hour", "keys": ["rank"]},
    "pauses": {"lookback": "6 hours", "lookahead": "6 hours", "keys": ["flight_id"]},
    "carriers": {"window": "1 hour", "keys": ["origin"]},
    "once": {"lookback": "1 day", "keys": ["flight_id"]},
    "delayed": {"keys": ["flight_id"]},
}
IN_SQL = "_in_sql"
"""What the names end in of shapes that are written in SQL, too."""
_OUTPUTS |= {f"{name}{IN_SQL}": _OUTPUTS[name] for name in ("hopping", "sessions", "busiest", "pauses")}

SHAPES = tuple(_OUTPUTS)

_WHOLE: Mapping[str, Mapping[str, object]] = {
    "standings": {"scope": "interval", "keys": ["flight_id"]},
    "totals": {"scope": "interval"},
}
"""Transforms over all records of an interval, which must be given those of one at a time."""

_FAULTY: Mapping[str, Mapping[str, object]] = {
    "by_order": {"window": "1 hour", "keys": ["origin"]},
    "by_cut": {"keys": ["flight_id"]},
    "by_chance": {"keys": ["flight_id"]},
    "by_other_days": {"keys": ["flight_id"]},
}
"""Transforms that give no rows of an interval that are the same however they are computed."""


def pipeline_document(shape: str, **declared: str) -> dict[str, object]:
    """Return the spec of a shape, as its file would hold it, with other values of some keys of its output."""
    return {
        "name": shape,
        "source": "flights",
        "transform": _transform(shape),
        "time": {"allowed_lateness": "3 hours", "future_skew": "60 minutes", "arrival_disorder": "15 minutes"},
        "output": {
            "table": shape,
            "time_column": "at",
            "interval": "hour",
            **{**_OUTPUTS, **_WHOLE, **_FAULTY}[shape],
            **dict(declared),
        },
        "driver": "flights",
        "trigger": "1 seconds",
        "resources": {"cores": 2, "driver_memory": "700m"},
    }


def _transform(shape: str) -> str:
    if shape.endswith(IN_SQL):
        return f"{shape}.sql"
    return f"{'faulty' if shape in _FAULTY else 'shapes'}:{shape}"


def pipeline_of(shape: str, **declared: str) -> PipelineSpec:
    """Return the spec of a shape, with other values of some keys of its output."""
    return PipelineSpec.model_validate_json(json.dumps(pipeline_document(shape, **declared)))
