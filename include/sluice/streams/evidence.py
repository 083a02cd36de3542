"""Gathers what can be seen of a unit's streams. What fails becomes None plus a note; a watcher never dies of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Generic, TypeVar

from sluice.errors import SluiceError
from sluice.streams.checkpoint import CommittedBatch
from sluice.streams.launcher import DriverReport, DriverState
from sluice.streams.life import Sighting
from sluice.streams.registry import Attempt, AttemptState, Desired
from sluice.streams.verdict import Evidence

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """Where a stream's progress can be seen.

    Attributes:
        topic: the topic that it reads.
        position: returns the newest committed batch of its checkpoint; None before the first.
    """

    topic: str
    position: Callable[[], CommittedBatch | None]


def gather(
    unit: str,
    sighting: Sighting | None,
    sources: Mapping[str, Source],
    ends: Callable[[str], Mapping[int, int]],
    *,
    at: datetime,
    notes: tuple[str, ...] = (),
) -> Mapping[str, Evidence]:
    """Ask every source once, and each topic once.

    Args:
        unit: the unit's name.
        sighting: what is recorded and seen of its driver; None if the control database could not be asked.
        sources: by stream name.
        ends: returns the end offset per partition of a topic.
        at: the present (UTC).
        notes: why `sighting` is None.

    Returns:
        the evidence by stream name.
    """
    driver, driver_notes = (None, notes) if sighting is None else _driver(sighting)
    # All positions before any end: the other way round, a batch in between would look like a commit beyond the end.
    positions = {stream: _ask("checkpoint", source.position) for stream, source in sources.items()}
    ends_of = cache(lambda topic: _ask("broker", lambda: ends(topic)))
    return {
        stream: _evidence(
            Evidence(
                at=at,
                unit=unit,
                driver=driver,
                committed=None,
                stop_wanted=sighting is not None and _stop_wanted(sighting),
                notes=driver_notes,
            ),
            source.topic,
            positions[stream],
            ends_of(source.topic),
        )
        for stream, source in sources.items()
    }


@dataclass(frozen=True)
class _Answer(Generic[T]):
    """What a source said, or why it said nothing."""

    value: T | None = None
    notes: tuple[str, ...] = ()


def _ask(source: str, question: Callable[[], T]) -> _Answer[T]:
    try:
        return _Answer(question())
    except SluiceError as error:
        return _Answer(notes=(str(error),))
    except Exception as error:  # noqa: BLE001 - whatever a source does, the other sources must still be heard
        return _Answer(notes=(f"{source}: {type(error).__name__}: {error}",))


def _evidence(
    base: Evidence, topic: str, position: _Answer[CommittedBatch | None], ends: _Answer[Mapping[int, int]]
) -> Evidence:
    batch = position.value
    return replace(
        base,
        committed=None if position.notes else {} if batch is None else batch.offsets,
        batches=0 if batch is None else batch.batch_id + 1,
        committed_at=None if batch is None else batch.committed_at,
        ends=None if ends.value is None else {f"{topic}/{p}": end for p, end in ends.value.items()},
        notes=(*base.notes, *position.notes, *ends.notes),
    )


def _stop_wanted(sighting: Sighting) -> bool:
    return sighting.desired is not None and sighting.desired.state is Desired.STOPPED


def _driver(sighting: Sighting) -> tuple[DriverReport | None, tuple[str, ...]]:
    """Return what is known of the driver for certain: seen by the launcher, or on record as ended."""
    attempt, report = sighting.attempt, sighting.report
    if attempt is None:
        return DriverReport(sighting.unit, DriverState.ABSENT), sighting.notes
    if attempt.state is AttemptState.ENDED and not sighting.alive:
        return _recorded_end(attempt), sighting.notes
    if attempt.state is AttemptState.BOUND and report is not None and report.state is DriverState.ABSENT:
        return None, (*sighting.notes, f"the launcher has no trace of {attempt.key}, which it started")
    return report, sighting.notes


def _recorded_end(attempt: Attempt) -> DriverReport:
    state = DriverState.LOST if attempt.exit_code is None else DriverState.ENDED
    return DriverReport(
        attempt.key, state, started_at=attempt.bound_at, ended_at=attempt.ended_at, exit_code=attempt.exit_code
    )
