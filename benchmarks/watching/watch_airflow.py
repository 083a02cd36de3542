"""Puts a deferred watch of every unit of a fleet into a private Airflow, as deferring tasks would have left them.

Usage, with AIRFLOW_HOME set: python -m benchmarks.watching.watch_airflow <fleet as JSON>

A thousand runs whose tasks really defer would take an hour of workers. So the DAG is parsed and serialised by Airflow,
its runs and task instances are made by it, and what the deferral changes is written through its models: the trigger,
its link, the state, and the method to resume.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.watching.watch_fleet import GENERATION, Fleet

_DAG_ID = "watches"
_DAG = """
from airflow.sdk import DAG

from sluice.airflow.streams.watch import WatchOperator

with DAG("watches", schedule=None):
    WatchOperator(task_id="watch", unit="{{ run_id }}")
"""


def configure(home: Path, capacity: int) -> Mapping[str, str]:
    """Write a home for Airflow with one DAG, and return the environment that finds it."""
    (home / "dags").mkdir(parents=True)
    (home / "dags" / "watches.py").write_text(_DAG, encoding="utf-8")
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW__TRIGGERER__CAPACITY": str(capacity),
    }


def defer_all(fleet: Fleet) -> None:
    """Make the database, the DAG, and a deferred task instance per unit; the run's id is the unit's name."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: PLC0415 - after AIRFLOW_HOME is set
    from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db  # noqa: PLC0415 - the same
    from airflow.utils.db import initdb  # noqa: PLC0415 - the same
    from airflow.utils.session import create_session  # noqa: PLC0415 - the same

    initdb()
    bundles = DagBundlesManager()  # type: ignore[no-untyped-call]  # Airflow's
    bundles.sync_bundles_to_db()
    (bundle,) = bundles.get_all_dag_bundles()
    bag = BundleDagBag(dag_folder=bundle.path, bundle_path=bundle.path, bundle_name=bundle.name)
    assert not bag.import_errors, bag.import_errors
    sync_bag_to_db(bag, bundle.name, bundle.version)
    with create_session() as session:
        _defer(fleet, session)


def _defer(fleet: Fleet, session: Any) -> None:  # noqa: ANN401 - SQLAlchemy's session, as Airflow gives it
    from airflow.models.dagbag import DBDagBag  # noqa: PLC0415 - the same
    from airflow.models.trigger import Trigger  # noqa: PLC0415 - the same
    from airflow.utils.state import DagRunState, TaskInstanceState  # noqa: PLC0415 - the same
    from airflow.utils.types import DagRunTriggeredByType, DagRunType  # noqa: PLC0415 - the same

    from sluice.airflow.streams.trigger import StreamTrigger  # noqa: PLC0415 - the same

    dag = DBDagBag().get_latest_version_of_dag(_DAG_ID, session=session)
    assert dag is not None
    now = datetime.now(UTC)
    for unit in fleet.units:
        run = dag.create_dagrun(
            run_id=unit,
            run_after=now,
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.TEST,
            state=DagRunState.RUNNING,
            start_date=now,
            session=session,
        )
        trigger = Trigger.from_object(StreamTrigger(unit, GENERATION, (now + timedelta(days=1)).isoformat()))
        session.add(trigger)
        session.flush()
        (instance,) = run.get_task_instances(session=session)
        instance.state = TaskInstanceState.DEFERRED
        instance.start_date = now
        instance.trigger_id = trigger.id
        instance.next_method = "resume"
        instance.next_kwargs = {}


def deferred(home: Path) -> set[str]:
    """Return the units whose task is deferred and whose trigger a triggerer has taken."""
    query = (
        "select ti.run_id from task_instance ti join trigger t on t.id = ti.trigger_id "
        "where ti.state = 'deferred' and t.triggerer_id is not null"
    )
    return _read(home, query)


def told(home: Path) -> set[str]:
    """Return the units whose trigger's event is on record: their task is to be resumed."""
    return _read(home, "select run_id from task_instance where state != 'deferred'")


def _read(home: Path, query: str) -> set[str]:
    with sqlite3.connect(f"file:{home / 'airflow.db'}?mode=ro", uri=True, timeout=10) as connection:
        return {str(row[0]) for row in connection.execute(query)}


if __name__ == "__main__":
    defer_all(Fleet(**json.loads(sys.argv[1])))
