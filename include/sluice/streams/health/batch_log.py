"""The batches of a stream as its driver saw them, one JSON object per line: what its rates and times are drawn from.

It is bounded: a full file becomes the older of two. It proves nothing by what it lacks: a driver checks four times a
second, so that of many short batches some are missing, and it goes on where it cannot write.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

MAX_BYTES = 512 * 1024
"""Of one file: some thousand batches."""
_TAIL_BYTES = 2048
"""The last line is in it, whole."""


@dataclass(frozen=True)
class BatchFigures:
    """One batch.

    Attributes:
        number: of the batch in its checkpoint.
        generation: the attempt that ran it.
        at: when it was planned (UTC).
        rows: records that it read.
        input_rate: records per second that came since the batch before; None for the first.
        process_rate: records per second while it worked.
        phases: milliseconds by Spark's names; `triggerExecution` is the whole.
        watermark: the watermark that it evicted by (UTC); None without one.
        state_rows: rows in state after it.
        state_bytes: memory of the state.
        late_rows: rows that it dropped because their window was closed.
        lag_records: records that were there and that it did not read; None where Spark does not say.
        cpu_seconds: of the driver's process and all below it since it began; None if it is not counted.
        read: records that the stream has read since its driver began, by offsets; None where that is not known.
        quarantined: records that it quarantined, by reason; None where its driver did not count them.
        jvm: what the driver's JVM said of itself: `heap_used_bytes`, `heap_max_bytes`, `gc_seconds`, `threads`; None if
            it was not asked.
        executor_seconds: that executors of a cluster have worked on tasks since the driver began; None if it has none.
        memory_bytes: of the driver's process and all below it (PSS, at most a minute old); None if it cannot be seen.
    """

    number: int
    generation: int
    at: datetime
    rows: int
    input_rate: float | None = None
    process_rate: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    watermark: datetime | None = None
    state_rows: int = 0
    state_bytes: int = 0
    late_rows: int = 0
    lag_records: int | None = None
    cpu_seconds: float | None = None
    read: int | None = None
    quarantined: Mapping[str, int] | None = None
    jvm: Mapping[str, float] | None = None
    executor_seconds: float | None = None
    memory_bytes: float | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        whole = self.phases.get("triggerExecution")
        return None if whole is None else whole / 1000


def append_batch(file: Path, values: Mapping[str, Any], *, max_bytes: int = MAX_BYTES) -> None:
    """Add a line of what `batches` reads to the newer of the two files, and begin a new one where that is full.

    Raises:
        OSError: it cannot be written.
    """
    line = json.dumps(values, separators=(",", ":")) + "\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and file.stat().st_size + len(line) > max_bytes:
        file.replace(older(file))
    with file.open("a", encoding="utf-8") as opened:
        opened.write(line)


def older(file: Path) -> Path:
    """Return the file that the lines of a full one are in."""
    return file.with_suffix(".old.jsonl")


def batches(file: Path, *, most: int = 1000) -> Sequence[BatchFigures]:
    """Return the newest batches, oldest first. Lines that are torn or cannot be parsed are left out."""
    lines = _lines(file)
    if len(lines) < most:
        lines = [*_lines(older(file)), *lines]
    return [figures for line in lines[-most:] if (figures := _figures(line)) is not None]


def newest_batch(file: Path) -> BatchFigures | None:
    """Return the newest batch alone, which costs a small part of reading all; None if there is none."""
    rows = [figures for line in _lines(file, _TAIL_BYTES) if (figures := _figures(line)) is not None]
    return rows[-1] if rows else None


def _lines(file: Path, max_bytes: int = 2 * MAX_BYTES) -> list[bytes]:
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(0, size - max_bytes))
            return opened.read().splitlines()
    except OSError:
        return []


def _figures(line: bytes) -> BatchFigures | None:
    try:
        fields = json.loads(line)
        return BatchFigures(
            number=int(fields["batch_id"]),
            generation=int(fields["generation"]),
            at=datetime.fromisoformat(fields["at"]),
            rows=int(fields["rows"]),
            input_rate=_number(fields.get("input_rows_per_second")),
            process_rate=_number(fields.get("processed_rows_per_second")),
            phases={str(name): float(value) for name, value in dict(fields.get("duration_ms") or {}).items()},
            watermark=_instant(fields.get("watermark")),
            state_rows=int(fields.get("state_rows") or 0),
            state_bytes=int(fields.get("state_bytes") or 0),
            late_rows=int(fields.get("dropped_by_watermark") or 0),
            quarantined=_counts(fields.get("quarantined")),
            lag_records=None if fields.get("lag_records") is None else int(fields["lag_records"]),
            cpu_seconds=_number(fields.get("cpu_seconds")),
            read=None if fields.get("read") is None else int(fields["read"]),
            jvm=_measures(fields.get("jvm")),
            executor_seconds=_number(fields.get("executor_seconds")),
            memory_bytes=_number(fields.get("memory_bytes")),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _counts(value: object) -> Mapping[str, int] | None:
    return {str(name): int(count) for name, count in value.items()} if isinstance(value, dict) else None


def _measures(value: object) -> Mapping[str, float] | None:
    return {str(name): float(measure) for name, measure in value.items()} if isinstance(value, dict) else None


def quarantined(batches: Sequence[BatchFigures]) -> Mapping[str, int] | None:
    """Return how many records these batches quarantined by reason, most first; None if no driver counted them.

    A batch that is repeated after a crash counts once, as it was done last.
    """
    counted = [each for each in batches if each.quarantined is not None]
    total = Counter[str]()
    for each, after in zip_longest(counted, counted[1:]):
        if after is None or after.number != each.number:
            total.update(each.quarantined or {})
    return dict(total.most_common()) if counted else None


def _number(value: object) -> float | None:
    """Return a finite number; Spark says NaN of a first batch's rates."""
    if not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < float("inf") else None


def _instant(value: object) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None


def runs(batches: Sequence[BatchFigures]) -> Iterator[Sequence[BatchFigures]]:
    """Yield the batches of each generation, in their order."""
    begin = 0
    for end in range(1, len(batches) + 1):
        if end == len(batches) or batches[end].generation != batches[begin].generation:
            yield batches[begin:end]
            begin = end
