"""The events of a stream: each attempt of its unit is a run, which starts, runs, and ends.

An event follows from the attempt's record alone, so two watchers of one attempt, or a restarted one, send the same
event: the same run, the same times, the same end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from openlineage.client.event_v2 import Dataset, Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import RunFacet

from sluice.lineage.datasets import as_input, as_output
from sluice.lineage.facets import (
    PRODUCER,
    SluiceStateRunFacet,
    error_message,
    instant,
    job_facets,
    spark_engine,
)
from sluice.lineage.identity import run_id
from sluice.streams.failures.failure import PLANNED, Failure, FailureClass, recorded_class
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt


@dataclass(frozen=True)
class StreamJob:
    """A stream, as far as an attempt does not change it.

    Attributes:
        namespace: of Sluice's jobs.
        deployment: where it runs.
        unit: its driver's name in the specs.
        stream: its name.
        engine: version of Spark.
        topics: what it reads.
        static: the files that it reads too.
        outputs: what it writes.
        owner: from the spec; empty if it names none.
        description: from the spec; may be empty.
    """

    namespace: str
    deployment: str
    unit: str
    stream: str
    engine: str
    topics: tuple[Dataset, ...]
    static: tuple[Dataset, ...] = ()
    outputs: tuple[Dataset, ...] = ()
    owner: str = ""
    description: str = ""

    def started(self, attempt: Attempt) -> RunEvent:
        """Return the first event: the launcher confirmed the driver, or it died before that."""
        engine = spark_engine(self.engine)
        return self._event(RunState.START, begin_of(attempt), attempt, {"processing_engine": engine})

    def running(self, attempt: Attempt, at: datetime, verdict: Verdict, read: int | None = None) -> RunEvent:
        """Return the event of a run that goes on.

        Args:
            attempt: the unit's newest.
            at: when the stream was observed (UTC).
            verdict: on that observation.
            read: records read since the driver began; None if unknown.
        """
        return self._event(RunState.RUNNING, at, attempt, {}, verdict=verdict, read=read)

    def ended(
        self, attempt: Attempt, alone: Failure | None = None, versions: Mapping[str, int] | None = None
    ) -> RunEvent:
        """Return the last event.

        Args:
            attempt: it has ended, unless `alone` says that only this stream has.
            alone: why the stream ended before its driver did; None if it did not.
            versions: by the name of a table, the last version that this attempt has made.
        """
        if alone is not None:
            kind, at, why = RunState.FAIL, alone.at, str(alone)
        else:
            kind = end_of(recorded_class(attempt.failure, attempt.exit_code))
            at, why = attempt.ended_at or begin_of(attempt), attempt.reason or "it ended for an unknown reason"
        facets: dict[str, RunFacet] = {} if kind is RunState.COMPLETE else {"errorMessage": error_message(why)}
        return self._event(kind, at, attempt, facets, versions=versions)

    def _event(
        self,
        kind: RunState,
        at: datetime,
        attempt: Attempt,
        facets: Mapping[str, RunFacet],
        *,
        verdict: Verdict | None = None,
        read: int | None = None,
        versions: Mapping[str, int] | None = None,
    ) -> RunEvent:
        run = run_id(attempt.intended_at, f"{self.namespace}/{self.deployment}/{attempt.key}/{self.stream}")
        job = job_facets("STREAMING", "STREAM", self.owner, self.description)
        return RunEvent(
            eventType=kind,
            eventTime=instant(at),
            producer=PRODUCER,
            run=Run(str(run), {"sluice_state": self._state(attempt, verdict), **facets}),
            job=Job(self.namespace, f"stream.{self.stream}", job),
            inputs=[*(as_input(topic, read) for topic in self.topics), *map(as_input, self.static)],
            outputs=[as_output(each, version=(versions or {}).get(each.name)) for each in self.outputs],
        )

    def _state(self, attempt: Attempt, verdict: Verdict | None) -> SluiceStateRunFacet:
        state = SluiceStateRunFacet(self.deployment, unit=self.unit, generation=attempt.generation, producer=PRODUCER)
        if verdict is not None:
            state.verdict, state.why = verdict.health.value, verdict.why
            state.lagRecords, state.lagSeconds = verdict.lag_records, verdict.lag_seconds
        return state


def begin_of(attempt: Attempt) -> datetime:
    """Return when an attempt's run began: it never changes once the attempt is bound or has ended."""
    return attempt.bound_at or attempt.intended_at


_ABORTED = frozenset({FailureClass.FENCED, FailureClass.FORCED})
"""Another driver took over, or an operator declared it dead: it did not fail at what it does."""


def end_of(failure: FailureClass) -> RunState:
    """Return the last state of an attempt's run: COMPLETE if ended as asked, ABORT if cut off, or FAIL."""
    if failure is FailureClass.STOPPED or failure in PLANNED:
        return RunState.COMPLETE
    return RunState.ABORT if failure in _ABORTED else RunState.FAIL
