"""What every DAG of this project has in common: tags, owner, retries, and where its documentation comes from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any

from airflow.sdk import DAG, CronTriggerTimetable

DEFAULT_OWNER = "data-platform"
"""Who owns a DAG when no spec says otherwise."""


class Tag(StrEnum):
    """All tags in use: what the DAG list can be filtered by."""

    SLUICE = "sluice"
    TOPICS = "topics"
    STREAM = "stream"
    UPKEEP = "upkeep"
    BROKEN_SPEC = "broken-spec"


def stream_dag_id(unit: str) -> str:
    """Return the id of a unit's DAG."""
    return f"stream_{unit}"


def house_dag(
    dag_id: str,
    *,
    doc: str,
    description: str,
    tags: tuple[Tag, ...],
    owner: str = DEFAULT_OWNER,
    schedule: CronTriggerTimetable | None = None,
    max_active_runs: int = 1,
    **arguments: Any,  # noqa: ANN401 - whatever else airflow.sdk.DAG takes
) -> DAG:
    """Return a DAG with the house's defaults; it registers itself with the file that is being parsed.

    Args:
        dag_id: its name.
        doc: Markdown for its page.
        description: one line for the list.
        tags: besides `Tag.SLUICE`.
        owner: who is asked about it.
        schedule: when it runs by itself; None: only when triggered.
        max_active_runs: how many runs may be active at once.
        **arguments: further arguments of `airflow.sdk.DAG`; they win.
    """
    defaults: Mapping[str, Any] = {
        "catchup": False,
        "is_paused_upon_creation": False,  # a unit that should run must not wait for somebody to find a switch
        "default_args": {
            "owner": owner,
            "retries": 3,
            "retry_delay": timedelta(seconds=10),
            "retry_exponential_backoff": 2.0,
            "max_retry_delay": timedelta(minutes=2),
            "execution_timeout": timedelta(minutes=5),
        },
    }
    return DAG(
        dag_id,
        schedule=schedule,
        doc_md=doc,
        description=description,
        tags={str(tag) for tag in (Tag.SLUICE, *tags)},
        max_active_runs=max_active_runs,
        **{**defaults, **arguments},
    )
