"""Reverts what records from the future have done to a unit: what they closed, and the state that they moved.

The rules of today keep such records out (`time.clock_skew`). What they did before stays on record: intervals that are
closed until the year of such a record, and checkpoints whose watermark lies there, behind which everything is late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from sluice.intervals.entries import WithdrawnEntry
from sluice.intervals.healing import Poisoned, find_poison
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.streams import DeclaredStream
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import IntervalsOutput, LatestOutput
from sluice.specs.model.sources import TimeRules
from sluice.specs.model.start import Edge
from sluice.streams.life.resetting import Resetting
from sluice.streams.position.reset import StreamReset

if TYPE_CHECKING:
    from sluice.live.rebuilding import RebuildStore
    from sluice.project.project import Project


@dataclass(frozen=True)
class OpenValues:
    """A table of open windows, in which those from the future would stay until then.

    Attributes:
        name: of the table.
        store: the table.
        column: holds the windows' starts.
        beyond: what starts later is removed.
        rows: how many these are.
    """

    name: str
    store: RebuildStore
    column: str
    beyond: datetime
    rows: int

    def clean(self) -> None:
        """Remove these rows."""
        self.store.remove_later(self.column, self.beyond)


@dataclass(frozen=True)
class Healing:
    """What is wrong with a unit, and what repairs it.

    Attributes:
        tables: by pipeline: what was closed into the future.
        watermarks: by stream: where its checkpoint stands, beyond what sound records can have caused.
        resets: the streams that begin again with the first record of their topic.
        open_values: tables of newest rows that hold windows from the future.
        left: streams whose outputs would get everything a second time; an operator decides.
    """

    tables: Mapping[str, Poisoned] = field(default_factory=dict)
    watermarks: Mapping[str, datetime] = field(default_factory=dict)
    resets: Sequence[StreamReset] = ()
    open_values: Sequence[OpenValues] = ()
    left: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """Whether anything is wrong that this repairs."""
        return bool(self.tables or self.resets)


def diagnose(project: Project, unit: Unit, resetting: Resetting, now: datetime) -> Healing:
    """Find what records from the future have done to a unit by now (UTC). Changes nothing.

    Raises:
        CorruptionError: a table's log or a checkpoint cannot be read.
        UnreachableError: the cluster or a checkpoint could not be asked.
    """
    tables = {name: poisoned for name in unit.pipelines if (poisoned := _poison_of(project, name, now)) is not None}
    moved = dict(_watermarks_ahead(project, unit, now))
    streams = [*dict.fromkeys([*(name for name in unit.streams if name in tables), *moved])]
    repeatable = [name for name in streams if _may_repeat(project.catalog.streams.get(name))]
    resets = resetting.plan(Edge.EARLIEST, repeatable) if repeatable else ()
    left = tuple(name for name in streams if name not in repeatable)
    return Healing(tables, moved, resets, tuple(_open_values(project, repeatable, now)), left)


def heal(project: Project, healing: Healing, resetting: Resetting, *, by: str, why: str) -> None:
    """Withdraw the closings and begin the epochs, as `diagnose` has planned.

    Killed anywhere, the same command finds what is left: a table that is not withdrawn, or a checkpoint that still
    stands in the future.
    """
    from sluice.delta.log import append_entry  # noqa: PLC0415 - Airflow parses files that read this package

    for name, poisoned in healing.tables.items():
        folder = project.folder.table(project.catalog.pipelines[name].intervals.table)
        append_entry(folder, WithdrawnEntry(poisoned.since, by, why))
    for table in healing.open_values:
        table.clean()
    for reset in healing.resets:
        resetting.record(reset, Edge.EARLIEST, by=by, why=why)


def furthest(rules: TimeRules, now: datetime) -> datetime:
    """Return the furthest that sound records of a source can have closed intervals or moved a watermark by now."""
    return now + rules.clock_skew - rules.allowed_lateness


def _poison_of(project: Project, name: str, now: datetime) -> Poisoned | None:
    from sluice.delta.log import read_log  # noqa: PLC0415 - see above

    pipeline = project.catalog.pipelines[name]
    if not pipeline.has_intervals or not pipeline.topics:  # no producer's clock has closed anything
        return None
    commits = read_log(project.folder.table(pipeline.intervals.table))
    length = pipeline.intervals.interval_length
    return find_poison(commits, project.tables.ledger(name), length, _furthest_of(pipeline, now), now)


def _watermarks_ahead(project: Project, unit: Unit, now: datetime) -> Iterator[tuple[str, datetime]]:
    for stream in unit.streams:
        pipeline = project.catalog.pipeline_of(stream)
        watermark = None if pipeline is None else project.streams.checkpoint(stream).next_watermark()
        if (
            pipeline is not None
            and pipeline.topics
            and watermark is not None
            and watermark > _furthest_of(pipeline, now)
        ):
            yield stream, watermark


def _open_values(project: Project, streams: Sequence[str], now: datetime) -> Iterator[OpenValues]:
    from sluice.project.rebuilding import rebuild_store  # noqa: PLC0415 - see above

    for stream in streams:
        pipeline = project.catalog.pipeline_of(stream)
        if pipeline is None or not pipeline.has_intervals:
            continue
        for output in project.catalog.streams[stream].outputs:
            if not isinstance(output, LatestOutput) or output.keep != "open":
                continue
            store = rebuild_store(project, output)
            beyond = now + max(each.clock_skew + each.future_skew for each in _times(pipeline))
            column = pipeline.intervals.time_column
            if rows := store.count_later(column, beyond):
                yield OpenValues(output.table, store, column, beyond, rows)


def _furthest_of(pipeline: PipelineSpec, now: datetime) -> datetime:
    """Return the most over the sources: where one of them was silent, the others alone moved on."""
    return max(furthest(rules, now) for rules in _times(pipeline))


def _times(pipeline: PipelineSpec) -> list[TimeRules]:
    return [source.time for source in pipeline.topic_sources.values()]


def _may_repeat(stream: DeclaredStream | None) -> bool:
    """Whether reading everything again leaves a stream's outputs without doubles."""
    kinds = (IntervalsOutput, LatestOutput)
    if stream is None or stream.pipeline is None:
        return False
    return all(isinstance(output, kinds) for output in stream.outputs)
