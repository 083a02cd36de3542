"""What people and Airflow do to runs and tasks, done to a real stack: the driver does not notice, and is watched on.

The driver is real and does nothing; Airflow, broker, launcher and control database are those of `sluice up`.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sluice.devstack.stack import down, up
from sluice.settings import Settings
from sluice.streams.life.attempts import AttemptState, Desired
from tests.editing import copy_project
from tests.integration.airflow.conftest import DRIVER
from tests.matrix.recording import FaultRecorder
from tests.verify.orchestrator import DAG, UNIT, Orchestrator, Truth, unchanged
from tests.waiting import eventually

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]

SAME_DRIVER = "drivers, keys, generation and desired state, all the time"
RENAMED = """
from sluice.airflow.dags import streams

class Renamed(streams.WatchOperator):
    def __init__(self, *, task_id, **arguments):
        super().__init__(task_id="look_after", **arguments)

streams.WatchOperator = Renamed
streams.build_stream_dags()
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Orchestrator]:
    """A stack of a project with the streams' DAGs only, whose drivers wait to be stopped."""
    folder = tmp_path_factory.mktemp("odd")
    place = Settings(home=project_in(folder / "home"), state=folder / "state")
    try:
        up(place)
        yield Orchestrator(place)
    finally:
        down(place)


def project_in(home: Path) -> Path:
    source = Settings().home
    copy_project(home)
    (home / "spark_jobs" / "stream.py").write_text(DRIVER, encoding="utf-8")
    for name in ("dags/streams.py", "dags/upkeep.py", "plugins/sluice_plugin.py"):
        (home / name).parent.mkdir(exist_ok=True)
        shutil.copy(source / name, home / name)
    return home


@pytest.fixture
def orchestrator(stack: Orchestrator) -> Orchestrator:
    """The stack, with a driver that one task watches."""
    stack.start()
    return stack


def newest_run(orchestrator: Orchestrator) -> str:
    return orchestrator.airflow.runs(DAG)[-1]


def watch_of(run_id: str) -> str:
    """Return where the watch of a run is found."""
    return f"/dags/{DAG}/dagRuns/{run_id}/taskInstances/watch"


def clear(orchestrator: Orchestrator, run_id: str, *tasks: str) -> None:
    body = {"dry_run": False, "only_failed": False, "dag_run_id": run_id, "task_ids": list(tasks)}
    orchestrator.call("POST", f"/dags/{DAG}/clearTaskInstances", body)


def test_runs_that_are_triggered_while_one_watches_adopt_and_one_of_them_watches_on(
    orchestrator: Orchestrator,
) -> None:
    with unchanged(orchestrator):
        elder = orchestrator.watches()[0]["dag_run_id"]
        runs = [elder, *(orchestrator.airflow.trigger(DAG, {"action": "start", "reason": "again"}) for _ in range(3))]

        def handed_over() -> bool:
            states = [orchestrator.airflow.run(DAG, run).state for run in runs]
            return sorted(states) == ["running", "success", "success", "success"] and states[0] == "success"

        eventually(handed_over, "all but one have ended green, the elder among them")
        eventually(orchestrator.watched, "that one watches")


@pytest.mark.parametrize("tasks", [("watch",), ("claim", "submit", "watch", "follow")], ids=["the watch", "all tasks"])
@pytest.mark.proves("run-cleared")
def test_a_cleared_watch_watches_again(
    orchestrator: Orchestrator, tasks: tuple[str, ...], faults: FaultRecorder
) -> None:
    run_id = newest_run(orchestrator)
    with unchanged(orchestrator):
        tried = orchestrator.call("GET", watch_of(run_id))["try_number"]
        clear(orchestrator, run_id, *tasks)
        eventually(lambda: orchestrator.call("GET", watch_of(run_id))["try_number"] > tried, "it is tried again")
        faults.struck(f"the watch of {run_id} is tried once more than {tried} times")
        eventually(orchestrator.watched, "it is watched again")
        faults.recovered()
    faults.compared(SAME_DRIVER)


Treatment = Callable[[Orchestrator, str], object]
"""What is done to a run that watches."""


def mark_task(state: str) -> Treatment:
    return lambda orchestrator, run_id: orchestrator.call("PATCH", watch_of(run_id), {"new_state": state})


def mark_run(state: str) -> Treatment:
    return lambda orchestrator, run_id: orchestrator.call("PATCH", f"/dags/{DAG}/dagRuns/{run_id}", {"state": state})


def delete_run(orchestrator: Orchestrator, run_id: str) -> None:
    mark_run("failed")(orchestrator, run_id)  # Airflow deletes no run that is running, if only for its teardown
    path = f"/dags/{DAG}/dagRuns/{run_id}"
    eventually(lambda: orchestrator.airflow._send("DELETE", path).is_success, "the run is deleted")


@pytest.mark.parametrize(
    "treat",
    [
        pytest.param(mark_task("success"), id="watch marked success"),
        pytest.param(mark_task("failed"), id="watch marked failed"),
        pytest.param(mark_run("success"), id="run marked success"),
        pytest.param(mark_run("failed"), id="run marked failed"),
        pytest.param(delete_run, id="run deleted"),
    ],
)
@pytest.mark.proves("run-cleared")
def test_a_run_that_was_marked_or_deleted_stops_nothing_and_the_reconciler_watches_again(
    orchestrator: Orchestrator, treat: Treatment, faults: FaultRecorder
) -> None:
    run_id = newest_run(orchestrator)
    with unchanged(orchestrator):
        treat(orchestrator, run_id)
        eventually(lambda: not watches_in(orchestrator, run_id), "that watch is over")
        faults.struck(f"the watch of {run_id} is over")
        eventually(lambda: not active(orchestrator) or orchestrator.watched(), "that run is over")
        orchestrator.reconcile()
        eventually(orchestrator.watched, "another run watches")
        assert not watches_in(orchestrator, run_id)
        faults.recovered()
    faults.compared(SAME_DRIVER)


def watches_in(orchestrator: Orchestrator, run_id: str) -> bool:
    return any(watch["dag_run_id"] == run_id for watch in orchestrator.watches())


def active(orchestrator: Orchestrator) -> bool:
    runs = orchestrator.airflow.runs(DAG)
    return any(orchestrator.airflow.run(DAG, run).state in {"queued", "running"} for run in runs)


def test_a_dag_that_is_deleted_and_comes_back_finds_its_driver(orchestrator: Orchestrator) -> None:
    file = orchestrator.place.home / "dags" / "streams.py"
    text = file.read_text(encoding="utf-8")
    with unchanged(orchestrator):
        file.unlink()
        eventually(lambda: deleted(orchestrator), "the DAG is gone")
        file.write_text(text, encoding="utf-8")
        eventually(lambda: not deleted(orchestrator, again=False), "the DAG is back")
        orchestrator.reconcile()
        eventually(orchestrator.watched, "it is watched again")


def deleted(orchestrator: Orchestrator, *, again: bool = True) -> bool:
    """Whether Airflow has no such DAG; it is deleted once more, because a parse that was under way brings it back."""
    response = orchestrator.airflow._send("DELETE" if again else "GET", f"/dags/{DAG}")
    return response.status_code == 404


def test_a_watch_that_was_renamed_while_it_was_deferred_is_followed_by_one_of_the_new_name(
    orchestrator: Orchestrator,
) -> None:
    file = orchestrator.place.home / "dags" / "streams.py"
    text = file.read_text(encoding="utf-8")
    try:
        with unchanged(orchestrator):
            file.write_text(RENAMED, encoding="utf-8")
            eventually(lambda: "look_after" in tasks_of(orchestrator), "the task has another name")
            orchestrator.reconcile()
            eventually(lambda: watches_as(orchestrator, "look_after"), "the task of the new name watches")
        (driver,) = orchestrator.truth().drivers
        os.kill(driver, signal.SIGKILL)  # the event of the task that is no more is lost; the other's is not
        after = eventually_followed(orchestrator)
        eventually(lambda: watches_as(orchestrator, "look_after"), "the next generation is watched")
        assert orchestrator.truth() == after
    finally:
        file.write_text(text, encoding="utf-8")
        eventually(lambda: "watch" in tasks_of(orchestrator), "the task has its name again")


def tasks_of(orchestrator: Orchestrator) -> set[str]:
    return {found["task_id"] for found in orchestrator.call("GET", f"/dags/{DAG}/tasks")["tasks"]}


def watches_as(orchestrator: Orchestrator, task_id: str) -> bool:
    return any(watch["task_id"] == task_id for watch in orchestrator.watches())


def eventually_followed(orchestrator: Orchestrator) -> Truth:
    """Wait until a death is followed by the next generation, and return what is true then."""
    generation = orchestrator.truth().generation
    eventually(lambda: orchestrator.truth().generation == generation + 1, "the death is followed")
    eventually(lambda: orchestrator.truth().state is AttemptState.BOUND, "the next generation is bound")
    return orchestrator.truth()


def test_two_schedulers_and_two_triggerers_start_one_driver_and_disturb_none(orchestrator: Orchestrator) -> None:
    orchestrator.project.streams.life(UNIT).stop("a test", "to be started by two", 30)
    eventually(lambda: not orchestrator.watches(), "nobody watches what was stopped")
    before = orchestrator.truth()
    with ExitStack() as doubled:
        for component in ("scheduler", "triggerer"):
            doubled.enter_context(orchestrator.another(component))
        for _ in range(3):
            orchestrator.airflow.trigger(DAG, {"action": "start", "reason": "three at once"})
        after = eventually_followed(orchestrator)
        assert len(after.drivers) == 1
        assert set(after.keys) - set(before.keys) == {f"local.{UNIT}.g{after.generation}"}
        assert after.wish is Desired.RUNNING
        with unchanged(orchestrator):
            eventually(lambda: once_in_each(orchestrator), "each triggerer has at most one watch")
            clear(orchestrator, orchestrator.watches()[0]["dag_run_id"], "watch")
            orchestrator.airflow.trigger(DAG, {"action": "start", "reason": "once more"})
            orchestrator.reconcile()
            eventually(lambda: once_in_each(orchestrator), "each triggerer has at most one watch again")
    with unchanged(orchestrator):  # Airflow gives the watches of a triggerer that is gone to the other, after a while
        eventually(orchestrator.watched, "one watches where there is one triggerer", seconds=300)


def once_in_each(orchestrator: Orchestrator) -> bool:
    """Whether it is watched, and once by each triggerer at most: a younger watch ends an elder one of its process."""
    holders = [watch["trigger"]["triggerer_id"] for watch in orchestrator.watches()]
    return bool(holders) and len(holders) == len(set(holders))
