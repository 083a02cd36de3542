"""Which batches run in the warm engine, and why others do not."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.devstack.supervision import Supervisor
from sluice.intervals.alignment import Interval
from sluice.project.project import Project
from sluice.settings import settings
from sluice.spark.session.warm import NICENESS, SessionChoice, choose_session, engine_job
from tests.twins.departures_project import DeparturesProject, hour

DAY = Interval(hour(0), hour(24))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose stack is up, with ten records of the first day and five of the second."""
    monkeypatch.setenv("SLUICE_BATCH_NICENESS", "19")
    project = DeparturesProject.create(tmp_path, monkeypatch).project
    monkeypatch.setattr(Supervisor, "is_up", lambda _: True)
    for first, count in ((0, 10), (24, 5)):
        times = pa.array([hour(first) + timedelta(minutes=n) for n in range(count)], pa.timestamp("us", "UTC"))
        write_deltalake(str(project.folder.table("flights_raw")), pa.table({"event_time": times}), mode="append")
    return project


def deployed(project: Project, **engine: object) -> Project:
    """Return the project in a deployment whose engine has these values."""
    deployment = project.deployment
    spark = deployment.spark.model_copy(update={"engine": deployment.spark.engine.model_copy(update=engine)})
    named = {deployment.name: deployment.model_copy(update={"spark": spark})}
    return Project(project.settings, replace(project.catalog, deployments=named))


def changed(project: Project, **values: object) -> Project:
    """Return the project with other values in its pipeline's spec."""
    spec = project.catalog.pipelines["departures"].model_copy(update=values)
    return Project(
        project.settings, replace(project.catalog, pipelines={**project.catalog.pipelines, "departures": spec})
    )


def chosen(project: Project, span: Interval | None = DAY) -> SessionChoice:
    return choose_session(project, "departures", span)


@pytest.mark.parametrize(("most", "span", "warm"), [(10, DAY, True), (9, DAY, False), (14, None, False)])
def test_the_records_of_the_files_decide(project: Project, most: int, span: Interval | None, warm: bool) -> None:
    found = chosen(deployed(project, records=most), span)
    assert found.warm is warm
    assert found.why == f"its files hold {10 if span else 15} records, and up to {most} run in the warm engine"


def test_a_deployment_may_have_none(project: Project) -> None:
    assert chosen(deployed(project, records=0)) == SessionChoice(False, "the deployment local has no warm engine")


def test_what_spark_submit_has_started_has_its_own_jvm(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert chosen(project) == SessionChoice(False, "spark-submit has started it")


def test_without_a_stack_none_is_started(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Supervisor, "is_up", lambda _: False)
    assert chosen(project) == SessionChoice(False, "no stack is up, and a warm engine is a part of it")


def test_one_would_hold_the_cores_of_a_cluster(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_SPARK_MASTER", "spark://host:7077")
    settings.cache_clear()
    found = chosen(Project(settings(), project.catalog))
    assert (found.warm, found.why.startswith("spark://host:7077 gives it its cores")) == (False, True)


@pytest.mark.parametrize(
    ("spark", "unlike"),
    [
        ({"spark.sql.shuffle.partitions": "3"}, ""),
        ({"spark.locality.wait": "1s"}, "spark.locality.wait"),
        ({"spark.sql.extensions": "a.B"}, "spark.sql.extensions"),
        ({"spark.driver.extraJavaOptions": "-Dx=1"}, "spark.driver.extraJavaOptions"),
    ],
)
def test_only_settings_that_a_session_can_change_may_differ(
    project: Project, spark: dict[str, str], unlike: str
) -> None:
    found = chosen(changed(project, spark=spark))
    assert found.warm is not bool(unlike)
    assert re.search(rf"sets {re.escape(unlike)}, which", found.why) or not unlike


def test_more_cores_or_memory_are_no_reason(project: Project) -> None:
    resources = project.catalog.pipelines["departures"].resources
    larger = resources.model_copy(update={"cores": 7, "driver_memory": "3g"})
    assert chosen(changed(project, resources=larger)).warm


def test_a_variable_of_the_users_does_not_reach_a_running_jvm(project: Project) -> None:
    resources = project.catalog.pipelines["departures"].resources
    found = chosen(changed(project, resources=resources.model_copy(update={"environment": ("AWS_PROFILE",)})))
    assert (found.warm, "names AWS_PROFILE" in found.why) == (False, True)


def test_its_process_gives_way_a_little_and_has_no_variable_of_a_pipeline(project: Project, tmp_path: Path) -> None:
    job = engine_job(project, tmp_path)
    assert job.environment["SLUICE_BATCH_NICENESS"] == str(NICENESS)
    assert job.inherits == frozenset()
    assert str(tmp_path) in job.argv
