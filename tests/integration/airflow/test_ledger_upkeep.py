"""The DAG `keep_ledger`, run by Airflow on real tables and the real control database."""

from __future__ import annotations

import os

import pytest
from airflow.sdk import DagRunState

from sluice.airflow.dags.ledger_upkeep import build_keep_ledger_dag, keep_entries, refresh_index
from sluice.delta.log import archive_folder
from sluice.errors import CorruptionError
from sluice.project.project import Project
from tests.integration.airflow.spark import close, fake_spark, soil

pytestmark = pytest.mark.usefixtures("airflow_database")


@pytest.fixture(autouse=True)
def _closed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_spark(project, monkeypatch, os.environ["PATH"])
    close(project)


def damage(project: Project, table: str) -> None:
    """Make the newest entry of a table one that nobody can read."""
    newest = max((project.folder.table(table) / "_delta_log").glob("*.json"))
    text = newest.read_text(encoding="utf-8")
    assert '\\"kind\\":\\"settle\\"' in text
    newest.write_text(text.replace('\\"kind\\":\\"settle\\"', '\\"kind\\":\\"brook\\"'), encoding="utf-8")


def test_a_run_keeps_the_entries_of_raw_and_output_tables_and_refreshes_the_index(project: Project) -> None:
    dag_run = build_keep_ledger_dag().test()

    assert dag_run.state == DagRunState.SUCCESS
    for table in ("flights_raw", "departures"):
        assert archive_folder(project.folder.table(table)).is_dir()
    assert project.tables.index().ledger("departures") == project.tables.ledger("departures")


def test_only_what_is_new_is_copied(project: Project) -> None:
    assert keep_entries(project) == {"departures": 2, "flights_raw": 2}
    assert keep_entries(project) == {"departures": 0, "flights_raw": 0}
    soil(project, 3)
    assert keep_entries(project) == {"departures": 1, "flights_raw": 0}


def test_a_damaged_table_is_named_and_keeps_no_other_from_being_kept(project: Project) -> None:
    damage(project, "departures")

    with pytest.raises(CorruptionError, match="departures: "):
        keep_entries(project)
    assert archive_folder(project.folder.table("flights_raw")).is_dir()
    with pytest.raises(CorruptionError, match="departures: "):
        refresh_index(project)
