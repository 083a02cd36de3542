"""Makes an alert about a failure from the context that Airflow passes to a callback."""

from __future__ import annotations

import secrets
import socket
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowException, AirflowTaskTimeout

from sluice.alerts.alert import Alert, Level
from sluice.errors import SluiceError
from sluice.specs.model.alerting import AlertClass

MAX_CHARACTERS = 2_000
"""Of one text: an exception may quote a whole plan."""

OPEN_THE_LOG = "Open the link and read the log of what failed."
"""The advice for errors without a fix."""

_NO_EXCEPTION = "The task raised nothing: Airflow lost its process (killed, out of memory, or the machine went down)."
_REASONS: Mapping[str, str] = {
    "timed_out": "It ran longer than it may (dagrun_timeout).",
    "all_tasks_deadlocked": "None of its tasks can ever run: each waits for one that will not come.",
}


@dataclass(frozen=True)
class DagSubject:
    """What a DAG is about, such as unit `flights` or pipeline `departures`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def task_alert(context: Mapping[str, Any], subject: DagSubject | None, now: datetime) -> Alert:
    """Return the alert about a task that has failed for good."""
    ti = context["ti"]
    error = context.get("exception")
    place = -1 if ti.map_index is None else ti.map_index
    mapped = f"[{getattr(ti, 'rendered_map_index', None) or place}]" if place >= 0 else ""
    lasting = str(getattr(ti.task, "alert_subject", ""))
    return Alert(
        id=new_id(),
        at=now,
        level=Level.TASK,
        what=f"Task {ti.task_id}{mapped} of DAG {ti.dag_id} failed{_about(subject or lasting)}",
        why=printable(reason(error, getattr(ti.task, "execution_timeout", None))),
        evidence=tuple(map(printable, (*_whose(context), *_facts(error)))),
        where=ti.log_url,
        what_to_do=printable(fix(error)),
        dag_id=ti.dag_id,
        run_id=ti.run_id,
        clearing=clearing(context),
        task_id=f"{ti.task_id}{mapped}",
        try_number=ti.try_number,
        host=getattr(ti, "hostname", None) or socket.gethostname(),
        subject=lasting,
        alert_class=getattr(ti.task, "alert_class", None) or AlertClass.FAILED_RUN,
        owner=owner_of(context),
    )


def dag_alert(context: Mapping[str, Any], subject: DagSubject | None, now: datetime) -> Alert:
    """Return the alert about a run that has failed. The context has no task instance if none is to blame."""
    dag_id, run_id, cause = context["dag"].dag_id, context["run_id"], str(context.get("reason") or "")
    blamed = context.get("ti")
    who = "A task" if blamed is None else f"Task {blamed.task_id}"
    return Alert(
        id=new_id(),
        at=now,
        level=Level.DAG,
        what=f"Run {run_id} of DAG {dag_id} failed{_about(subject)}",
        why=f"{who} failed." if cause == "task_failure" else _REASONS.get(cause, cause),
        evidence=tuple(map(printable, _whose(context))),
        where=run_url(dag_id, run_id),
        what_to_do="",
        dag_id=dag_id,
        run_id=run_id,
        clearing=clearing(context),
        host=socket.gethostname(),
        owner=owner_of(context),
    )


def reason(error: BaseException | str | None, limit: object = None) -> str:
    """Return why a task failed: the message of the Sluice error behind Airflow's, if there is one."""
    if isinstance(error, AirflowTaskTimeout):
        return f"It ran longer than it may (execution_timeout {limit})."
    if error is None or not str(error):
        return _NO_EXCEPTION if error is None else type(error).__name__
    for cause in causes(error):
        if isinstance(cause, SluiceError):
            return cause.message
    if isinstance(error, str | AirflowException):
        return str(error)
    return f"{type(error).__name__}: {error}"


def fix(error: BaseException | str | None) -> str:
    """Return the fix of the first Sluice error in the chain; empty if there is none."""
    return next((cause.fix for cause in causes(error) if isinstance(cause, SluiceError) and cause.fix), "")


def causes(error: BaseException | str | None) -> Iterator[BaseException]:
    """Yield an exception and what it was raised from, as a traceback shows them."""
    seen: set[int] = set()
    current = error if isinstance(error, BaseException) else None
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def printable(text: str) -> str:
    """Return a text that any terminal, file or mail can show: no control characters, and of bounded length."""
    text = text.encode(errors="replace").decode()
    text = "".join(character for character in text if character.isprintable() or character in "\n\t")
    left_out = len(text) - MAX_CHARACTERS
    return text if left_out <= 0 else f"{text[:MAX_CHARACTERS]} … ({left_out:,} more characters in the task's log)"


def run_url(dag_id: str, run_id: str) -> str:
    """Return the address of a run in Airflow's UI."""
    return f"{dag_url(dag_id)}/runs/{quote(run_id)}"


def dag_url(dag_id: str) -> str:
    """Return the address of a DAG in Airflow's UI."""
    base = conf.get("api", "base_url", fallback="") or "http://localhost:8080"
    return f"{base.rstrip('/')}/dags/{dag_id}"


def clearing(context: Mapping[str, Any]) -> int | None:
    """Return how often the run had been cleared; None if Airflow does not say."""
    number = getattr(context.get("dag_run"), "clear_number", None)
    return number if isinstance(number, int) else None


def owner_of(context: Mapping[str, Any]) -> str:
    """Return who owns the DAG; empty if it does not say."""
    return str(getattr(context.get("dag"), "owner", "") or "")


def new_id() -> str:
    """Return a new alert's id: short enough to be typed."""
    return secrets.token_hex(4)


def _about(subject: DagSubject | str | None) -> str:
    return f" ({subject})" if subject else ""


def _whose(context: Mapping[str, Any]) -> Sequence[str]:
    owner = owner_of(context)
    return (f"owner: {owner}",) if owner else ()


def _facts(error: BaseException | str | None) -> Iterator[str]:
    """Yield what is attached to the exceptions (`add_note`), and where the first of them was raised."""
    chain = list(causes(error))
    for cause in chain:
        yield from getattr(cause, "__notes__", ())
    frames = traceback.extract_tb(chain[-1].__traceback__) if chain else []
    if frames:
        yield f"raised at {frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name}"
