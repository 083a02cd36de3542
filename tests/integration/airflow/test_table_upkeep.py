"""The DAG `compact_tables`, run by Airflow on real tables and the real control database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from airflow.sdk import DagRunState
from deltalake import DeltaTable, write_deltalake

from sluice.airflow.dags.table_upkeep import build_compact_tables_dag, compact_tables
from sluice.delta.upkeep import UpkeepDone
from sluice.errors import CorruptionError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Request
from sluice.project.project import Project
from tests.integration.airflow.spark import DAY, close

pytestmark = pytest.mark.usefixtures("airflow_database")
FILES = 20
LATER = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _filled(project: Project) -> None:
    close(project)
    for _ in range(FILES):
        write_deltalake(str(project.folder.table("flights_raw")), pa.table({"hour": [DAY]}), mode="append")


def files(project: Project) -> int:
    return len(DeltaTable(str(project.folder.table("flights_raw"))).file_uris())


def test_a_run_looks_after_the_tables_that_are_there_and_leaves_what_is_young_alone(project: Project) -> None:
    dag_run = build_compact_tables_dag().test()

    assert dag_run.state == DagRunState.SUCCESS
    assert files(project) == FILES


def test_small_files_of_raw_tables_are_joined_and_interval_tables_left_alone(project: Project) -> None:
    version = DeltaTable(str(project.folder.table("departures"))).version()

    assert compact_tables(project, datetime.now(UTC) + LATER) == {"flights_raw": UpkeepDone(joined=FILES)}
    assert files(project) == 1
    assert DeltaTable(str(project.folder.table("departures"))).version() == version


def test_nothing_is_removed_while_a_long_backfill_runs(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def seen(*_: object, pinned: bool) -> UpkeepDone:
        asked.append(pinned)
        return UpkeepDone()

    monkeypatch.setattr("sluice.delta.upkeep.look_after", seen)
    request = Request("departures", Interval(DAY, DAY + LATER), Mode.VERIFY, "bob")
    claimed = project.records.backfills().claim(request, "key", alive=lambda _: True)
    lock = project.processes.backfill_lock(claimed.id)
    lock.take()
    for hours in (11, 13):
        compact_tables(project, datetime.now(UTC) + timedelta(hours=hours))
    assert asked == [False, True]

    lock.release()
    compact_tables(project, datetime.now(UTC) + timedelta(hours=13))
    assert asked[2:] == [False], "its process is dead"


def test_a_damaged_table_is_named(project: Project) -> None:
    newest = max((project.folder.table("flights_raw") / "_delta_log").glob("*.json"))
    newest.write_text("{", encoding="utf-8")

    with pytest.raises(CorruptionError, match="flights_raw: "):
        compact_tables(project, datetime.now(UTC) + LATER)
