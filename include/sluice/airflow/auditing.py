"""Which tasks change something, and their record in the audit log: at one place, where DAGs get their defaults."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partialmethod
from typing import Any

from airflow.sdk import Context

from sluice.audit.act import Act, ActOutcome
from sluice.audit.recording import ActRecorder, Doer, outcome_of, why_of
from sluice.errors import SluiceError

log = logging.getLogger(__name__)

ACTING_TASKS: Mapping[str, frozenset[str]] = {
    "topics": frozenset({"approve", "apply"}),
    "stream": frozenset({"claim"}),
    "backfill": frozenset({"run"}),
    "mirror": frozenset({"act"}),
    "keep_mirrors": frozenset({"keep"}),
    "replay_case": frozenset({"replay"}),
    "prove_weekly": frozenset({"prove"}),
    "lift_throttles": frozenset({"lift"}),
    "compact_tables": frozenset({"compact", "retain"}),
    "remove_old_records": frozenset({"remove"}),
    "keep_ledger": frozenset({"forget", "states"}),
}
"""DAG, or the kind of `<kind>_<name>` → the tasks of it that are recorded.

Not those that compare, watch or decide, nor those that write what can be computed again (the ledger's copy, the index,
a quality result), nor what follows from a recorded one (`submit` from `claim`)."""


def acting_tasks(dag_id: str) -> frozenset[str]:
    """Return the tasks of a DAG that are recorded."""
    return ACTING_TASKS.get(dag_id) or ACTING_TASKS.get(dag_id.partition("_")[0], frozenset())


class TaskActs:
    """A callback of tasks that records the beginning or the end of the acts among them. It raises nothing.

    Args:
        tasks: which of them are acts.
        outcome: what the callback says of a task.
        said: what is added to its record.
    """

    def __init__(self, tasks: frozenset[str], outcome: ActOutcome, said: str = "") -> None:
        self.tasks = tasks
        self.outcome = outcome
        self._said = said

    def _record(self, context: Context) -> None:
        values: Mapping[str, Any] = context
        try:
            if values["ti"].task_id in self.tasks:
                self._put(values)
        except Exception:
            log.exception("An act could not be put on record.")

    __call__ = partialmethod(_record)
    """See `FailureNotifier.__call__`."""

    def _put(self, values: Mapping[str, Any]) -> None:
        recorder = ActRecorder.of_project()
        act = described(recorder, values)
        if self.outcome is ActOutcome.OPEN:
            recorder.begin(act)
        else:
            error = None if self.outcome is ActOutcome.DONE else _decisive(values.get("exception"))
            outcome = self.outcome if error is None else outcome_of(error)
            why = "" if error is None else why_of(error)
            recorder.end(act, outcome, "; ".join(filter(None, (self._said, why))))


def _decisive(error: object) -> BaseException | None:
    """Return our own error where Airflow's stands for it, see `retried_only_if_unknown`."""
    cause = getattr(error, "__cause__", None)
    found = cause if isinstance(cause, SluiceError) else error
    return found if isinstance(found, BaseException) else None


def described(recorder: ActRecorder, values: Mapping[str, Any]) -> Act:
    """Return the act of a task, by its context: the same at its beginning and at its end, but for the time.

    A run that a user has triggered is theirs, with its form; any other is its DAG's.
    """
    ti = values["ti"]
    run = values.get("dag_run")
    user = getattr(run, "triggering_user_name", None)
    index = getattr(ti, "map_index", -1)
    task = ti.task_id if index in {None, -1} else f"{ti.task_id}[{index}]"
    tried = getattr(ti, "try_number", 1)
    again = f", try {tried}" if tried > 1 else ""
    return recorder.described(
        f"{ti.dag_id} {task}",
        Doer(user or f"DAG {ti.dag_id}", f"Airflow run {ti.run_id}{again}"),
        dict(values.get("params") or {}),
        act_id=f"{ti.dag_id}/{ti.run_id}/{task}/{tried}",
        at=getattr(ti, "start_date", None),
    )


def recording_callbacks(dag_id: str) -> dict[str, list[TaskActs]]:
    """Return the callbacks, by Airflow's names, that record the acts of a DAG; none if it has no acts."""
    if not (tasks := acting_tasks(dag_id)):
        return {}
    return {
        "on_execute_callback": [TaskActs(tasks, ActOutcome.OPEN)],
        "on_success_callback": [TaskActs(tasks, ActOutcome.DONE)],
        "on_skipped_callback": [TaskActs(tasks, ActOutcome.DONE, "it was skipped")],
        "on_retry_callback": [TaskActs(tasks, ActOutcome.FAILED, "it is tried again")],
        "on_failure_callback": [TaskActs(tasks, ActOutcome.FAILED)],
    }
