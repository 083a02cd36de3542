"""The watch, resumed by hand: what it makes of hints and of the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException, TaskDeferred

from sluice.airflow import runtime
from sluice.airflow.streams.trigger import StreamTrigger
from sluice.airflow.streams.watch import WatchOperator
from sluice.airflow.streams.watcher import Hint
from sluice.errors import SpecError
from sluice.project.project import Project
from tests.twins.clock import ManualClock
from tests.twins.opened_project import opened_project
from tests.twins.project import InMemoryProject

LIMIT = timedelta(hours=1)


@dataclass
class FakeTaskInstance:
    """Knows what `submit` returned."""

    generation: int

    def xcom_pull(self, task_ids: str) -> dict[str, Any]:
        assert task_ids == "submit"
        return {"generation": self.generation}


@pytest.fixture
def project() -> Iterator[InMemoryProject]:
    """A project whose unit `flights` runs at generation 1."""
    made = InMemoryProject()
    made.streams.life("flights").start("ada", "launch")
    with opened_project(made):
        yield made


@pytest.fixture
def watch(project: InMemoryProject) -> WatchOperator:
    return operator(project)


def operator(project: InMemoryProject) -> WatchOperator:
    return WatchOperator(task_id="watch", unit="flights", limit=LIMIT, clock=project.clock)


def deferral(watch: WatchOperator, generation: int = 1) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as deferred:
        watch.execute({"ti": FakeTaskInstance(generation)})
    return deferred.value


def resume(watch: WatchOperator, hint: Hint, deferred: TaskDeferred) -> str:
    _, arguments = deferred.trigger.serialize()
    return getattr(watch, deferred.method_name)({}, event={**arguments, "hint": hint.value})


def pass_time(clock: ManualClock, delta: timedelta) -> None:
    clock.sleep(delta.total_seconds())


def test_a_watch_defers_without_a_check_and_its_trigger_holds_ids_only(
    project: InMemoryProject, watch: WatchOperator
) -> None:
    project.drivers.reachable = False

    deferred = deferral(watch)

    path, arguments = deferred.trigger.serialize()
    assert path == "sluice.airflow.streams.trigger.StreamTrigger"
    assert arguments == {"unit": "flights", "generation": 1, "until": (project.clock.now() + LIMIT).isoformat()}
    assert StreamTrigger(**arguments).serialize() == (path, arguments)


def test_a_hint_without_anything_to_see_watches_on_until_the_same_time(
    project: InMemoryProject, watch: WatchOperator
) -> None:
    first = deferral(watch)
    pass_time(project.clock, LIMIT / 2)

    with pytest.raises(TaskDeferred) as again:
        resume(watch, Hint.CHANGED, first)

    assert again.value.trigger.serialize() == first.trigger.serialize()


def test_a_stop_on_record_ends_the_watch_green(project: InMemoryProject, watch: WatchOperator) -> None:
    deferred = deferral(watch)
    project.streams.life("flights").stop("ada", "upgrade", 60)

    assert "ada requested the stop (upgrade)" in resume(watch, Hint.CHANGED, deferred)


def test_a_death_that_nobody_asked_for_fails_for_good_and_says_what_to_do(
    project: InMemoryProject, watch: WatchOperator
) -> None:
    deferred = deferral(watch)
    project.drivers.die("local.flights.g1", -9)
    project.streams.life("flights").record_end()
    pass_time(project.clock, timedelta(minutes=1))

    with pytest.raises(AirflowFailException, match=r"was killed by signal 9.*sluice streams logs flights"):
        resume(watch, Hint.CHANGED, deferred)


def test_a_halt_is_red_with_its_reason_and_the_log_ends_with_the_attempts(
    project: InMemoryProject, watch: WatchOperator, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    deferred = deferral(watch)
    pass_time(project.clock, timedelta(minutes=2))
    project.drivers.die("local.flights.g1", 12)
    pass_time(project.clock, timedelta(minutes=1))

    with pytest.raises(AirflowFailException, match=r"It is HALTED: generation 1.*resume flights"):
        resume(watch, Hint.CHANGED, deferred)

    said = caplog.text + capsys.readouterr().out
    assert "Generation 1: started 2013-01-07 12:00:00 UTC, lived 2 min 00 s, ended" in said
    assert "Next: HALTED: generation 1 failed" in said


def test_a_restart_under_way_is_no_death(project: InMemoryProject, watch: WatchOperator) -> None:
    deferred = deferral(watch)
    project.drivers.die("local.flights.g1", 0)

    with pytest.raises(TaskDeferred):
        resume(watch, Hint.CHANGED, deferred)


def test_a_newer_generation_ends_the_watch_green(project: InMemoryProject, watch: WatchOperator) -> None:
    deferred = deferral(watch)
    project.streams.life("flights").restart("ada", "upgrade", 60)

    assert "Generation 2 took over" in resume(watch, Hint.CHANGED, deferred)


def test_unknown_is_watched_on(project: InMemoryProject, watch: WatchOperator) -> None:
    deferred = deferral(watch)
    project.drivers.reachable = False

    with pytest.raises(TaskDeferred):
        resume(watch, Hint.CHANGED, deferred)


def test_a_project_that_cannot_be_opened_says_nothing_about_the_driver(
    project: InMemoryProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    deferred = deferral(operator(project))

    def refuse() -> Project:
        raise SpecError("the deployment is broken.")

    monkeypatch.setattr(runtime, "open_project", refuse)
    watch = WatchOperator(task_id="watch", unit="flights", clock=project.clock)
    with pytest.raises(TaskDeferred):
        resume(watch, Hint.CHANGED, deferred)


def test_a_day_ends_the_watch_green_even_when_nothing_can_be_seen(
    project: InMemoryProject, watch: WatchOperator
) -> None:
    deferred = deferral(watch)
    project.drivers.reachable = False
    pass_time(project.clock, LIMIT)

    assert "the reconciler attaches a new watch" in resume(watch, Hint.DAY_OVER, deferred)


def test_a_younger_watch_takes_over(watch: WatchOperator) -> None:
    assert "A younger run watches generation 1" in resume(watch, Hint.HANDED_OVER, deferral(watch))


def test_a_death_is_red_even_if_the_hint_was_another(project: InMemoryProject, watch: WatchOperator) -> None:
    deferred = deferral(watch)
    project.drivers.die("local.flights.g1", None)
    project.streams.life("flights").record_end()
    pass_time(project.clock, LIMIT)

    with pytest.raises(AirflowFailException):
        resume(watch, Hint.DAY_OVER, deferred)
