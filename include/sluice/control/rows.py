"""Rows of the control database as values of the core."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from sluice.streams.deadline_record import Deadline, DeadlineRecord
from sluice.streams.failure import FailureClass
from sluice.streams.registry import Attempt, AttemptState, Desired, DesiredState, RecordedVerdict
from sluice.streams.verdict import Health, Verdict


def wish_of(row: Row[Any]) -> DesiredState:
    """Return a row of `desired_state`."""
    return DesiredState(row.unit, Desired(row.state), row.asked_by, row.why, row.at)


def attempt_of(row: Row[Any]) -> Attempt:
    """Return a row of `attempt`."""
    return Attempt(
        unit=row.unit,
        generation=row.generation,
        key=row.key,
        state=AttemptState(row.state),
        intended_at=row.intended_at,
        bound_at=row.bound_at,
        ended_at=row.ended_at,
        exit_code=row.exit_code,
        reason=row.reason,
        failure=None if row.failure is None else FailureClass(row.failure),
    )


def verdict_of(row: Row[Any]) -> RecordedVerdict:
    """Return a row of `verdict`."""
    given = Verdict(
        health=Health(row.health),
        why=row.why,
        what_to_do=row.what_to_do,
        lag_records=row.lag_records,
        batches=row.batches,
        committed_at=row.committed_at,
        completeness=row.completeness,
        lag_seconds=row.lag_seconds,
        watermark_lag_seconds=row.watermark_lag_seconds,
        catch_up_seconds=row.catch_up_seconds,
        loss_seconds=row.loss_seconds,
    )
    return RecordedVerdict(row.unit, row.stream, row.generation, given, row.at)


def deadline_record_of(row: Row[Any]) -> DeadlineRecord:
    """Return a row of `deadline`."""
    return DeadlineRecord(
        unit=row.unit,
        stream=row.stream,
        deadline=Deadline(row.deadline),
        version=row.version,
        missed=row.missed,
        since=row.since,
        claimed_at=row.claimed_at,
        told_at=row.told_at,
    )
