"""Pipelines that read the settled tables of others: what rests on a range of rows, and how far each one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sluice.errors import SluiceError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Request
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project
from sluice.settling.rules import SettlingRules
from sluice.settling.upstream import resting_on, resting_on_dirty
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.sources import table_input
from sluice.wording import counted


@dataclass(frozen=True)
class Downstream:
    """The settled intervals of a pipeline that are made of rows which a backfill writes.

    Attributes:
        pipeline: its name.
        table: of another one, that it reads.
        intervals: how many.
        range: from the first to the last.
    """

    pipeline: str
    table: str
    intervals: int
    range: Interval

    @property
    def command(self) -> str:
        """What recomputes those that were marked."""
        times = f"--from {self.range.start:%FT%RZ} --to {self.range.end:%FT%RZ}"
        return f"sluice backfill run {self.pipeline} {times} --mode recompute --only dirty"

    @property
    def in_words(self) -> str:
        """One line for people."""
        rests = counted(self.intervals, "settled interval")
        return f"{self.pipeline} has {rests} over {self.table}; those whose rows change are marked: {self.command}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "pipeline": self.pipeline,
            "table": self.table,
            "intervals": self.intervals,
            "from": self.range.start.isoformat(),
            "to": self.range.end.isoformat(),
            "command": self.command,
        }


def downstream_of(project: Project, request: Request) -> tuple[Downstream, ...]:
    """Return what rests on the intervals of a backfill, over as many tables as lie between; nothing if none is written.

    Nothing is marked by it: each pipeline finds by itself what has changed, once it examines the table again.
    """
    if not request.mode.publishes:
        return ()
    found: dict[str, Downstream] = {}
    waiting = [(project.catalog.pipelines[request.pipeline], request.range)]
    while waiting:
        pipeline, times = waiting.pop(0)
        table = pipeline.intervals.table
        for reader in project.catalog.table_readers.get(table, ()):
            rules = SettlingRules.of(reader, table_input(table))
            resting = resting_on(project.tables.ledger(reader.name), times, rules)
            if resting and reader.name not in found:
                own = Interval(resting[0].start, resting[-1].end)
                found[reader.name] = Downstream(reader.name, table, len(resting), own)
                waiting.append((reader, own))
    return tuple(found.values())


@dataclass(frozen=True)
class ChainState:
    """How far a pipeline with intervals is, by the log of its table.

    Attributes:
        settled_until: end of the last settled interval; None before the first.
        dirty: how many intervals are known to be incomplete.
        resting: how many settled intervals are made of rows of other tables that are known to be incomplete.
        why: why nothing is known; empty if something is.
    """

    settled_until: datetime | None = None
    dirty: int = 0
    resting: int = 0
    why: str = ""


def chain_states(project: Project, pipelines: Mapping[str, PipelineSpec]) -> dict[str, ChainState]:
    """Return how far each of some pipelines is, as far as the logs of their tables say."""
    ledgers: dict[str, Ledger | SluiceError] = {}

    def ledger(name: str) -> Ledger | SluiceError:
        if name not in ledgers:
            try:
                ledgers[name] = project.tables.ledger(name)
            except SluiceError as error:
                ledgers[name] = error
        return ledgers[name]

    def state(pipeline: PipelineSpec) -> ChainState:
        own = ledger(pipeline.name)
        if isinstance(own, SluiceError):
            return ChainState(why=str(own))
        resting: set[datetime] = set()
        for source in pipeline.table_sources.values():
            upstream = ledger(project.catalog.settled_tables[source.table].name)
            if isinstance(upstream, Ledger):
                resting |= resting_on_dirty(own, upstream, SettlingRules.of(pipeline, source.reads))
        dirty = sum(row.count for row in own.spans if row.dirty)
        return ChainState(own.closed_until, dirty, len(resting))

    return {name: state(pipeline) for name, pipeline in pipelines.items() if pipeline.has_intervals}
