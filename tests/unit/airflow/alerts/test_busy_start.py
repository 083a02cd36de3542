"""A stack that comes up on a busy machine: what does not answer for a moment calls nobody, and delays no alert."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.dag_processing.processor import ToDagProcessor
from airflow.sdk import DAG
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ToTask
from pydantic import TypeAdapter

from sluice.airflow.alerts.alerting import FailureNotifier, answers_about_runs
from sluice.airflow.dags.reconciler import build_reconcile_dag
from sluice.airflow.dags.repair import build_repair_dag
from sluice.alerts.journal import Journal
from sluice.settings import settings


def supervised_by(union: object, monkeypatch: pytest.MonkeyPatch) -> None:
    comms = SimpleNamespace(body_decoder=TypeAdapter(union))
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", comms, raising=False)


def test_airflow_is_asked_about_runs_where_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    supervised_by(ToTask, monkeypatch)
    assert answers_about_runs()


def test_the_dag_processor_is_asked_nothing_that_it_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It kept the callback waiting until it killed it, and the alert was lost with it."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    supervised_by(ToDagProcessor, monkeypatch)

    def get_dr_count(**_asked: object) -> int:
        pytest.fail("nobody answers it")

    ti = SimpleNamespace(
        dag_id="repair_intervals",
        task_id="decide",
        run_id="r1",
        map_index=-1,
        try_number=1,
        log_url="",
        hostname="vm",
        task=SimpleNamespace(execution_timeout=None),
        get_dr_count=get_dr_count,
    )
    dag, dag_run = SimpleNamespace(dag_id="repair_intervals", owner="data"), SimpleNamespace(clear_number=0)
    FailureNotifier(find=lambda _channel: []).notify({"ti": ti, "dag": dag, "dag_run": dag_run})  # type: ignore[typeddict-item]
    (alert,) = Journal(settings().folder.alerts).read().alerts
    assert (alert.dag_id, alert.successes) == ("repair_intervals", None)


@pytest.mark.parametrize("build", [build_reconcile_dag, build_repair_dag])
def test_what_does_not_answer_for_a_moment_fails_no_run_that_only_decides(build: Callable[[], DAG]) -> None:
    assert build().get_task("decide").retries == 2
