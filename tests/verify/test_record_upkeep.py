"""Old runs leave the embedded Airflow while it runs, and young ones stay."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluice.airflow.dags.record_upkeep import HISTORY_DAYS
from sluice.devstack.airflow.api import AirflowApi, succeeded
from sluice.devstack.stack import down, up
from sluice.settings import Settings, settings

pytestmark = [pytest.mark.verify, pytest.mark.timeout(600)]
DEADLINE_SECONDS = 120.0


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Settings]:
    place = Settings(home=settings().home, state=tmp_path / "state")
    try:
        yield place
    finally:
        down(place)


def test_old_runs_and_their_logs_go_while_airflow_runs(place: Settings) -> None:
    airflow = AirflowApi(up(place).airflow_url)
    old, young = (airflow.trigger("keep_ledger") for _ in range(2))
    for run in (old, young):
        airflow.wait("keep_ledger", run, succeeded, DEADLINE_SECONDS)
    logs = {run: place.folder.logs / "tasks" / "dag_id=keep_ledger" / f"run_id={run}" for run in (old, young)}
    assert all(list(folder.rglob("*.log")) for folder in logs.values())
    _date_back(place, old, logs[old])

    cleaning = airflow.trigger("remove_old_records")
    airflow.wait("remove_old_records", cleaning, succeeded, DEADLINE_SECONDS)

    with closing(sqlite3.connect(place.folder.airflow / "airflow.db")) as database:
        runs = {row[0] for row in database.execute("SELECT run_id FROM dag_run WHERE dag_id = 'keep_ledger'")}
        tasks = {row[0] for row in database.execute("SELECT run_id FROM task_instance WHERE dag_id = 'keep_ledger'")}
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert old not in runs | tasks
    assert young in runs & tasks
    assert not [name for name in tables if name.startswith("_airflow_deleted")]
    assert (logs[old].exists(), logs[young].exists()) == (False, True)


def _date_back(place: Settings, run: str, logs: Path) -> None:
    """Make a run look as if it had been before all that is kept."""
    then = datetime.now(UTC) - timedelta(days=HISTORY_DAYS + 1)
    with closing(sqlite3.connect(place.folder.airflow / "airflow.db", timeout=30)) as database, database:
        for table in ("dag_run", "task_instance"):
            database.execute(
                f"UPDATE {table} SET start_date = ?, end_date = ? WHERE run_id = ?",  # noqa: S608 - a constant
                (*[f"{then:%Y-%m-%d %H:%M:%S.%f}"] * 2, run),
            )
    for path in [*logs.rglob("*"), logs]:
        os.utime(path, (then.timestamp(), then.timestamp()))
