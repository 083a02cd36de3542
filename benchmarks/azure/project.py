"""The project of the benchmark `azure`: a topic of nested telemetry, its raw table, and each event once in a topic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.azure.telemetry import DOUBLES, TYPES
from benchmarks.project_copy import own_project

TOPIC, RAW, UNIT, RESULTS = "telemetry", "telemetry_raw", "telemetry", "telemetry_once"
PARTITIONS = 4
_STAMPED = {"message.timestamp.type": "LogAppendTime"}

_TOPIC: dict[str, Any] = {
    "name": TOPIC,
    "partitions": PARTITIONS,
    "retention": "forever",
    "configs": _STAMPED,
    "value": {
        "format": "json",
        "event_time": "created_at",
        "arrival_time": "broker",
        "event_id": ["event_id"],
        "fields": {
            "event_id": {"type": "string", "required": True, "path": "$.eventId"},
            "device_id": {"type": "string", "required": True, "path": "$.deviceId"},
            "sequence_number": {"type": "long", "required": True, "minimum": 0, "path": "$.deviceSequenceNumber"},
            "type": {"type": "string", "required": True, "one_of": list(TYPES)},
            "value": {"type": "double", "required": True, "minimum": 0, "maximum": 1},
            "created_at": {"type": "timestamp", "required": True, "path": "$.createdAt"},
            **{
                f"more_data_{number}": {"type": "double", "required": True, "path": f"$.complexData.moreData{number}"}
                for number in range(1, DOUBLES + 1)
            },
        },
    },
    "raw": {"table": RAW, "driver": UNIT},
}
_PIPELINE = {
    "name": "telemetry_once",
    "source": TOPIC,
    "transform": "telemetry:once",
    "time": {"allowed_lateness": "20 seconds", "future_skew": "5 seconds"},
    "driver": UNIT,
    # The raw table need not hurry: it gets a commit each five seconds.
    "lane": "latency",
    "outputs": [
        {
            "kind": "topic",
            "topic": RESULTS,
            "keys": ["event_id"],
            "create": {"partitions": PARTITIONS, "configs": _STAMPED},
        }
    ],
}
_TRANSFORM = '''\
"""Events, each once."""

from pyspark.sql import DataFrame


def once(telemetry: DataFrame) -> DataFrame:
    """Leave out what a producer has sent again."""
    return telemetry.dropDuplicates(["event_id", "created_at"])
'''


def write_project(home: Path, **changes: str) -> None:
    """Write it; `changes` are other values of keys of its pipeline's spec."""
    files = {
        f"include/topics/{TOPIC}.yaml": json.dumps(_TOPIC),
        f"include/pipelines/{_PIPELINE['name']}.yaml": json.dumps({**_PIPELINE, **changes}),
        "spark_jobs/transforms/telemetry.py": _TRANSFORM,
    }
    own_project(home, files)
