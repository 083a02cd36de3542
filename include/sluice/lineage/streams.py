"""The events of a stream: each attempt of its unit is a run of it, which begins, goes on, and ends.

Everything in an event follows from what is on record of the attempt, so that several watchers of one attempt, and one
that begins anew, tell the same: the same run, the same times, the same end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sluice.lineage.event import Dataset, Event, EventType, Facet, LineageJob
from sluice.lineage.facets import (
    Processing,
    documentation,
    error_message,
    job_type,
    ownership,
    processing_engine,
    rows_read,
    state,
    version,
)
from sluice.lineage.identity import run_id
from sluice.streams.failures.failure import Failure, FailureClass, recorded_class
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState


@dataclass(frozen=True)
class StreamJob:
    """A stream, as far as an attempt does not change it.

    Attributes:
        namespace: of our jobs.
        deployment: where it runs.
        unit: its driver's name in the specs.
        stream: its name.
        engine: version of Spark.
        topic: what it reads.
        beside: what else it reads.
        outputs: what it writes.
        owner: who answers for it; empty if nobody is named.
        description: what it is for; empty if nobody said.
    """

    namespace: str
    deployment: str
    unit: str
    stream: str
    engine: str
    topic: Dataset
    beside: tuple[Dataset, ...] = ()
    outputs: tuple[Dataset, ...] = ()
    owner: str = ""
    description: str = ""

    @property
    def job(self) -> LineageJob:
        """The job, named `stream.<its name>`."""
        facets = [job_type(Processing.STREAMING, "STREAM")]
        facets += [ownership(self.owner)] if self.owner else []
        facets += [documentation(self.description)] if self.description else []
        return LineageJob(self.namespace, f"stream.{self.stream}", tuple(facets))

    def run(self, attempt: Attempt) -> UUID:
        """Return the id of an attempt's run of this stream."""
        return run_id(attempt.intended_at, f"{self.namespace}/{self.deployment}/{attempt.key}/{self.stream}")


def began(job: StreamJob, attempt: Attempt) -> Event:
    """Return the first event: the launcher confirmed the driver, or it died before that could be."""
    engine = processing_engine(job.engine)
    return _event(job, attempt, EventType.START, begin_of(attempt), (engine, _state(job, attempt)))


def goes_on(job: StreamJob, attempt: Attempt, at: datetime, verdict: Verdict, read: int | None = None) -> Event:
    """Return what is told now and then.

    Args:
        job: the stream.
        attempt: its newest.
        at: when it was looked at (UTC).
        verdict: what was made of that.
        read: records that it has read since its driver began; None where nobody knows.
    """
    seen = _state(
        job,
        attempt,
        verdict=verdict.health.value,
        why=verdict.why,
        lagRecords=verdict.lag_records,
        lagSeconds=verdict.lag_seconds,
    )
    return _event(_having_read(job, read), attempt, EventType.RUNNING, at, (seen,))


def ended(
    job: StreamJob, attempt: Attempt, alone: Failure | None = None, versions: Mapping[str, int] | None = None
) -> Event:
    """Return the last event.

    Args:
        job: the stream.
        attempt: it has ended, unless `alone` says that only this stream has.
        alone: why the stream ended before its driver did; None if it did not.
        versions: by the name of a table, the last version that this attempt has made.
    """
    said = _state(job, attempt)
    made = versions or {}
    outputs = tuple(
        replace(each, facets=(*each.facets, version(made[each.name]))) if each.name in made else each
        for each in job.outputs
    )
    job = replace(job, outputs=outputs)
    if alone is not None:
        return _event(job, attempt, EventType.FAIL, alone.at, (said, error_message(str(alone))))
    kind = end_of(recorded_class(attempt.failure, attempt.exit_code))
    why = () if kind is EventType.COMPLETE else (error_message(attempt.reason or "it ended, and nobody knows why"),)
    return _event(job, attempt, kind, attempt.ended_at or begin_of(attempt), (said, *why))


def begin_of(attempt: Attempt) -> datetime:
    """Return when an attempt's run began: it never changes once the attempt is bound or has ended."""
    return attempt.bound_at or attempt.intended_at


def has_begun(attempt: Attempt) -> bool:
    """Whether there is a run to tell of: an attempt that waits for room is none yet."""
    return attempt.state is not AttemptState.INTENT


_ABORTED = frozenset({FailureClass.FENCED, FailureClass.FORCED})
"""Another driver took over, or a person declared it dead: it did not fail at what it does."""


def end_of(failure: FailureClass) -> EventType:
    """Return how an end is told: stopped as asked, cut off from outside, or failed."""
    if failure is FailureClass.STOPPED:
        return EventType.COMPLETE
    return EventType.ABORT if failure in _ABORTED else EventType.FAIL


def _event(job: StreamJob, attempt: Attempt, kind: EventType, at: datetime, facets: tuple[Facet, ...]) -> Event:
    return Event(kind, at, job.run(attempt), job.job, facets, (job.topic, *job.beside), job.outputs)


def _state(job: StreamJob, attempt: Attempt, **more: str | float | None) -> Facet:
    return state(deployment=job.deployment, unit=job.unit, generation=attempt.generation, **more)


def _having_read(job: StreamJob, read: int | None) -> StreamJob:
    return job if read is None else replace(job, topic=replace(job.topic, use=(rows_read(read),)))
