"""Drivers that fail at once, real processes under the real keeper: tried ever later, and not without end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life import governor
from sluice.streams.life.governor import RestartPolicy
from tests.editing import copy_project
from tests.integration.airflow.conftest import DRIVER
from tests.integration.following import follow
from tests.matrix.recording import FaultRecorder
from tests.waiting import eventually

UNIT, BUDGET = "flights", 4
FIRST = timedelta(seconds=0.5)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project whose drivers fail at once, and whose waits are as short as a test's patience."""
    policy = RestartPolicy(0, FIRST, timedelta(minutes=1), BUDGET)
    monkeypatch.setitem(governor.POLICIES, FailureClass.CODE, policy)
    home = tmp_path / "project"
    copy_project(home)
    (home / "spark_jobs" / "stream.py").write_text(f"raise SystemExit({int(ExitCode.CODE)})", encoding="utf-8")
    project = Project.open_strict(Settings(home=home, state=tmp_path / "state"))
    yield project
    project.streams.life(UNIT).stop("a test", "it is over", 10)


@pytest.mark.verify
@pytest.mark.proves("crash-loop")
@pytest.mark.timeout(120)
def test_drivers_that_fail_at_once_cost_their_budget_and_wait_for_a_person(
    project: Project, faults: FaultRecorder
) -> None:
    life, clock = project.streams.life(UNIT), SystemClock()

    def halted() -> str:
        return life.record_end().halted(clock.now())

    life.start("ada", "first start")
    eventually(lambda: follow(project, clock) is not None and bool(halted()), "it is HALTED", seconds=60)
    attempts = list(reversed(project.records.registry().attempts(UNIT)))
    assert [attempt.exit_code for attempt in attempts] == [ExitCode.CODE] * BUDGET
    faults.struck(f"{BUDGET} drivers ended with the exit code {int(ExitCode.CODE)}")
    waits = [after.intended_at - before.ended_at for before, after in pairwise(attempts) if before.ended_at is not None]
    assert len(waits) == BUDGET - 1
    assert all(wait >= FIRST * 2**number for number, wait in enumerate(waits)), waits

    assert [follow(project, clock) for _ in range(3)] == [[], [], []], "time ends no halt"
    assert "sluice streams resume" in halted()
    (project.settings.home / "spark_jobs" / "stream.py").write_text(DRIVER, encoding="utf-8")
    life.resume("ada", "mended")
    faults.recovered()
    assert life.observe().alive
    faults.alarms([why for why in [halted()] if why])
    faults.compared(f"attempts with the budget: {BUDGET}, and one for the person")
    assert project.records.registry().latest_attempt(UNIT) != attempts[-1]
