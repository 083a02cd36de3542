"""The specs of the pipelines that read the flights and the weather: one per shape."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sluice.specs.model.model import PipelineSpec
from tests.shapes.specs import IN_SQL
from tests.shapes.weather import TOPIC

PREFIX = "joined_"
_FLIGHT = {"keys": ["flight_id"]}
_SHAPES: dict[str, tuple[Mapping[str, object], Mapping[str, str], Mapping[str, str]]] = {
    "inner": (_FLIGHT, {}, {"lookback": "90 minutes"}),
    "left": (_FLIGHT, {}, {"lookback": "90 minutes"}),
    "anti": (_FLIGHT, {}, {"lookback": "90 minutes"}),
    "semi": (_FLIGHT, {}, {"lookahead": "2 hours"}),
    "following": ({"keys": ["origin"]}, {"lookahead": "90 minutes"}, {}),
    "union": ({"window": "1 hour", "keys": ["kind"]}, {}, {}),
}
"""Of each shape: keys of its output, of the flights and of the weather as sources."""
_SHAPES |= {f"{name}{IN_SQL}": _SHAPES[name] for name in ("inner", "union")}

JOINED = tuple(f"{PREFIX}{name}" for name in _SHAPES)


def joined_document(shape: str, **declared: Mapping[str, str]) -> dict[str, object]:
    """Return the spec of a shape, as its file would hold it, with other values of some keys of its sources."""
    name = shape.removeprefix(PREFIX)
    output, flights, weather = _SHAPES[name]
    flown = {"allowed_lateness": "3 hours", "future_skew": "60 minutes", "arrival_disorder": "15 minutes"}
    measured = {"allowed_lateness": "60 minutes", "future_skew": "0 minutes"}
    return {
        "name": shape,
        "sources": {
            "flights": {"topic": "flights", "time": flown, **flights, **declared.get("flights", {})},
            "weather": {"topic": TOPIC, "time": measured, **weather, **declared.get("weather", {})},
        },
        "transform": f"{shape}.sql" if shape.endswith(IN_SQL) else f"joined:{name}",
        "output": {"table": shape, "time_column": "at", "interval": "hour", **output},
        "driver": "joined",
        "trigger": "1 seconds",
        "resources": {"cores": 2, "driver_memory": "700m"},
    }


def joined_pipeline(shape: str, **declared: Mapping[str, str]) -> PipelineSpec:
    """Return the spec of a shape, with other values of some keys of its sources."""
    return PipelineSpec.model_validate_json(json.dumps(joined_document(shape, **declared)))
