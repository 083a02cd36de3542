"""What is said about a failure, from what Airflow gives a callback."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowTaskTimeout

from sluice.airflow.alerts.failure import (
    MAX_CHARACTERS,
    DagSubject,
    causes,
    dag_alert,
    fix,
    printable,
    reason,
    task_alert,
)
from sluice.airflow.dags.conventions import subject_of
from sluice.alerts.alert import Level
from sluice.errors import RefusedError, SluiceError

NOW = datetime(2026, 11, 5, 10, 0, tzinfo=UTC)


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause  # noqa: TRY301 - a traceback is what the test is about
    except Exception as caught:  # noqa: BLE001 - all that was raised
        return caught


def context(error: object = None, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - those of a task instance
    ti = SimpleNamespace(
        task_id="apply",
        dag_id="topics",
        run_id="r1",
        map_index=-1,
        try_number=2,
        hostname="vm",
        log_url="http://airflow/log",
        task=SimpleNamespace(execution_timeout=timedelta(minutes=5)),
    )
    for name, value in fields.items():
        setattr(ti, name, value)
    dag = SimpleNamespace(dag_id="topics", owner="data-platform")
    return {"ti": ti, "dag": dag, "dag_run": SimpleNamespace(clear_number=1), "run_id": "r1", "exception": error}


def test_our_error_behind_airflows_gives_the_reason_and_the_fix() -> None:
    ours = RefusedError("It differs.", fix="declare 2.")
    error = raised(AirflowFailException(str(ours)), ours)

    alert = task_alert(context(error), None, NOW)

    assert (alert.why, alert.what_to_do) == ("It differs.", "declare 2.")
    assert (alert.level, alert.task_id, alert.try_number, alert.host) == (Level.TASK, "apply", 2, "vm")
    assert (alert.dag_id, alert.run_id, alert.clearing, alert.where) == ("topics", "r1", 1, "http://airflow/log")


def test_what_is_attached_to_an_error_and_where_it_was_raised_is_evidence() -> None:
    ours = SluiceError("No.")
    ours.add_note("report: report.json")

    evidence = task_alert(context(raised(AirflowFailException("No."), raised(ours))), None, NOW).evidence

    assert evidence[:2] == ("owner: data-platform", "report: report.json")
    assert evidence[2].startswith(f"raised at {__file__}:")
    assert evidence[2].endswith(", in raised")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (AirflowFailException("It is dead."), "It is dead."),
        (KeyError("offset"), "KeyError: 'offset'"),
        (AssertionError(), "AssertionError"),
        ("a word from Airflow", "a word from Airflow"),
        (AirflowTaskTimeout("Timeout, PID: 1"), "It ran longer than it may (execution_timeout 0:05:00)."),
    ],
)
def test_any_failure_has_a_reason(error: object, why: str) -> None:
    assert task_alert(context(error), None, NOW).why == why


def test_a_process_that_was_lost_is_told_as_that() -> None:
    assert "Airflow lost its process" in task_alert(context(None), None, NOW).why


@pytest.mark.parametrize("place", [0, 3])
def test_a_mapped_task_is_named_with_its_place(place: int) -> None:
    alert = task_alert(context(map_index=place), DagSubject("pipeline", "departures"), NOW)

    assert alert.what == f"Task apply[{place}] of DAG topics failed (pipeline departures)"
    assert alert.task_id == f"apply[{place}]"


def test_a_mapped_task_that_has_a_label_is_named_by_it_and_says_what_it_is_about() -> None:
    task = SimpleNamespace(execution_timeout=None, alert_subject="topic flights")

    alert = task_alert(context(map_index=0, rendered_map_index="flights", task=task), None, NOW)

    assert alert.what == "Task apply[flights] of DAG topics failed (topic flights)"
    assert (alert.task_id, alert.subject) == ("apply[flights]", "topic flights")


@pytest.mark.parametrize(
    ("cause", "why"),
    [
        ("task_failure", "Task apply failed."),
        ("timed_out", "It ran longer than it may (dagrun_timeout)."),
        ("all_tasks_deadlocked", "None of its tasks can ever run: each waits for one that will not come."),
        ("something_new", "something_new"),
    ],
)
def test_a_run_fails_for_the_reason_that_airflow_gives(cause: str, why: str) -> None:
    alert = dag_alert({**context(), "reason": cause}, None, NOW)

    assert (alert.level, alert.task_id, alert.why) == (Level.DAG, None, why)
    assert alert.where.endswith("/dags/topics/runs/r1")


def test_a_run_without_a_task_to_blame_is_told_too() -> None:
    bare = {
        "dag": SimpleNamespace(dag_id="topics"),
        "run_id": "manual__2026-11-05T10:00:00+00:00",
        "reason": "timed_out",
    }

    alert = dag_alert(bare, None, NOW)

    assert alert.clearing is None
    assert alert.where.endswith("/runs/manual__2026-11-05T10%3A00%3A00%2B00%3A00")


def test_exceptions_that_go_in_a_circle_are_told_once_each() -> None:
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first

    assert list(causes(first)) == [first, second]


def test_a_cause_that_was_left_out_on_purpose_is_left_out() -> None:
    error = ValueError("shown")
    error.__context__, error.__suppress_context__ = SluiceError("hidden", fix="hidden"), True

    assert (reason(error), fix(error)) == ("ValueError: shown", "")


def test_a_text_is_bounded_and_holds_nothing_that_a_terminal_obeys() -> None:
    assert printable("a\x1b[31m\x00\udc80b\n\tc") == "a[31m?b\n\tc"
    assert printable("x" * (MAX_CHARACTERS + 5)).endswith("… (5 more characters in the task's log)")


def test_what_a_dag_is_about_is_told_by_its_name() -> None:
    assert str(subject_of("stream_flights")) == "unit flights"
    assert str(subject_of("backfill_departures")) == "pipeline departures"
    assert subject_of("topics") is None
    assert subject_of("reconcile_streams") is None
