"""The streams of a project: the lives of their units, and the positions in their checkpoints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sluice.clock import Clock
from sluice.errors import SluiceError
from sluice.project.processes import ProjectProcesses
from sluice.project.records import ProjectRecords
from sluice.settings import StateFolder, connection_url
from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.model.outputs import IntervalsOutput, LatestOutput, Output, RowsOutput
from sluice.specs.rules.output_rules import delivery_tables
from sluice.storage.objects import objects_in
from sluice.streams.life.attempts import Attempt
from sluice.streams.life.driver_files import spark_ui_address
from sluice.streams.life.life import UnitLife
from sluice.streams.life.lives import Lives
from sluice.streams.life.timeline import Timeline, timeline
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.epochs import Epochs

if TYPE_CHECKING:
    from sluice.provisioning.retention.cut import Position


def tables_of_unit(catalog: Catalog, unit: Unit) -> frozenset[str]:
    """Return the Delta tables that the driver of a unit marks with its generation."""
    outputs = _outputs_of(catalog, unit)
    kept = (IntervalsOutput, RowsOutput)
    tables = {output.table for output in outputs if isinstance(output, kept)}
    tables |= {output.table for output in outputs if isinstance(output, LatestOutput) and output.store == "delta"}
    return frozenset(tables | delivery_tables(outputs) | {catalog.topics[topic].raw.table for topic in unit.topics})


def _outputs_of(catalog: Catalog, unit: Unit) -> list[Output]:
    return [output for name in unit.pipelines for output in catalog.pipelines[name].every_output]


@dataclass(frozen=True)
class ProjectStreams:
    """Units and streams of one deployment."""

    catalog: Catalog
    folder: StateFolder
    records: ProjectRecords
    processes: ProjectProcesses
    clock: Clock

    def life(self, unit: str) -> UnitLife:
        """Return the life of a unit, whether or not a spec names it now: a driver outlives its spec.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        return UnitLife(
            self.records.registry(),
            self.processes.launcher(),
            deployment=self.records.settings.deployment,
            unit=unit,
            job=self.processes.driver,
            refuse=self.processes.refuse_unconfigured,
            plan=self.catalog.run_plan(unit),
            unread_since=lambda attempt: self._unread_since([attempt]).get(attempt.unit),
            marked=self._marked,
            clock=self.clock,
        )

    def _marked(self, unit: str) -> int:
        """Return the highest generation that the tables of a unit name; 0 for a unit that no spec names.

        Raises:
            NotConfiguredError: this process lacks a connection of its outputs.
            UnreachableError: a database or bucket of its outputs does not answer.
        """
        from sluice.delta.log import newest_generation  # noqa: PLC0415 - see `Project`

        declared = self.catalog.units().get(unit)
        if declared is None:
            return 0
        marks = [newest_generation(self.folder.table(table)) for table in tables_of_unit(self.catalog, declared)]
        return max([*marks, *map(_marked_in_postgresql, _outputs_of(self.catalog, declared))], default=0)

    def lives(self) -> Lives:
        """Return the lives of all units.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        return Lives(self.records.registry(), self.life, self._unread_since)

    def _unread_since(self, idle: Collection[Attempt]) -> Mapping[str, datetime]:
        """Return when (UTC) a watcher saw records last that came after attempts had ended idle, by unit."""
        snapshots = self.records.snapshots().of([attempt.unit for attempt in idle])
        seen = ((attempt, snapshot) for attempt in idle for snapshot in snapshots.get(attempt.unit, {}).values())
        return {
            attempt.unit: snapshot.at
            for attempt, snapshot in seen
            if snapshot.generation == attempt.generation
            and attempt.ended_at is not None
            and snapshot.at > attempt.ended_at
            and snapshot.verdict.lag_records
        }

    def timeline(self, unit: str) -> Timeline:
        """Return the attempts of a unit, newest first, and what comes next.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        status, launcher = self.life(unit).observe(), self.processes.launcher()
        living = status.attempt if status.alive else None
        address = None if living is None else spark_ui_address(self.folder.progress, unit, living.generation)
        attempts = self.records.registry().attempts(unit)
        return timeline(status, attempts, now=self.clock.now(), log=launcher.log, spark_ui=address)

    def epochs(self, stream: str) -> Epochs:
        """Return the epochs of a stream, each with its checkpoint."""
        return Epochs(self.folder.checkpoint(stream), objects_in(self.folder.epoch_records(stream)))

    def checkpoint(self, stream: str) -> Checkpoint:
        """Return the reader of a stream's checkpoint, in the newest epoch."""
        return self.epochs(stream).checkpoint()

    def keeps_state(self, stream: str) -> bool | None:
        """Return whether a stream's checkpoint holds state; None before its first batch."""
        try:
            checkpoint = self.checkpoint(stream)
            return (checkpoint.folder / "state").is_dir() if checkpoint.read().batches else None
        except SluiceError:
            return None

    def positions(self, topic: str) -> Mapping[str, Position]:
        """Return the position of every stream that reads a topic, by its checkpoint; None where it is unreadable."""
        return {name: self._position(name) for name, stream in self.catalog.streams.items() if topic in stream.topics}

    def _position(self, stream: str) -> Position:
        try:
            state = self.checkpoint(stream).read()
        except SluiceError:
            return None
        return state.start if state.newest is None else state.newest.offsets


def _marked_in_postgresql(output: Output) -> int:
    if not isinstance(output, LatestOutput) or output.connection is None:
        return 0
    from sluice.postgres.latest import connect, newest_generation  # noqa: PLC0415 - not everybody has its driver

    engine = connect(connection_url(output.connection), output.connection)
    try:
        return newest_generation(engine, output.table)
    finally:
        engine.dispose()
