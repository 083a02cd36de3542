"""The events of runs that end by themselves: backfills, and checks of a published table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from openlineage.client.event_v2 import Dataset, Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import RunFacet

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import Backfill
from sluice.lineage.datasets import as_input, as_output
from sluice.lineage.facets import (
    PRODUCER,
    SluiceStateRunFacet,
    error_message,
    instant,
    job_facets,
    nominal_time,
    parent,
    spark_engine,
)
from sluice.lineage.identity import Parent, run_id
from sluice.lineage.results import BackfillEnd, QualityCheck
from sluice.quality.gate import GateResult

BACKFILL, QUALITY = "backfill", "quality"
_KINDS = {BACKFILL: "BACKFILL", QUALITY: "QUALITY_CHECK"}


@dataclass(frozen=True)
class BatchJob:
    """The backfills and checks of a pipeline, as far as their runs do not differ.

    Attributes:
        namespace: of Sluice's jobs.
        deployment: where it runs.
        pipeline: whose it is.
        engine: version of Spark.
        sources: what results are made from: the raw table and static files.
        table: the interval table.
        owner: from the spec.
        description: from the spec; may be empty.
        parent: the run that started this process; None if it has none.
    """

    namespace: str
    deployment: str
    pipeline: str
    engine: str
    sources: tuple[Dataset, ...]
    table: Dataset
    owner: str
    description: str = ""
    parent: Parent | None = None

    def backfill_started(self, backfill: Backfill) -> RunEvent:
        """Return the first event of a process that has claimed a backfill. A process that resumes it is another run."""
        return self._of_backfill(RunState.START, backfill.claimed_at, backfill, None)

    def backfill_ended(self, backfill: Backfill, end: BackfillEnd) -> RunEvent:
        """Return the last event of that process."""
        kind = RunState.COMPLETE if end.passed else RunState.ABORT if end.cancelled else RunState.FAIL
        return self._of_backfill(kind, end.at, backfill, end)

    def check_started(self, check: QualityCheck) -> RunEvent:
        """Return the first event of a check."""
        return self._of_check(RunState.START, check.began, check)

    def check_ended(self, check: QualityCheck, at: datetime, gate: GateResult | None, why: str = "") -> RunEvent:
        """Return the last event of a check.

        Args:
            check: when it began, and the range that it read.
            at: when it ended (UTC).
            gate: its result; None if it could not be run.
            why: why it could not.
        """
        if gate is not None and gate.passed:
            return self._of_check(RunState.COMPLETE, at, check, gate)
        return self._of_check(RunState.FAIL, at, check, gate, why if gate is None else _failed(gate))

    def _of_backfill(self, kind: RunState, at: datetime, backfill: Backfill, end: BackfillEnd | None) -> RunEvent:
        request = backfill.request
        outcome, gate, published = (None, None, None) if end is None else (end.outcome, end.gate, end.published)
        state = SluiceStateRunFacet(
            self.deployment,
            backfill=backfill.id,
            mode=request.mode.value,
            askedBy=request.by,
            why=request.why or None,
            outcome=outcome,
            producer=PRODUCER,
        )
        facets = self._facets(state, request.range, "" if end is None or end.passed else _error(backfill, end))
        event = self._event(kind, at, BACKFILL, Run(self._run(BACKFILL, backfill.claimed_at, backfill.id), facets))
        event.inputs = [as_input(each) for each in self.sources]
        if not request.mode.publishes:  # it compares, and publishes nothing
            event.inputs.append(as_input(self.table, gate=gate))
        else:
            version, rows = (None, None) if published is None else (published.version, published.rows)
            event.outputs = [as_output(self.table, version, rows, gate)]
        return event

    def _of_check(
        self, kind: RunState, at: datetime, check: QualityCheck, gate: GateResult | None = None, error: str = ""
    ) -> RunEvent:
        facets = self._facets(SluiceStateRunFacet(self.deployment, producer=PRODUCER), check.range, error)
        event = self._event(kind, at, QUALITY, Run(self._run(QUALITY, check.began, self.pipeline), facets))
        event.inputs = [as_input(self.table, None if gate is None else gate.rows, gate)]
        return event

    def _run(self, kind: str, at: datetime, name: str) -> str:
        return str(run_id(at, f"{self.namespace}/{self.deployment}/{kind}/{name}"))

    def _event(self, kind: RunState, at: datetime, job: str, run: Run) -> RunEvent:
        facets = job_facets("BATCH", _KINDS[job], self.owner, self.description)
        named = Job(self.namespace, f"{job}.{self.pipeline}", facets)
        return RunEvent(eventType=kind, eventTime=instant(at), producer=PRODUCER, run=run, job=named)

    def _facets(self, state: SluiceStateRunFacet, range_: Interval | None, error: str) -> dict[str, RunFacet]:
        facets: dict[str, RunFacet] = {"processing_engine": spark_engine(self.engine), "sluice_state": state}
        if range_ is not None:
            facets["nominalTime"] = nominal_time(range_.start, range_.end)
        if self.parent is not None:
            facets["parent"] = parent(self.parent)
        if error:
            facets["errorMessage"] = error_message(error)
        return facets


def _error(backfill: Backfill, end: BackfillEnd) -> str:
    """Return why it failed. Reports show rows that differ; lineage gets none of them."""
    if end.gate is not None and not end.gate.passed:
        return _failed(end.gate)
    if end.why:
        return end.why
    return f"The outcome is {end.outcome}: `sluice backfill status {backfill.id}` says where the report is."


def _failed(gate: GateResult) -> str:
    """Name the expectations that stopped a gate, without the values that it saw."""
    names = dict.fromkeys(
        f"{each.expectation} ({each.subject})"
        for each in (*gate.checked, *(i.checked for i in gate.intervals))
        if each.stops
    )
    causes = [*names, *(["no rows, although records came in"] if gate.missing else [])]
    return f"The quality gate failed: {', '.join(causes) or 'the checks did not finish'}."
