"""The tables of a project, for notebooks and for `sluice sql`: each by its name, for any library that reads Delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sluice.errors import NotReadyError, SpecError
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.storage.folder import Folder

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import dataset as pa_dataset
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Table:
    """A Delta table of a project at one version: every reader gets the same rows at any time.

    Attributes:
        name: as the specs declare it.
        path: its folder.
        version: of Delta.
    """

    name: str
    path: Folder
    version: int

    @property
    def uri(self) -> str:
        """The address for other readers of Delta, such as `polars.scan_delta(uri, version=version)`."""
        return str(self.path)

    def dataset(self) -> pa_dataset.Dataset:
        """Return it as a dataset of Arrow, which reads no more than is asked for; DuckDB queries it as it is."""
        from sluice.delta.reading import dataset_of  # noqa: PLC0415 - `import sluice` is light

        return dataset_of(self.path, self.version)

    def arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows as a table of Arrow; with `columns` those columns only."""
        return self.dataset().to_table(columns=None if columns is None else list(columns))

    def pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return all rows as a DataFrame of pandas, times in UTC; with `columns` those columns only."""
        frame: pd.DataFrame = self.arrow(columns).to_pandas()
        return frame

    def spark(self, session: SparkSession | None = None) -> DataFrame:
        """Return it as a DataFrame of Spark.

        Args:
            session: one that knows Delta; omitted: the active one, else a local one with Sluice's jars is started.

        Raises:
            NotReadyError: the jars are missing.
        """
        from sluice.interactive.spark import notebook_session  # noqa: PLC0415 - `import sluice` is light

        session = session or notebook_session(settings())
        return session.read.format("delta").option("versionAsOf", self.version).load(self.uri)


def table(name: str, *, version: int | None = None, place: Settings | None = None) -> Table:
    """Return a table of the project.

    Args:
        name: a raw table, or the table of an output; `sluice sql` without a statement lists them.
        version: of Delta; omitted: the newest one, now.
        place: where the project is; omitted: as for the command line, by `SLUICE_HOME` and `SLUICE_STATE`.

    Raises:
        SpecError: no spec declares it, or it has no such version.
        NotReadyError: nothing has been written to it yet.
        CorruptionError: its log cannot be read.
    """
    from sluice.delta.reading import open_table  # noqa: PLC0415 - `import sluice` is light

    project = Project.open_tolerant(place or settings())
    declared = declared_tables(project)
    if name not in declared:
        raise SpecError(
            f"no spec declares a table {name!r}; they declare {', '.join(sorted(declared)) or 'none'}.",
            fix="take one of these.",
        )
    if name not in tables_of(project):
        raise without_rows(project, name)
    return Table(name, declared[name], open_table(declared[name], version).version())


def declared_tables(project: Project) -> dict[str, Folder]:
    """Return the folders of all declared tables, by name, whether or not they are there."""
    return {name: project.folder.table(name) for name in _units_of_tables(project)}


def states_of(project: Project) -> dict[str, Folder]:
    """Return the files of the tables that pipelines carry, as the newest settled interval has left them, by name.

    A name is that of the interval table and of the carried one, as in `payments_judged_cards`.
    """
    from sluice.delta.carried_log import left_before  # noqa: PLC0415 - see `Project`

    found = {}
    for name, spec in project.catalog.interval_pipelines.items():
        table = project.folder.table(spec.intervals.table)
        if not spec.intervals.carries or not (table / "_delta_log").is_dir():
            continue
        for carried, digest in left_before(table, datetime.max.replace(tzinfo=UTC)).digests.items():
            file = project.folder.carried / name / carried / f"{digest}.parquet"
            if file.is_file():
                found[f"{spec.intervals.table}_{carried}"] = file
    return found


def tables_of(project: Project) -> dict[str, Folder]:
    """Return the folders of those declared tables that there are, by name."""
    return {name: folder for name, folder in declared_tables(project).items() if (folder / "_delta_log").is_dir()}


def without_rows(project: Project, name: str) -> NotReadyError:
    """Return the error about a declared table that is not written yet."""
    unit = _units_of_tables(project)[name]
    return NotReadyError(
        f"the table {name} has no rows yet: it is declared, and the unit {unit} that writes it has not committed any.",
        fix=f"start the unit with `sluice streams start {unit}`; if it runs, wait: `sluice streams show {unit}`.",
    )


def _units_of_tables(project: Project) -> dict[str, str]:
    """Return by which unit each declared table is written."""
    units = {topic.raw.table: topic.raw.driver for topic in project.catalog.topics.values()}
    for pipeline in project.catalog.pipelines.values():
        outputs = (output for output in pipeline.every_output if getattr(output, "store", "delta") == "delta")
        units |= {table: pipeline.driver for output in outputs if (table := getattr(output, "table", None))}
    return units
