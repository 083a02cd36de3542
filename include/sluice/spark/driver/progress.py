"""The driver's progress file: one small JSON object per stream, replaced after every micro-batch.

The watcher reads it where it can; it proves nothing by its absence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from sluice.observability.logs import get_logger
from sluice.spark.records.quarantine_counts import quarantined_in
from sluice.streams.failures.failure import Failure, to_record
from sluice.streams.health.batch_log import append_batch

log = get_logger()

_WORK = "addBatch"
"""Spark's name for the phase that an idle stream has none of."""


def _uncounted() -> None:
    """Counts nothing."""


class ProgressFile:
    """Writes the newest progress of one stream, if it is newer than what was written, and keeps a log of its batches.

    Args:
        path: the file with the newest progress.
        identity: what else is in it.
        log: the file with the batches; see `sluice.streams.health.batch_log`.
        cpu: returns the processor time that the driver has used, in seconds.
        jvm: returns what its JVM says of itself.
        process: returns what else is known of the driver, by its name in the log.
    """

    def __init__(
        self,
        path: Path,
        identity: dict[str, Any],
        log: Path | None = None,
        cpu: Callable[[], float | None] = _uncounted,
        *,
        jvm: Callable[[], Mapping[str, float] | None] = _uncounted,
        process: Callable[[], Mapping[str, float | None]] = dict,
    ) -> None:
        self._path = path
        self._identity = identity
        self._log = log
        self._cpu = cpu
        self._jvm = jvm
        self._process = process
        self._written: tuple[int, str] | None = None
        self._ended = False
        self._began_at: int | None = None
        self._newest: dict[str, Any] = {}

    def update(self, progress: StreamingQueryProgress) -> None:
        """Write a query's newest progress, unless it is written already."""
        data = json.loads(progress.json)
        key = (data["batchId"], data["timestamp"])
        if key == self._written or self._ended:
            return
        selected = _selected(data)
        replace_if_possible(self._path, {**self._identity, **selected})
        self._written, self._newest = key, selected
        if self._log is not None and _WORK in data.get("durationMs", {}):  # while it is idle, there is no batch
            began = self._began_at = _position(data, "startOffset") if self._began_at is None else self._began_at
            read = None if (end := _position(data, "endOffset")) is None or began is None else end - began
            figures = {"cpu_seconds": self._cpu(), "read": read, "jvm": self._jvm(), **self._process()}
            _keep(self._log, {"generation": self._identity.get("generation"), **selected, **figures})

    def end(self, failure: Failure) -> None:
        """Write that the stream has ended alone, and why: its driver goes on, so no exit code says it."""
        self._ended = True
        replace_if_possible(self._path, {**self._identity, "at": failure.at.isoformat(), "ended": to_record(failure)})

    def complete(self, at: datetime) -> None:
        """Write that the stream has read what was there when its driver started, and has ended."""
        self._ended = True
        replace_if_possible(self._path, {**self._identity, **self._newest, "at": at.isoformat(), "done": True})

    def go_on(self) -> None:
        """Write again: the stream was started once more."""
        self._ended = False


def _keep(file: Path, batch: dict[str, Any]) -> None:
    try:
        append_batch(file, batch)
    except OSError as error:
        log.warning("cannot record the batch; the stream continues", file=str(file), why=str(error))


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
        "state_bytes": sum(operator.get("memoryUsedBytes", 0) for operator in data.get("stateOperators", [])),
        "dropped_by_watermark": sum(o.get("numRowsDroppedByWatermark", 0) for o in data.get("stateOperators", [])),
        "quarantined": quarantined_in(data),
        "lag_records": _lag(data.get("sources", [])),
    }


def _position(data: dict[str, Any], edge: str) -> int | None:
    """Return the sum of a batch's offsets at one edge; None where Spark does not say them."""
    total = 0
    for source in data.get("sources", []):
        if not isinstance(offsets := source.get(edge), dict):
            return None
        total += sum(sum(partitions.values()) for partitions in offsets.values())
    return total


def _lag(sources: list[dict[str, Any]]) -> int | None:
    """Return how many records were there when the batch was planned, and are not in it."""
    lag = 0
    for source in sources:
        latest, end = source.get("latestOffset"), source.get("endOffset")
        if not isinstance(latest, dict) or not isinstance(end, dict):
            return None
        for topic, offsets in latest.items():
            lag += sum(max(0, offset - end.get(topic, {}).get(partition, 0)) for partition, offset in offsets.items())
    return lag if sources else None


def replace_if_possible(path: Path, data: dict[str, Any]) -> bool:
    """Replace a file if that is possible: a driver does not end for want of one that proves nothing by its absence.

    Returns:
        whether it did.
    """
    try:
        replace_json(path, data)
    except OSError as error:
        log.warning("cannot write the progress; the stream continues", file=str(path), why=str(error))
        return False
    return True


def replace_json(path: Path, data: dict[str, Any]) -> None:
    """Replace a JSON file so that a reader sees the old or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(json.dumps(data, sort_keys=True), encoding="utf-8")
    draft.replace(path)
