"""A whole stack whose driver rests by plan: a tick of the real scheduler starts it, and so do records that come."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from sluice.delta.reading import read_rows
from sluice.devstack.stack import down
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from tests.own_stack import DAG, SOON, UNIT, OwnStack

pytestmark = [pytest.mark.verify, pytest.mark.timeout(2400)]
TICK = 700.0
"""Seconds until the next tick of five minutes has had its effect."""


class PlannedStack(OwnStack):
    """A stack whose pipeline says when its driver runs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "project", folder / "state")
        self.change("keep: open", "keep: all")

    def plan(self, line: str) -> None:
        """Have the pipeline say when its driver runs."""
        self.change(r"^(trigger|schedule|stop_when_idle): .*$", line)

    def ended(self, generation: int, failure: FailureClass, seconds: float) -> None:
        """Wait until it is on record that a driver has ended, and how."""

        def on_record() -> bool:
            attempt = self.attempt
            return attempt is not None and attempt.generation == generation and attempt.failure is not None

        self.eventually(on_record, f"driver {generation} has ended", seconds)
        attempt = self.attempt
        assert attempt is not None
        assert attempt.failure is failure, attempt

    def started(self, generation: int, seconds: float) -> None:
        """Wait until there is a driver of a generation."""
        self.eventually(
            lambda: (attempt := self.attempt) is not None and attempt.generation >= generation,
            f"driver {generation} is started",
            seconds,
        )

    def rests(self, health: Health) -> None:
        """Wait until every verdict says that it rests."""

        def resting() -> bool:
            verdicts = self.project.health.verdicts(UNIT)
            return bool(verdicts) and {verdict.health for verdict in verdicts.values()} == {health}

        self.eventually(resting, f"every stream is {health}")

    def has_read_all(self) -> None:
        raw = self.settings.state / "tables" / "flights_raw"
        self.eventually(lambda: (raw / "_delta_log").is_dir() and len(read_rows(raw)) == self.sent, f"read {self.sent}")

    def runs_by_the_clock(self) -> list[dict[str, object]]:
        """Return the runs of the unit's DAG that Airflow's scheduler has begun by itself, as it shows them."""
        return list(self.airflow._call("GET", f"/dags/{DAG}/dagRuns?run_type=scheduled")["dag_runs"])


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[PlannedStack]:
    stack = PlannedStack(tmp_path)
    try:
        yield stack
    finally:
        down(stack.settings)


def test_a_tick_of_the_scheduler_starts_a_driver_and_so_do_records_after_it_was_idle(stack: PlannedStack) -> None:
    stack.plan("schedule: '*/5 * * * *'")
    stack.up()
    stack.send(400)
    stack.start_stream("the first start is a person's")
    stack.ended(1, FailureClass.COMPLETED, TICK)
    stack.has_read_all()
    stack.rests(Health.SCHEDULED)

    # Nobody does anything but send: the next tick reads it.
    before, known = len(stack.runs_by_the_clock()), stack.attempt
    assert known is not None
    stack.send(400)
    stack.started(known.generation + 1, TICK)
    stack.has_read_all()
    stack.eventually(lambda: len(stack.runs_by_the_clock()) > before, "the scheduler has begun a run")
    newest = stack.attempt
    assert newest is not None
    stack.ended(newest.generation, FailureClass.COMPLETED, SOON)

    # The plan changes while the stack is up: the driver goes on until nothing comes, and comes back with records.
    stack.plan("stop_when_idle: 5 minutes")
    stack.started(newest.generation + 1, TICK)
    resting = stack.attempt
    assert resting is not None
    stack.ended(resting.generation, FailureClass.IDLE, timedelta(minutes=5).total_seconds() + 2 * SOON)
    stack.rests(Health.IDLE)
    stack.send(400)
    stack.started(resting.generation + 1, SOON)
    stack.has_read_all()
