"""What a batch has used is on record however it ends, and no fault in that is the batch's. No Spark is started here."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import psutil
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
    """A session whose JVM is the process `pid`; every chain of Java's names leads here."""

    pid: int
    master: str = "local[2]"
    executors: list[Executor] = field(default_factory=list)

    def __getattr__(self, _name: str) -> FakeJvm:
        return self

    def __call__(self, *_arguments: object) -> FakeJvm:
        return self

    def getName(self) -> str:  # noqa: N802 - Java's
        return f"{self.pid}@machine"

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


def test_a_jvm_that_is_not_below_this_process_and_executors_count_for_as_long_as_the_batch_lasts(
    project: Project,
) -> None:
    jvm = FakeJvm(os.getpid(), "spark://m:7077", [Executor("driver", 10**6), Executor("0", 4_000)])
    before = user_seconds()
    with cost_recorded(project, session(jvm), Work.QUALITY, "departures", "r"):
        assert sum(range(20_000_000)) > 0
        used = user_seconds() - before
        jvm.executors += [Executor("1", 2_500)]
    (cost,) = project.records.costs().since(SystemClock().now().date())
    assert (cost.reading.work, cost.reading.subject, cost.reading.executor_seconds) == (Work.QUALITY, "departures", 2.5)
    assert used > 0.1
    # This process plays the JVM, too, so its work in the block counts once more.
    assert cost.reading.cpu_seconds >= before + 2 * used - 0.1


def test_a_jvm_below_this_process_counts_once(project: Project) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        with cost_recorded(project, session(FakeJvm(child.pid)), Work.QUALITY, "departures", "r"):
            used = user_seconds()
            assert sum(range(20_000_000)) > 0
            used = user_seconds() - used
        child.communicate(b"\n")
    (cost,) = project.records.costs().since(SystemClock().now().date())
    assert cost.reading.cpu_seconds <= sum(os.times()[:4]) + seconds_of_living() + 0.05
    assert used > 0.1


def seconds_of_living() -> float:
    """Return the processor time of the processes that other tests have left running below this one."""
    return sum(sum(child.cpu_times()[:4]) for child in psutil.Process().children(recursive=True))


def user_seconds() -> float:
    return os.times().user


def test_a_batch_that_fails_has_cost_all_the_same(project: Project) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        cost_recorded(project, session(FakeJvm(os.getpid())), Work.REPLAY, "departures", "r"),
    ):
        _ = 1 / 0
    (cost,) = project.records.costs().since(SystemClock().now().date())
    assert cost.reading.work is Work.REPLAY


def test_what_cannot_be_put_on_record_fails_no_batch(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    jvm = FakeJvm(os.getpid(), "spark://m:7077", executors=[Executor("0", 1)])
    with cost_recorded(project, session(jvm), Work.BACKFILL, "departures", "r"):
        jvm.executors[0].totalDuration = _gone  # type: ignore[method-assign]
    assert project.records.costs().since(SystemClock().now().date()) == []
    assert "the JVM is gone" in "".join(capsys.readouterr())


def test_a_jvm_that_cannot_be_seen_fails_no_batch(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    with cost_recorded(project, session(FakeJvm(2**22 + 1)), Work.BACKFILL, "departures", "r"):
        worked = True
    assert worked
    assert project.records.costs().since(SystemClock().now().date()) == []
    assert "is not on record" in "".join(capsys.readouterr())


def _gone() -> int:
    raise ConnectionError("the JVM is gone")


def test_without_a_cluster_there_is_no_time_of_executors() -> None:
    assert task_seconds(session(FakeJvm(os.getpid(), executors=[Executor("0", 1_000)]))) == 0.0
    assert task_seconds(session(FakeJvm(os.getpid(), "spark://m:7077", executors=[Executor("0", 1_000)]))) == 1.0
