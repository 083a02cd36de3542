"""Parses a DAG folder as the DAG processor does, with every socket forbidden, and prints what came of it as JSON.

Run in a process of its own: what is in `sys.modules` afterwards is what parsing pays for.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
from airflow.serialization.encoders import encode_timetable
from airflow.serialization.serialized_objects import DagSerialization
from sqlalchemy import event
from sqlalchemy.engine import Engine

FORBIDDEN_MODULES = (
    "pyspark",
    "delta",
    "deltalake",
    "kafka",
    "confluent_kafka",
    "alembic",
    "apprise",
    "openlineage",
    "sluice.control",
)


def forbid(what: str) -> NoReturn:
    raise AssertionError(f"parsing a DAG file opened {what}")


@contextmanager
def nothing_opened() -> Iterator[None]:
    """Fail on a socket or a database connection."""
    real = socket.socket.connect
    socket.socket.connect = lambda *_: forbid("a socket")  # type: ignore[method-assign, assignment]
    event.listen(Engine, "do_connect", lambda *_: forbid("a database"))
    try:
        yield
    finally:
        socket.socket.connect = real  # type: ignore[method-assign]


def description(dag: DAG) -> dict[str, Any]:
    """Return what a person sees of a DAG, and proof that Airflow can store it and that its form takes its defaults."""
    DagSerialization.to_dict(dag)
    dag.params.validate()
    return {
        "doc": dag.doc_md,
        "description": dag.description,
        "owners": dag.owner,
        "tags": sorted(dag.tags),
        "schedule": None if dag.schedule is None else encode_timetable(dag.schedule),
        "max_active_runs": dag.max_active_runs,
        "paused": dag.is_paused_upon_creation,
        "alerts": dag.has_on_failure_callback,
        "file": Path(dag.fileloc).name,
        "params": {name: dag.params.get_param(name).schema for name in dag.params},
        "defaults": dag.params.dump(),
        "tasks": {
            task.task_id: {
                "retries": task.retries,
                "pool": task.pool,
                "timeout": None if task.execution_timeout is None else task.execution_timeout.total_seconds(),
                "downstream": sorted(task.downstream_task_ids),
                "doc": task.doc_md,
                "alerts": task.has_on_failure_callback,
                "params": sorted(task.params),
            }
            for task in dag.tasks
        },
    }


def main(folder: str) -> None:
    """Parse all files of a folder, twice: the second time shows what a parse costs when the code is loaded."""
    parse_seconds = []
    for _ in range(2):
        before = time.process_time()
        with nothing_opened():
            bag = DagBag(folder)
        parse_seconds.append(time.process_time() - before)
    found = {
        "dags": {dag_id: description(dag) for dag_id, dag in bag.dags.items()},
        "errors": {Path(file).name: text for file, text in bag.import_errors.items()},
        "forbidden": [name for name in FORBIDDEN_MODULES if name in sys.modules],
        "parse_seconds": parse_seconds,
    }
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
