"""The DAGs of mirrors, run by Airflow over the real launcher and control database; the process is a small one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk import DAG, DagRunState

from sluice.airflow.dags import mirrors as mirror_dags
from sluice.airflow.dags.mirrors import build_keep_mirrors_dag, build_mirror_dags
from sluice.airflow.runtime import open_project
from sluice.alerts.alert import Alert, Level
from sluice.alerts.journal import Journal
from sluice.errors import UnreachableError
from sluice.mirrors.lag import CopyLag, MirrorLag
from sluice.mirrors.report import FailoverReport
from sluice.mirrors.translation import Comparison
from sluice.project.mirroring.failover import Failover
from sluice.project.mirroring.mirrors import ProjectMirrors
from sluice.project.processes import ProjectProcesses
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.model.alerting import AlertClass
from sluice.streams.life.launcher import Job
from tests.integration.sink import running_sink

pytestmark = pytest.mark.usefixtures("airflow_database", "mirrored")
PROCESS = "import signal; signal.sigwait({signal.SIGTERM})"
NOW = datetime.now(UTC)


@pytest.fixture
def mirrored(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A mirror, whose process waits for SIGTERM, and which keeps up."""
    include = project.settings.home / "include"
    (include / "mirrors").mkdir()
    (include / "mirrors" / "standby.yaml").write_text(
        "name: standby\nsource: local\ntarget: compose\ntopics: [flights]\nrehearse: '@daily'\n"
    )
    monkeypatch.setenv("SLUICE_PASSWORD_KAFKA", "of the target")
    monkeypatch.setattr(ProjectProcesses, "mirror", lambda _self, _name: Job((sys.executable, "-c", PROCESS)))
    monkeypatch.setattr(ProjectMirrors, "refuse_foreign", lambda _self, _name: None)
    lags(monkeypatch, MirrorLag((CopyLag("flights/0", 5, 5),)))
    with running_sink() as sink:
        extra = {"config": {"path": sink.address}}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_ALERTS", json.dumps({"conn_type": "apprise", "extra": extra}))
        yield
    ProjectMirrors(open_project()).life("standby").stop("the test", "it is over", 10)


def lags(monkeypatch: pytest.MonkeyPatch, lag: MirrorLag | UnreachableError) -> None:
    def answer(_self: ProjectMirrors, _name: str) -> MirrorLag:
        if isinstance(lag, UnreachableError):
            raise lag
        return lag

    monkeypatch.setattr(ProjectMirrors, "lag", answer)


def keep() -> tuple[str, dict[str, str]]:
    run = build_keep_mirrors_dag().test()
    tasks: dict[str, Any] = {ti.rendered_map_index or ti.task_id: ti for ti in run.get_task_instances()}
    return run.state, {name: str(ti.state) for name, ti in tasks.items()}


def dag_of_mirror() -> DAG:
    (dag,) = (dag for dag in build_mirror_dags() if dag.dag_id == "mirror_standby")
    return dag


def act(action: str, **params: str) -> str:
    return str(dag_of_mirror().test(run_conf={"action": action, "reason": "to see", **params}).state)


def generation() -> int:
    attempt = ProjectMirrors(open_project()).life("standby").observe().attempt
    return 0 if attempt is None else attempt.generation


def alive() -> bool:
    return ProjectMirrors(open_project()).life("standby").observe().alive


def alerts() -> list[Alert]:
    return list(Journal(settings().folder.alerts).read().alerts)


def test_there_are_dags_for_declared_mirrors_alone(project: Project) -> None:
    assert [dag.dag_id for dag in build_mirror_dags()] == ["mirror_standby", "keep_mirrors"]
    (project.settings.home / "include" / "mirrors" / "standby.yaml").unlink()
    assert build_mirror_dags() == []


def test_a_mirror_is_started_kept_and_stopped() -> None:
    assert keep() == (DagRunState.SUCCESS, {"look": "success", "keep": "skipped"}), "nobody has asked for it"
    assert act("start") == DagRunState.SUCCESS
    assert (generation(), alive()) == (1, True)
    life = ProjectMirrors(open_project()).life("standby")
    desired = life.registry.desired("mirror_standby")
    assert desired is not None
    assert desired.why == "to see"
    assert keep()[1] == {"look": "success", "keep": "skipped"}

    attempt = life.observe().attempt
    assert attempt is not None
    life.launcher.kill(attempt.key)
    assert keep() == (DagRunState.SUCCESS, {"look": "success", "standby": "success"})
    assert (generation(), alive()) == (2, True), "it died, and is started again"

    assert act("stop") == DagRunState.SUCCESS
    assert not alive()
    assert keep()[1] == {"look": "success", "keep": "skipped"}
    assert generation() == 2
    assert alerts() == []


def test_one_that_is_behind_or_unknown_alerts_once_and_once_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    act("start")
    monkeypatch.setattr("sluice.mirrors.lag._START", timedelta(0))
    late = CopyLag("flights/0", 5, 9, NOW - timedelta(hours=1))
    lags(monkeypatch, MirrorLag((late,)))
    for _ in range(2):
        assert keep() == (DagRunState.FAILED, {"look": "success", "standby": "failed"})
    (alert,) = alerts()
    assert (alert.subject, alert.alert_class) == ("mirror standby", AlertClass.DEADLINE)
    assert alert.why == "It is more than 5 minutes behind."
    assert "sluice mirror logs standby" in alert.what_to_do

    lags(monkeypatch, MirrorLag((replace(late, end=5),)))
    assert keep()[0] == DagRunState.SUCCESS
    assert len(alerts()) == 1, "it has only just become well"
    monkeypatch.setattr("sluice.mirrors.alerting.WELL_FOR", timedelta(0))
    assert keep()[0] == DagRunState.SUCCESS
    assert [each.level for each in alerts()][1:] == [Level.RECOVERY]

    lags(monkeypatch, UnreachableError("no broker answers."))
    assert keep()[0] == DagRunState.FAILED
    assert alerts()[-1].alert_class is AlertClass.UNKNOWN
    assert alive(), "what is not known is not restarted"


def test_a_rehearsal_is_red_if_it_is_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def rehearse(self: Failover) -> FailoverReport:
        asked.append(self.unit.name)
        missing = (7,) if len(asked) > 1 else ()
        return FailoverReport(
            self.name, self.unit.name, "compose", NOW, rehearsal=True, compared={"flights/0": Comparison(9, missing)}
        )

    monkeypatch.setattr(Failover, "rehearse", rehearse)
    assert act("rehearse") == DagRunState.SUCCESS
    assert act("rehearse", unit="flights") == DagRunState.FAILED
    assert asked == ["flights", "flights"]
    assert any("flights would not be exact" in alert.why for alert in alerts())
    assert act("rehearse", unit="nothing") == DagRunState.FAILED
    assert any("there is no unit 'nothing'" in alert.why for alert in alerts())


def test_each_task_has_what_every_task_has() -> None:
    for dag in build_mirror_dags():
        assert dag.doc_md
        for task in dag.tasks:
            assert task.doc_md, task.task_id
            assert task.execution_timeout, task.task_id
    assert dag_of_mirror().timetable is not None
    assert set(mirror_dags.ACTIONS) == {"start", "stop", "rehearse"}
