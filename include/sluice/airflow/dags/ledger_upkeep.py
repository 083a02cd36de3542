"""The DAG `keep_ledger`: copies the ledger's entries before Delta forgets the commits that carry them, once a day."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TypeVar

from airflow.sdk import DAG, CronTriggerTimetable, task

from sluice.airflow import runtime
from sluice.airflow.dags.conventions import Tag, sluice_dag
from sluice.airflow.failures import FINAL, retried_only_if_unknown
from sluice.capacity.costs import KEPT as COSTS_KEPT
from sluice.clock import SystemClock
from sluice.errors import CorruptionError, SluiceError, UnreachableError
from sluice.project.project import Project
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.outputs import RowsOutput
from sluice.specs.rules.output_rules import delivery_tables
from sluice.streams.health.availability import KEPT

log = logging.getLogger(__name__)

Done = TypeVar("Done")

DOCUMENTATION = """# Ledger upkeep

Who wrote each interval is said in the commits of the tables. Delta forgets commits after 30 days. `keep` copies their
entries into a small table beside each output and raw table; `index` then brings the control database's index up to
date. Both may be repeated. A month without this DAG loses entries that cannot be restored: its failure is an alert.
`forget` removes verdicts of streams that ceased to hold more than 35 days ago; availability needs 30. So it does with
what is on record of outputs with an objective, whose windows are up to 31 days, and after 400 days with what drivers
and batches have used.
`states` removes what intervals have handed on to the next one and is kept no longer (`carries: {...: {keep}}`).
"""


def build_keep_ledger_dag() -> DAG:
    """Build the DAG."""
    with sluice_dag(
        "keep_ledger",
        doc=DOCUMENTATION,
        description="Copies ledger entries before the tables' logs expire, and refreshes the index.",
        tags=(Tag.UPKEEP,),
        schedule=CronTriggerTimetable("15 3 * * *", timezone="UTC"),
    ) as dag:

        @task(task_id="keep", execution_timeout=timedelta(hours=1), doc_md="Copies what is not copied yet.")
        def keep() -> int:
            """Return how many commits were copied; the log has them by table."""
            with retried_only_if_unknown():
                return sum(keep_entries(runtime.open_project()).values())

        @task(task_id="index", execution_timeout=timedelta(hours=1), doc_md="Refreshes the control database's index.")
        def index() -> int:
            """Return how many intervals changed; the log has them by pipeline."""
            with retried_only_if_unknown():
                return sum(refresh_index(runtime.open_project()).values())

        @task(task_id="forget", execution_timeout=timedelta(minutes=5), doc_md="Forgets verdicts of long ago.")
        def forget() -> int:
            """Return how many verdicts, spans of outputs with an objective, and costs of a day were forgotten."""
            with retried_only_if_unknown():
                records, before = runtime.open_project().records, SystemClock().now() - KEPT
                costs = records.costs().forget((SystemClock().now() - COSTS_KEPT).date())
                return records.registry().forget_verdicts(before) + records.objectives().forget(before) + costs

        @task(task_id="states", execution_timeout=timedelta(hours=1), doc_md="Deletes states that are kept no longer.")
        def states() -> int:
            """Return how many states were deleted; the log has them by pipeline."""
            with retried_only_if_unknown():
                return sum(forget_carried(runtime.open_project()).values())

        keep() >> index()
        forget()
        states()
    return dag


def keep_entries(project: Project) -> dict[str, int]:
    """Copy the entries of every raw and output table, and return how many commits were copied.

    Raises:
        CorruptionError: of some table they cannot be read; the others were copied.
        UnreachableError: see `act_on_each`.
    """
    from sluice.delta.log import archive_log  # noqa: PLC0415 - parsing must not pay for Delta

    catalog = project.catalog
    tables = [*tables_of_streams(catalog), *(p.intervals.table for p in catalog.interval_pipelines.values())]
    return act_on_each(sorted(set(tables)), lambda table: archive_log(project.folder.table(table)))


def tables_of_streams(catalog: Catalog) -> list[str]:
    """Return the tables that streams append to: raw tables, those of rows, and those of what was delivered."""
    tables = [topic.raw.table for topic in catalog.topics.values()]
    outputs = [output for pipeline in catalog.pipelines.values() for output in pipeline.every_output]
    tables += [output.table for output in outputs if isinstance(output, RowsOutput)]
    return sorted({*tables, *delivery_tables(outputs)})


def refresh_index(project: Project) -> dict[str, int]:
    """Bring the index of every pipeline up to date, and return how many intervals changed in it, by pipeline.

    Raises:
        CorruptionError: of some pipeline the log cannot be read; the others were refreshed.
        UnreachableError: see `act_on_each`.
    """
    index = project.tables.index()
    return act_on_each(sorted(project.catalog.interval_pipelines), lambda pipeline: index.refresh(pipeline).changed)


def forget_carried(project: Project) -> dict[str, int]:
    """Delete the states of every pipeline that are kept no longer, and return how many, by pipeline.

    Raises:
        CorruptionError: of some pipeline the log cannot be read; the others' were deleted.
        UnreachableError: see `act_on_each`.
    """
    from sluice.delta.carried_log import forget_states  # noqa: PLC0415 - parsing must not pay for Delta

    carrying = {name: p.intervals.carries for name, p in project.catalog.interval_pipelines.items()}

    def forget(pipeline: str) -> int:
        keep = {name: table.keep for name, table in carrying[pipeline].items()}
        rows, folder = project.tables.ledger(pipeline).spans, project.folder.carried / pipeline
        return forget_states(folder, rows, keep, SystemClock().now())

    return act_on_each(sorted(name for name, carries in carrying.items() if carries), forget)


def act_on_each(names: Iterable[str], act: Callable[[str], Done]) -> dict[str, Done]:
    """Act on all names: what is wrong with one stops no other from being looked after.

    Raises:
        CorruptionError: a second try would find the same wrong.
        UnreachableError: of some name it may not: something did not answer, or a file was not there.
    """
    from sluice.delta.upkeep import TABLE_ERRORS  # noqa: PLC0415 - parsing must not pay for Delta

    done: dict[str, Done] = {}
    faults: dict[str, Exception] = {}
    for name in names:
        try:
            done[name] = act(name)
        except (SluiceError, *TABLE_ERRORS) as error:
            log.exception("%s", name)
            faults[name] = error
        else:
            log.info("%s: %s", name, done[name])
    if faults:
        found = "\n".join(f"{name}: {error}" for name, error in faults.items())
        is_final = all(isinstance(error, FINAL) for error in faults.values())
        raise CorruptionError(found) if is_final else UnreachableError(found)
    return done
