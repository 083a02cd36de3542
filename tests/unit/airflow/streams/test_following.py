"""What is asked for after a watch has ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException, DagRunTriggerException

from sluice.airflow.streams.following import FollowOperator
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.governor import POLICIES
from tests.twins.opened_project import opened_project
from tests.twins.project import InMemoryProject


@pytest.fixture
def project() -> InMemoryProject:
    """A project whose unit `flights` runs at generation 1."""
    made = InMemoryProject()
    made.streams.life("flights").start("ada", "launch")
    made.clock.sleep(60)
    return made


def asked_for(project: InMemoryProject, *, broken: bool = False) -> DagRunTriggerException:
    follow = FollowOperator(task_id="follow", unit="flights", broken=broken, clock=project.clock)
    with opened_project(project), pytest.raises(DagRunTriggerException) as asked:
        follow.execute({"ti": None})  # type: ignore[typeddict-item]  # nothing of it is read
    return asked.value


def skipped(project: InMemoryProject, **more: Any) -> str:  # noqa: ANN401 - see `asked_for`
    with pytest.raises(AirflowSkipException) as skip:
        asked_for(project, **more)
    return str(skip.value)


def test_a_killed_driver_is_followed_at_once_by_one_run_that_reads_the_truth_itself(project: InMemoryProject) -> None:
    project.drivers.die("local.flights.g1", -9)
    project.streams.life("flights").record_end()
    asked = asked_for(project)
    assert (asked.trigger_dag_id, asked.dag_run_id) == ("stream_flights", "follow__local.flights.g1")
    assert asked.conf["action"] == "follow"
    assert asked.skip_when_already_exists
    assert asked.run_after is None or asked.run_after <= project.clock.now() + timedelta(days=10**4)


def test_a_backoff_is_waited_for_by_the_run_and_by_no_worker(project: InMemoryProject) -> None:
    project.drivers.die("local.flights.g1", 1)
    project.streams.life("flights").record_end()
    asked = asked_for(project)
    first = POLICIES[FailureClass.UNKNOWN].first
    assert project.clock.now() + first <= asked.run_after <= project.clock.now() + 1.5 * first


@pytest.mark.parametrize(
    ("exit_code", "why"), [(11, "HALTED"), (None, "not on record as ended")], ids=["halted", "alive"]
)
def test_nothing_follows_what_is_halted_or_alive(project: InMemoryProject, exit_code: int | None, why: str) -> None:
    if exit_code is not None:
        project.drivers.die("local.flights.g1", exit_code)
        project.streams.life("flights").record_end()
    assert why in skipped(project)


def test_nothing_follows_a_stop_or_broken_specs(project: InMemoryProject) -> None:
    project.drivers.die("local.flights.g1", -9)
    project.streams.life("flights").record_end()
    assert "specs are broken" in skipped(project, broken=True)
    project.streams.life("flights").stop("bob", "enough", 60)
    assert "it is not wanted to run" in skipped(project)
