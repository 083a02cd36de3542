"""Observes an imagined stream with one partition, in seconds after `START`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sluice.streams.health.observation import Observation
from sluice.streams.health.window import Window
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.position.checkpoint import CommittedBatch, PlannedBatch
from tests.twins.clock import START

PARTITION = "flights/0"
RUNNING = DriverReport("local.flights.g1", DriverState.RUNNING, 7, START - timedelta(days=1))


def moment(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@dataclass(frozen=True)
class Done:
    """A batch: planned and committed at, in seconds, and its end offset."""

    planned: float
    committed: float
    end: int


def observed(
    at: float,
    done: Sequence[Done] = (),
    end: int | None = None,
    *,
    running: tuple[float, int] | None = None,
    **more: Any,  # noqa: ANN401 - any field of Evidence
) -> Observation:
    """Return what an observation shows that sees all these batches.

    Args:
        at: seconds.
        done: oldest first.
        end: the broker's; omitted: the newest batch's.
        running: when the next batch was planned, and its end offset.
        more: further fields of the evidence.
    """
    newest = done[-1] if done else None
    history = tuple(
        CommittedBatch(n, {PARTITION: b.end}, None, moment(b.committed), planned_at=moment(b.planned))
        for n, b in reversed(list(enumerate(done)))
    )
    fields: dict[str, Any] = {
        "at": moment(at),
        "unit": "flights",
        "driver": RUNNING,
        "committed": {PARTITION: newest.end} if newest else {},
        "batches": len(done),
        "committed_at": moment(newest.committed) if newest else None,
        "ends": {PARTITION: end if end is not None else newest.end if newest else 0},
        "starts": {PARTITION: 0},
        "history": history,
        "running": None
        if running is None
        else PlannedBatch(len(done), {PARTITION: running[1]}, None, planned_at=moment(running[0])),
    }
    return Observation(**{**fields, **more})


def window_of(observations: Iterable[Observation]) -> Window:
    """Fold observations into a window."""
    window = Window()
    for seen in observations:
        window = window.add(seen)
    return window


def steadily(
    count: int, *, every: float = 60.0, lasting: float = 20.0, records: int = 600, begin: float = 0.0
) -> list[Done]:
    """Return batches of one size at one pace."""
    return [Done(begin + n * every, begin + n * every + lasting, (n + 1) * records) for n in range(count)]
