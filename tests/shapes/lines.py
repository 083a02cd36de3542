"""A third topic: the flights once more, as lines of text that a pattern reads."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from tests.oracle import as_known
from tests.shapes.specs import pipeline_document

TOPIC = "flight_lines"
PARTITIONS = 2
LINES = ("lines_hopping",)
_OF = "hopping"
_FORM = "%Y-%m-%dT%H:%M:%SZ"
_DOCUMENT = {
    "name": TOPIC,
    "partitions": PARTITIONS,
    "retention": "forever",
    "value": {
        "format": "text",
        "pattern": r"(?<observed_at>\S+) (?<origin>[A-Z]{3}) flight (?<flight_id>\d+) of (?<scheduled_at>\S+)",
        "event_time": "scheduled_at",
        "arrival_time": "observed_at",
        "fields": {
            "flight_id": {"type": "long", "required": True},
            "origin": {"type": "string", "required": True},
            "scheduled_at": {"type": "timestamp", "required": True},
            "observed_at": {"type": "timestamp", "required": True},
        },
    },
    "raw": {"table": f"{TOPIC}_raw", "driver": TOPIC},
}


def write_topic(include: Path) -> None:
    """Write the topic's spec."""
    (include / "topics" / f"{TOPIC}.yaml").write_text(json.dumps(_DOCUMENT), encoding="utf-8")


def lines_document(shape: str) -> dict[str, object]:
    """Return the spec of a shape, as its file would hold it."""
    return {**pipeline_document(_OF, table=shape), "name": shape, "source": TOPIC}


def shape_of(shape: str) -> str:
    """Return which shape of the flights has the same rows."""
    return shape.removeprefix("lines_")


def lines(flights: pd.DataFrame) -> list[tuple[int, bytes]]:
    """Return partition and line of each flight, in the order in which they became known."""
    rows = as_known(flights)
    return [
        (number % PARTITIONS, f"{known:{_FORM}} {origin} flight {number} of {at:{_FORM}}".encode())
        for number, known, origin, at in zip(
            rows.index, rows["observed"], rows["origin"], rows["scheduled"], strict=True
        )
    ]


def closing(at: str) -> bytes:
    """Return the line of a flight that comes when everything before is known."""
    return f"{at} EWR flight 0 of {at}".encode()
