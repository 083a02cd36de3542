"""Loads of a driver whose true cost is known, as they would be measured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sluice.capacity.load import BatchTime, LoadWindow
from sluice.capacity.measured import MeasuredUnit, StoredBytes
from sluice.streams.health.batch_log import BatchFigures, append_batch

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
BASE, EACH = 0.2, 4e-5
"""Cores whatever comes, and CPU seconds per record."""
FIXED, OF_BATCH, CORES = 0.4, 2e-5, 2
"""Seconds of a batch, and further ones per record with two cores."""
RATES = (1_000, 2_000, 4_000, 5_000, 3_000, 1_500, 2_500, 4_500, 3_500, 2_000, 1_000, 5_000)
TRIGGER = 5.0


def windows(rates: Sequence[float] = RATES, *, base: float = BASE, each: float = EACH) -> list[LoadWindow]:
    """Return a window of ten seconds for each rate."""
    return [
        LoadWindow(BEGIN + timedelta(seconds=10 * number), 10.0, 10 * (base + each * rate), round(10 * rate), 2)
        for number, rate in enumerate(rates)
    ]


def measured(rates: Sequence[float] = RATES, **more: Any) -> MeasuredUnit:  # noqa: ANN401 - of any field
    """Return a driver with one stream; `more` replaces what it has."""
    times = [BatchTime(round(TRIGGER * rate), FIXED + OF_BATCH * TRIGGER * rate) for rate in rates]
    of_unit: dict[str, Any] = {
        "unit": "flights",
        "pipeline": "departures",
        "windows": windows(rates),
        "batch_times": {"raw_flights": times},
        "triggers": {"raw_flights": TRIGGER},
        "shown": "raw_flights",
        "cores": CORES,
        "tasks": 12,
        "state_bytes": 1e8,
        "memory_bytes": 1.5e9,
        "heap_used": 4e8,
        "heap_max": 1e9,
        "stored": (StoredBytes("raw table", 4e8, 1_000_000, None), StoredBytes("topic", 2e9, 1_000_000, 86_400.0)),
    }
    return MeasuredUnit(**{**of_unit, **more})


def log(
    rates: Sequence[float], *, generation: int = 1, start: datetime = BEGIN, base: float = BASE, each: float = EACH
) -> list[BatchFigures]:
    """Return the log of a stream with a batch each five seconds: as many seconds each at these rates."""
    found, cpu, read = [], 10.0, 0
    for number, rate in enumerate(rates):
        records = round(TRIGGER * rate)
        cpu, read = cpu + TRIGGER * base + each * records, read + records
        found.append(
            BatchFigures(
                number=number,
                generation=generation,
                at=start + timedelta(seconds=TRIGGER * number),
                rows=records,
                phases={"triggerExecution": 1000 * (FIXED + OF_BATCH * records)},
                cpu_seconds=cpu,
                read=read,
            )
        )
    return found


def keep_log(file: Path, batches: Sequence[BatchFigures]) -> None:
    """Write a log as a driver does."""
    for batch in batches:
        values = {
            "batch_id": batch.number,
            "generation": batch.generation,
            "at": batch.at.isoformat(),
            "rows": batch.rows,
            "duration_ms": dict(batch.phases),
            "cpu_seconds": batch.cpu_seconds,
            "read": batch.read,
            "state_bytes": 5_000_000,
            "memory_bytes": 1e9 + batch.number,
            "jvm": {"heap_used_bytes": 2e8, "heap_max_bytes": 7e8},
        }
        append_batch(file, values)
