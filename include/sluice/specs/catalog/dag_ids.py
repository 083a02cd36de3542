"""The ids of DAGs that are about one thing, by its name: known to all faces, also those that do not know Airflow."""

from __future__ import annotations

TOPICS = "topics"
REPLAY = "replay_case"
RECONCILE = "reconcile_streams"
KEEP_MIRRORS = "keep_mirrors"
PROVE_WEEKLY = "prove_weekly"

UPKEEP = ("repair_intervals", "lift_throttles", "keep_ledger", "compact_tables", "remove_old_records")
EVERYWHERE = (TOPICS, REPLAY, RECONCILE, PROVE_WEEKLY, *UPKEEP)
"""Those of every project whose failed runs all alert. `topic_drift` is red as long as a drift lasts, and `keep_mirrors`
as long as somebody has to look at a mirror."""


def stream_dag_id(unit: str) -> str:
    """Return the id of a unit's DAG."""
    return f"stream_{unit}"


def backfill_dag_id(pipeline: str) -> str:
    """Return the id of a pipeline's backfill DAG."""
    return f"backfill_{pipeline}"


def quality_dag_id(pipeline: str) -> str:
    """Return the id of the DAG that checks a pipeline's published table."""
    return f"quality_{pipeline}"


def mirror_unit(mirror: str) -> str:
    """Return the name under which the process of a mirror is started and looked after; its DAG has the same id."""
    return f"mirror_{mirror}"


def unit_of(dag_id: str) -> str:
    """Return the unit that a DAG is about; empty for every other DAG."""
    prefix = stream_dag_id("")
    return dag_id.removeprefix(prefix) if dag_id.startswith(prefix) else ""
