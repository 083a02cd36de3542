"""The states that intervals hand on, as one backfill continues them, and how they differ from those on record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from pyspark.sql import SparkSession

from sluice.intervals.backfill.parity import Counts
from sluice.intervals.backfill.request import Mode
from sluice.intervals.carried import Carried, LeftState
from sluice.intervals.continuation import continued
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.tables.carried_states import CarriedStates
from sluice.spark.tables.continuation import Continuation


@dataclass(frozen=True)
class StateChain:
    """The states of a pipeline during one backfill.

    Attributes:
        states: that the pipeline's intervals have left.
        ledger: as the backfill has found it.
        computed: what the backfill itself has computed, by interval: later chunks continue it.
    """

    states: CarriedStates
    ledger: Ledger
    computed: dict[datetime, Carried] = field(default_factory=dict)

    def of(self, mode: Mode) -> Continuation:
        """Return what a chunk is called in.

        `verify` gives each interval the state that is on record as its own, the others what is right now: what the
        backfill itself has computed, and before that what the ledger says.
        """
        if mode is Mode.VERIFY:
            return self.recorded()
        return Continuation(self.states, self._left_before, self.computed)

    def recorded(self) -> Continuation:
        """Return calls that are given the states on record."""
        return Continuation(self.states, self._recorded, {})

    def _left_before(self, start: datetime) -> LeftState:
        return continued(self.ledger.spans, start)

    def _recorded(self, start: datetime) -> LeftState:
        row = self.ledger.rows.get(start)
        if row is None or row.base is None or row.base.carried is None:
            return continued(self.ledger.spans, start)
        return LeftState(start, row.base.carried.before)


def state_chain(project: Project, spark: SparkSession, code: PipelineCode, ledger: Ledger) -> StateChain | None:
    """Return the states of a pipeline as its ledger has them; None where its intervals hand on nothing."""
    if not (carries := code.carries):
        return None
    states = CarriedStates(spark, project.folder.carried / code.pipeline.name, carries)
    return StateChain(states, ledger)


def with_states(counts: Counts, recorded: Carried | None, computed: Carried | None) -> Counts:
    """Return counts with the carried tables that an interval leaves with another content than is on record."""
    was, now = (None if each is None else each.after for each in (recorded, computed))
    if was == now:
        return counts
    names = sorted({*(was or {}), *(now or {})})
    other = [name for name in names if (was or {}).get(name) != (now or {}).get(name)]
    texts = tuple(f"the state {name!r} that it leaves is another one" for name in other)
    return replace(counts, states=len(other), samples=(*counts.samples, *texts))
