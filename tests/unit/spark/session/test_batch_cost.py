"""What a batch has used is on record however it ends, and no fault in that is the batch's. No Spark is started here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from sluice.capacity.costs import Work
from sluice.clock import SystemClock
from sluice.project.project import Project
from sluice.spark.session.batch_cost import cost_recorded, task_seconds
from tests.twins.departures_project import DeparturesProject


@dataclass
class Executor:
    """One of Spark's status store."""

    name: str
    milliseconds: int

    def id(self) -> str:
        return self.name

    def totalDuration(self) -> int:  # noqa: N802 - Spark's
        return self.milliseconds


@dataclass
class FakeJvm:
    """A session whose JVM is the process `pid`, and has used `nanoseconds`; every chain of Java's names leads here."""

    pid_: int
    master: str = "local[2]"
    nanoseconds: int = 0
    executors: list[Executor] = field(default_factory=list)

    def __getattr__(self, _name: str) -> FakeJvm:
        return self

    def __call__(self, *_arguments: object) -> FakeJvm:
        return self

    def pid(self) -> int:
        return self.pid_

    def getProcessCpuTime(self) -> int:  # noqa: N802 - Java's
        return self.nanoseconds

    def executorList(self, active_only: bool) -> FakeJvm:  # noqa: N802 - Spark's
        assert not active_only, "those that are gone have worked, too"
        return self

    def size(self) -> int:
        return len(self.executors)

    def apply(self, position: int) -> Executor:
        return self.executors[position]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return DeparturesProject.create(tmp_path, monkeypatch).project


def session(jvm: FakeJvm) -> SparkSession:
    return cast(SparkSession, jvm)


def test_a_shared_jvm_and_executors_count_for_as_long_as_the_batch_lasts(project: Project) -> None:
    jvm = FakeJvm(1, "spark://m:7077", 5 * 10**9, [Executor("driver", 10**6), Executor("0", 4_000)])
    with cost_recorded(project, session(jvm), Work.QUALITY, "departures", "r"):
        jvm.nanoseconds += 100 * 10**9
        jvm.executors += [Executor("1", 2_500)]
    (cost,) = project.records.costs().since(SystemClock().now().date())
    assert (cost.reading.work, cost.reading.subject, cost.reading.executor_seconds) == (Work.QUALITY, "departures", 2.5)
    own = sum(os.times()[:4])
    assert 100 < cost.reading.cpu_seconds <= 100 + own + 1


def test_a_batch_that_fails_has_cost_all_the_same(project: Project) -> None:
    with pytest.raises(ZeroDivisionError), cost_recorded(project, session(FakeJvm(1)), Work.REPLAY, "departures", "r"):
        _ = 1 / 0
    (cost,) = project.records.costs().since(SystemClock().now().date())
    assert cost.reading.work is Work.REPLAY


def test_what_cannot_be_put_on_record_fails_no_batch(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    jvm = FakeJvm(1, "spark://m:7077", executors=[Executor("0", 1)])
    with cost_recorded(project, session(jvm), Work.BACKFILL, "departures", "r"):
        jvm.executors[0].totalDuration = _gone  # type: ignore[method-assign]
    assert project.records.costs().since(SystemClock().now().date()) == []
    assert "the JVM is gone" in capsys.readouterr().out


def _gone() -> int:
    raise ConnectionError("the JVM is gone")


def test_without_a_cluster_there_is_no_time_of_executors() -> None:
    assert task_seconds(session(FakeJvm(1, executors=[Executor("0", 1_000)]))) == 0.0
    assert task_seconds(session(FakeJvm(1, "spark://m:7077", executors=[Executor("0", 1_000)]))) == 1.0
