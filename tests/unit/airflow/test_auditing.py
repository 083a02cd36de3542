"""The acts of tasks are on record: who triggered the run, with which form, and how it ended."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.airflow.auditing import ACTING_TASKS, acting_tasks, recording_callbacks
from sluice.audit.act import Act, ActOutcome
from sluice.audit.log import AuditLog
from sluice.audit.recording import remark
from sluice.errors import RefusedError
from tests.twins.clock import START


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    return tmp_path


def acts(state: Path) -> tuple[Act, ...]:
    return AuditLog(state / "audit").read().acts


def context(task: str, *, user: str | None = None, tried: int = 1, **values: object) -> dict[str, Any]:
    """Return what Airflow hands to a callback."""
    ti = SimpleNamespace(
        dag_id="stream_flights", run_id="run 1", task_id=task, map_index=-1, try_number=tried, start_date=START
    )
    run = SimpleNamespace(triggering_user_name=user)
    return {"ti": ti, "dag_run": run, "params": {"action": "stop", "reason": "maintenance"}, **values}


def call(kind: str, given: dict[str, Any]) -> None:
    for callback in recording_callbacks("stream_flights")[kind]:
        callback(given)


def test_what_a_user_triggers_is_theirs_with_the_form(state: Path) -> None:
    call("on_execute_callback", context("claim", user="grace"))
    (begun,) = acts(state)
    assert begun.outcome is ActOutcome.OPEN
    remark("by a second person")
    call("on_success_callback", context("claim", user="grace"))
    (act,) = acts(state)
    assert (act.who, act.through, act.at) == ("grace", "Airflow run run 1", START)
    assert act.what == "stream_flights claim"
    assert dict(act.arguments) == {"action": "stop", "reason": "maintenance"}
    assert (act.outcome, act.detail) == (ActOutcome.DONE, "by a second person")


def test_what_the_clock_triggers_is_its_dags(state: Path) -> None:
    call("on_success_callback", context("claim"))
    assert acts(state)[0].who == "DAG stream_flights"


def test_each_try_is_an_act_that_ends_by_itself_and_no_secret_is_in_its_error(state: Path) -> None:
    error = RuntimeError("postgresql://me:hunter22@db refuses")
    call("on_retry_callback", context("claim", exception=error))
    call("on_failure_callback", context("claim", tried=2, exception=error))
    first, second = acts(state)
    assert first.detail == "it is tried again; RuntimeError: postgresql://me:***@db refuses"
    assert (second.outcome, second.through) == (ActOutcome.FAILED, "Airflow run run 1, try 2")
    refused = RuntimeError("ends")
    refused.__cause__ = RefusedError("it runs.", fix="stop it.")
    call("on_failure_callback", context("claim", tried=4, exception=refused))
    assert (acts(state)[-1].outcome, acts(state)[-1].detail) == (
        ActOutcome.REFUSED,
        "RefusedError: it runs. Fix: stop it.",
    )
    call("on_skipped_callback", context("claim", tried=3))
    assert (acts(state)[-1].outcome, acts(state)[-1].detail) == (ActOutcome.DONE, "it was skipped")


def test_a_task_that_changes_nothing_is_not_on_record(state: Path) -> None:
    call("on_success_callback", context("watch"))
    assert acts(state) == ()


def test_a_callback_without_its_context_raises_nothing(state: Path, caplog: pytest.LogCaptureFixture) -> None:
    call("on_success_callback", {})
    assert acts(state) == ()
    assert "could not be put on record" in caplog.text


def test_dags_that_only_look_have_no_callbacks() -> None:
    assert recording_callbacks("quality_departures") == {}
    assert recording_callbacks("reconcile_streams") == {}
    assert acting_tasks("backfill_departures") == {"run"}
    assert acting_tasks("topics") == ACTING_TASKS["topics"]
