"""After a growth the DAG `topics` waits until the streams that read the topic have taken it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from airflow.sdk import DagRunState
from airflow.sdk.exceptions import AirflowFailException, TaskDeferred
from airflow.triggers.base import TriggerEvent

from sluice.airflow import runtime
from sluice.airflow.topics import growth_following
from sluice.airflow.topics.growth_following import GrowthOperator, GrowthTrigger
from sluice.errors import SluiceError, UnreachableError
from sluice.provisioning.growth.adoption import Followed, Growth, GrowthAdoption
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


@contextmanager
def quick_checks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth_following, "POLL", timedelta(milliseconds=10))
        yield


def grown(case: Case, observations: list[Observation], **conf: object) -> tuple[str, str]:
    """Let the topic grow while its raw stream is seen so; the last check stays. How the run and `follow` end."""

    def seen(_unit: str) -> Mapping[str, Observation]:
        return {"raw_sales": observations.pop(0) if len(observations) > 1 else observations[0]}

    with pressing(Person("ada"), "Approve"), quick_checks():
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


# The operator and its trigger alone


GROWTH = {"topic": "sales", "before": 2, "after": 4}
WAITS = Followed("sales", "raw_sales", GrowthAdoption.WAITS, "has yet to begin with sales/2")
READS = Followed("sales", "raw_sales", GrowthAdoption.READS, "reads sales/2")


class Seen:
    """A project whose streams are seen so, one after the other; the last one stays."""

    def __init__(self, *seen: list[Followed] | SluiceError) -> None:
        self.seen = list(seen)
        self.checks = 0
        self.topics = self

    def adoption(self, growths: object) -> list[Followed]:
        assert growths
        self.checks += 1
        found = self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]
        if isinstance(found, SluiceError):
            raise found
        return found


class Grew:
    """A task instance that answers with what has grown."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def xcom_pull(self, task_ids: str, key: str) -> dict[str, Any]:
        assert (task_ids, key) == ("apply", "grown")
        return {"growths": [Growth.of(GROWTH).as_dict()], "at": self.at.isoformat()}


def context(at: datetime | None = None) -> Any:  # noqa: ANN401 - Airflow's
    return {"ti": Grew(at or datetime.now(UTC)), "params": {"follow_minutes": 30}}


def seeing(monkeypatch: pytest.MonkeyPatch, *seen: list[Followed] | SluiceError) -> Seen:
    project = Seen(*seen)
    monkeypatch.setattr(runtime, "open_project", lambda: project)
    return project


def deferred(operator: GrowthOperator) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as raised:
        operator.execute(context())
    return raised.value


async def event_of(trigger: GrowthTrigger) -> TriggerEvent:
    async for event in trigger.run():
        return event
    raise AssertionError("it said nothing")


def test_it_waits_in_the_triggerer_which_checks_on_whatever_it_could_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    project = seeing(monkeypatch, [WAITS], UnreachableError("the broker is away."), [WAITS], [READS])
    with quick_checks():
        waits = deferred(GrowthOperator(task_id="follow"))
    kind, arguments = waits.trigger.serialize()
    assert kind == f"{GrowthTrigger.__module__}.{GrowthTrigger.__qualname__}"
    asyncio.run(asyncio.wait_for(event_of(GrowthTrigger(**arguments)), 60))
    assert project.checks == 4
    GrowthOperator(task_id="follow").resume(context(), {})


def test_a_trigger_whose_time_is_over_ends_and_the_task_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    seeing(monkeypatch, [WAITS])
    begun = datetime.now(UTC) - timedelta(minutes=31)
    trigger = GrowthTrigger([GROWTH], (begun + timedelta(minutes=30)).isoformat(), 3_600)
    asyncio.run(asyncio.wait_for(event_of(trigger), 60))
    with pytest.raises(AirflowFailException, match="has yet to begin with sales/2"):
        GrowthOperator(task_id="follow").resume(context(begun), {})


def test_a_triggerer_that_is_lost_has_the_task_check_and_wait_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seeing(monkeypatch, [WAITS])
    waits = deferred(GrowthOperator(task_id="follow"))
    assert timedelta(minutes=30) < cast(timedelta, waits.timeout) < timedelta(minutes=32)
    with pytest.raises(TaskDeferred):
        GrowthOperator(task_id="follow").resume_execution("__fail__", {"error": "Trigger timeout"}, context())
    seeing(monkeypatch, [READS])
    GrowthOperator(task_id="follow").resume_execution("__fail__", {"error": "Trigger timeout"}, context())
