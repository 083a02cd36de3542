"""The driver's progress file: one small JSON object per stream, replaced after every micro-batch.

The watcher reads it where it can; it proves nothing by its absence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import structlog
from pyspark.sql.streaming.listener import StreamingQueryProgress

from sluice.streams.failure import Failure, to_record

log = structlog.get_logger()


class ProgressFile:
    """Writes the newest progress of one stream, if it is newer than what was written."""

    def __init__(self, path: Path, identity: dict[str, Any]) -> None:
        self._path = path
        self._identity = identity
        self._written: tuple[int, str] | None = None
        self._ended = False

    def update(self, progress: StreamingQueryProgress) -> None:
        """Write a query's newest progress, unless it is written already."""
        data = json.loads(progress.json)
        key = (data["batchId"], data["timestamp"])
        if key == self._written or self._ended:
            return
        tell(self._path, {**self._identity, **_selected(data)})
        self._written = key

    def end(self, failure: Failure) -> None:
        """Write that the stream has ended alone, and why: its driver goes on, and nobody asks that for an exit code."""
        self._ended = True
        tell(self._path, {**self._identity, "at": failure.at.isoformat(), "ended": to_record(failure)})


def _selected(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "batch_id": data["batchId"],
        "run": data["runId"],
        "at": data["timestamp"],
        "rows": data["numInputRows"],
        "input_rows_per_second": data.get("inputRowsPerSecond"),
        "processed_rows_per_second": data.get("processedRowsPerSecond"),
        "duration_ms": data.get("durationMs", {}),
        "watermark": data.get("eventTime", {}).get("watermark"),
        "state_rows": sum(operator.get("numRowsTotal", 0) for operator in data.get("stateOperators", [])),
        "dropped_by_watermark": sum(o.get("numRowsDroppedByWatermark", 0) for o in data.get("stateOperators", [])),
    }


def tell(path: Path, data: dict[str, Any]) -> bool:
    """Replace a file if that is possible: a driver does not end for want of one that proves nothing by its absence.

    Returns:
        whether it did.
    """
    try:
        replace_json(path, data)
    except OSError as error:
        log.warning("cannot tell how it goes; it goes on", file=str(path), why=str(error))
        return False
    return True


def replace_json(path: Path, data: dict[str, Any]) -> None:
    """Replace a JSON file so that a reader sees the old or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(json.dumps(data, sort_keys=True), encoding="utf-8")
    draft.replace(path)
