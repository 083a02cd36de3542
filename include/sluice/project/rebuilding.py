"""The `latest` outputs of a project, rebuilt from interval tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.errors import NotReadyError, RefusedError, SpecError
from sluice.live.rebuilding import Rebuild, RebuildStore, plan_rebuild
from sluice.live.store import LatestTable
from sluice.project.settlers import state_of_log
from sluice.settings import connection_url
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import LatestOutput

if TYPE_CHECKING:
    import pyarrow as pa

    from sluice.project.project import Project


@dataclass(frozen=True)
class RebuildableOutput:
    """A `latest` output of a pipeline with an interval table.

    Args:
        project: whose it is.
        pipeline: the spec.
        output: which of its outputs.
        store: the output's table.
    """

    project: Project
    pipeline: PipelineSpec
    output: LatestOutput
    store: RebuildStore

    def plan(self) -> Rebuild:
        """Return how the output differs from the interval table. Nothing is changed.

        Raises:
            NotReadyError: one of the two tables is not there, or nothing is settled.
            RefusedError: a key is null in the interval table.
            UnreachableError: the store could not be asked.
            CorruptionError: a table's log cannot be read.
        """
        intervals = self.pipeline.intervals
        settled_until = state_of_log(self.project.folder, self.pipeline).settled_until
        if settled_until is None:
            raise NotReadyError(
                f"no interval of {intervals.table} is settled yet, so there is nothing to rebuild from.",
                fix=f"see what delays it: sluice streams show {self.pipeline.driver}.",
            )
        settled, output = self._settled(self.store.columns), self.output
        table = LatestTable(output.table, settled.schema, output.keys, output.newest_by, intervals.time_column)
        return plan_rebuild(settled, self.store.rows(), table, settled_until)

    def apply(self, planned: Rebuild) -> None:
        """Let the output hold what was planned. What its stream has written since stays, where it is newer.

        Raises:
            UnreachableError: the store could not be asked, or was busy.
        """
        self.store.replace(planned.rows, self.output.keys, self.pipeline.intervals.time_column, planned.before)

    def _settled(self, columns: Sequence[str]) -> pa.Table:
        """Return the rows of the interval table with these columns; one that it does not have is null."""
        import pyarrow as pa  # noqa: PLC0415 - Airflow parses files that read this package

        from sluice.delta.reading import dataset_of  # noqa: PLC0415 - see above

        table = dataset_of(self.project.folder.table(self.pipeline.intervals.table))
        known = [name for name in columns if name in table.schema.names]
        rows = table.to_table(columns=known)
        for name in columns:
            if name not in known:
                rows = rows.append_column(name, pa.nulls(len(rows)))
        return rows.select(columns)


def rebuild_store(project: Project, output: LatestOutput) -> RebuildStore:
    """Return the table of a `latest` output.

    Raises:
        SpecError: its connection is not there, or of no PostgreSQL.
    """
    from sluice.delta.rebuilding import DeltaRebuildStore  # noqa: PLC0415 - see above
    from sluice.postgres.latest import connect  # noqa: PLC0415 - not everybody has its driver
    from sluice.postgres.rebuilding import PostgresRebuildStore  # noqa: PLC0415 - the same

    if output.connection is None:
        return DeltaRebuildStore(project.folder.table(output.table))
    return PostgresRebuildStore(connect(connection_url(output.connection), output.connection), output.table)


def rebuildable_outputs(project: Project, pipeline: PipelineSpec, table: str = "") -> tuple[RebuildableOutput, ...]:
    """Return the outputs of a pipeline that can be rebuilt: all of them, or the one with this table.

    Raises:
        RefusedError: there is none, or this one is none.
        SpecError: the pipeline has no output with this table.
    """
    latest = [output for output in pipeline.side_outputs if isinstance(output, LatestOutput)]
    if table and table not in {output.table for output in latest}:
        names = ", ".join(output.table for output in latest) or "none"
        raise SpecError(f"{pipeline.name} has no `latest` output {table!r}.", fix=f"name one of these: {names}.")
    if not pipeline.has_intervals:
        raise RefusedError(
            f"{pipeline.name} has no interval table to rebuild an output from.",
            fix=f"read the topic again: sluice streams reset {pipeline.driver} --stream {pipeline.name} --to earliest.",
        )
    wanted = [output for output in latest if not table or output.table == table]
    kept = [output for output in wanted if output.keep == "all"]
    if not kept:
        raise RefusedError(
            f"{pipeline.name} has no `latest` output that holds rows of settled intervals"
            + (f": {', '.join(output.table for output in wanted)} has `keep: open`." if wanted else "."),
            fix=f"read settled rows in {pipeline.intervals.table}; nothing has to be rebuilt.",
        )
    return tuple(RebuildableOutput(project, pipeline, output, rebuild_store(project, output)) for output in kept)
