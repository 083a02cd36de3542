"""What every DAG of this project has in common: tags, owner, retries, and where its documentation comes from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Any

from airflow.sdk import DAG, Param, get_parsing_context
from airflow.sdk.bases.timetable import BaseTimetable
from airflow.sdk.configuration import conf
from airflow.timetables.base import Timetable

from sluice.airflow.alerts.alerting import FailureNotifier
from sluice.airflow.alerts.failure import DagSubject
from sluice.airflow.auditing import recording_callbacks
from sluice.alerts.alert import Level

DEFAULT_OWNER = "data-platform"
"""Who owns a DAG when no spec says otherwise."""


QUICK_RETRIES: Mapping[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=5)}
"""Of a task that only reads and decides, and whose DAG runs again within minutes. While a stack comes up, Airflow's own
server, or the control database, may not answer for a moment: that must send no alert."""


class Tag(StrEnum):
    """All tags in use: what the DAG list can be filtered by."""

    SLUICE = "sluice"
    TOPICS = "topics"
    STREAM = "stream"
    BACKFILL = "backfill"
    QUALITY = "quality"
    UPKEEP = "upkeep"
    BROKEN_SPEC = "broken-spec"


def reason_param(default: str) -> Param:
    """Return the field of a form that says why, which is never empty."""
    return Param(
        default,
        type="string",
        minLength=1,
        maxLength=500,
        title="Reason",
        description_md="Recorded with your name.",
    )


def give_form(dag: DAG, form: Mapping[str, Param]) -> None:
    """Give a DAG its params, after its tasks were made.

    A task copies what its DAG has when it is made, and Airflow validates every copy by JSON schema while it serialises
    the DAG: most of what parsing would cost. At run time a task has its DAG's params all the same.

    Args:
        dag: the DAG.
        form: the params, by name; not shared with another DAG, because a run writes into them.
    """
    dag.params.update(form)


def is_parsed(dag_id: str) -> bool:
    """Whether a DAG is to be built: the process of a task parses its file for the task's own DAG alone."""
    return get_parsing_context().dag_id in (None, dag_id)


_SUBJECTS: Mapping[str, str] = {"stream": "unit", "backfill": "pipeline", "quality": "pipeline", "mirror": "mirror"}
"""What a DAG named `<kind>_<name>` is about."""


def subject_of(dag_id: str) -> DagSubject | None:
    """Return what a DAG is about, by its id; None if it is about no one thing."""
    kind, _, name = dag_id.partition("_")
    return DagSubject(_SUBJECTS[kind], name) if kind in _SUBJECTS and name else None


def sluice_dag(
    dag_id: str,
    *,
    doc: str,
    description: str,
    tags: tuple[Tag, ...],
    owner: str = DEFAULT_OWNER,
    schedule: BaseTimetable | Timetable | None = None,
    max_active_runs: int = 1,
    **arguments: Any,  # noqa: ANN401 - whatever else airflow.sdk.DAG takes
) -> DAG:
    """Return a DAG with the house's defaults; it registers itself with the file that is being parsed.

    Its failures reach a person: each task's and the run's own, see `sluice.airflow.alerts.alerting`.

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
    return DAG(
        dag_id,
        schedule=schedule,
        doc_md=doc,
        description=description,
        tags={str(tag) for tag in (Tag.SLUICE, *tags)},
        max_active_runs=max_active_runs,
        **{**_configured(), **_defaults(dag_id, owner), **arguments},
    )


def _defaults(dag_id: str, owner: str) -> Mapping[str, Any]:
    subject = subject_of(dag_id)
    recording: dict[str, list[Any]] = {**recording_callbacks(dag_id)}
    failed = [FailureNotifier(Level.TASK, subject), *recording.pop("on_failure_callback", [])]
    return {
        "catchup": False,
        "is_paused_upon_creation": False,  # a unit that should run must not wait for a switch in Airflow's pages
        "on_failure_callback": FailureNotifier(Level.DAG, subject),
        "default_args": {
            "on_failure_callback": failed,
            **recording,
            "owner": owner,
            "retries": 3,
            "retry_delay": timedelta(seconds=10),
            "retry_exponential_backoff": 2.0,
            "max_retry_delay": timedelta(minutes=2),
            "execution_timeout": timedelta(minutes=5),
        },
    }


@cache
def _configured() -> Mapping[str, Any]:
    """Return what Airflow's configuration says of every DAG: it would be asked for each one."""
    return {
        "max_active_tasks": conf.getint("core", "max_active_tasks_per_dag"),
        "max_consecutive_failed_dag_runs": conf.getint("core", "max_consecutive_failed_dag_runs_per_dag"),
        "disable_bundle_versioning": conf.getboolean("dag_processor", "disable_bundle_versioning"),
    }
