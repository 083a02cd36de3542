"""After a growth the DAG `topics` waits until the streams that read the topic have taken it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from airflow.sdk import DagRunState

from sluice.streams.health.observation import Observation
from sluice.streams.life.launcher import DriverReport, DriverState
from tests.integration.airflow.people import Person
from tests.integration.airflow.topic_runs import GREEN, Case, own_topic, pressing, run

pytestmark = pytest.mark.usefixtures("airflow_database", "private_state", "no_runs")

NOW = datetime(2013, 1, 7, tzinfo=UTC)


@pytest.fixture
def case() -> Case:
    return own_topic(name="sales")


def evidence(read: int, *, end: int = 9, partitions: int = 4, state: DriverState = DriverState.RUNNING) -> Observation:
    """A stream that has read so much of each of the first partitions."""
    committed = {f"sales/{partition}": read for partition in range(partitions)}
    ends = {f"sales/{partition}": end for partition in range(4)}
    return Observation(NOW, DriverReport("key", state), committed, ends=ends, starts=dict.fromkeys(ends, 0))


def grown(case: Case, observations: list[Observation], **conf: object) -> tuple[str, str]:
    """Let the topic grow while its raw stream is seen so; the last check stays. How the run and `follow` end."""

    def seen(_unit: str) -> Mapping[str, Observation]:
        return {"raw_sales": observations.pop(0) if len(observations) > 1 else observations[0]}

    with pressing(Person("ada"), "Approve"):
        case.project.shown = seen
        ran = run(case.project, **conf)
    assert {**ran.tasks} == GREEN
    return ran.state, ran.followed


def test_it_ends_when_the_stream_reads_all_partitions_and_comes_nearer(case: Case) -> None:
    before, begun, nearer = evidence(4, partitions=2), evidence(4), evidence(8)
    assert grown(case, [before, begun, nearer]) == (DagRunState.SUCCESS, "success")


def test_a_stream_that_is_stopped_is_not_waited_for(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    stopped = replace(evidence(4, partitions=2, state=DriverState.ENDED), stop_requested=True)
    assert grown(case, [stopped]) == (DagRunState.SUCCESS, "success")
    assert "sales: raw_sales is stopped; it begins with the new partitions when it runs" in capsys.readouterr().out


@pytest.mark.verify
def test_a_stream_that_does_not_begin_in_time_fails_the_run(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    blind = evidence(4, partitions=2)
    assert grown(case, [blind], follow_minutes=0) == (DagRunState.FAILED, "failed")
    assert "sales: raw_sales has yet to begin with sales/2, sales/3" in capsys.readouterr().out


def test_without_a_growth_nothing_is_followed(case: Case) -> None:
    case.declare(partitions=2)
    ran = run(case.project)
    assert (ran.state, ran.followed) == (DagRunState.SUCCESS, "skipped")
