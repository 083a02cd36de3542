"""Airflow as it runs in a stack, to be killed, doubled and treated oddly; and what is true of a unit meanwhile."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from sluice.clock import SystemClock
from sluice.devstack.airflow.api import AirflowApi, succeeded, watching
from sluice.devstack.airflow.configuration import COMPONENTS, airflow_command, stack_environment
from sluice.devstack.supervision import Supervisor
from sluice.errors import SluiceError, UnreachableError
from sluice.launch.endpoints import read_endpoints
from sluice.launch.processes import DRIVER_MARK, descendants, marked
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.streams.life.attempts import AttemptState, Desired
from tests.waiting import eventually

UNIT = "flights"
DAG = f"stream_{UNIT}"
RECONCILER = "reconcile_streams"
DEADLINE_SECONDS = 150.0


@dataclass(frozen=True)
class Truth:
    """What is true of a unit, whatever Airflow says of it.

    Attributes:
        drivers: the processes that run the streaming main, whatever their keys.
        keys: all that was ever submitted.
        generation: the newest on record.
        state: of that attempt on record.
        wish: the newest on record.
    """

    drivers: tuple[int, ...]
    keys: tuple[str, ...]
    generation: int
    state: AttemptState
    wish: Desired


class Orchestrator:
    """The Airflow of a stack that is up.

    Attributes:
        place: of the stack.
        airflow: its API.
        project: what it orchestrates.
    """

    def __init__(self, place: Settings) -> None:
        self.place = place
        self.airflow = AirflowApi(read_endpoints(place.folder).airflow_url)
        self.project = Project.open_strict(place)
        self._supervisor = Supervisor(place.folder.supervisor, place.folder.logs, SystemClock())

    def truth(self) -> Truth:
        """Look past Airflow: at processes, folders and records."""
        folder, registry = self.project.folder.drivers, self.project.records.registry()
        keys = tuple(sorted(driver.name for driver in folder.iterdir()))
        pids = [pid for key in keys for pid in marked(DRIVER_MARK, str(folder / key)) if _runs_the_main(pid)]
        attempt, wish = registry.latest_attempt(UNIT), registry.desired(UNIT)
        assert attempt is not None
        assert wish is not None
        return Truth(tuple(pids), keys, attempt.generation, attempt.state, wish.state)

    def start(self) -> Truth:
        """Let a run of the unit's DAG start or adopt the driver, and wait until it watches."""
        conf = {"action": "start", "reason": "a test"}
        self.airflow.wait(DAG, self.airflow.trigger(DAG, conf), watching, DEADLINE_SECONDS)
        eventually(self.watched, "it is watched")
        return self.truth()

    def watches(self) -> list[dict[str, Any]]:
        """Return the deferred tasks of the unit's DAG that a triggerer has taken; none while nobody can be asked."""
        try:
            found = self.call("GET", f"/dags/{DAG}/dagRuns/~/taskInstances?state=deferred")["task_instances"]
        except SluiceError:
            return []
        return [task for task in found if task["trigger"] and task["trigger"]["triggerer_id"] is not None]

    def watched(self) -> bool:
        """Whether one task watches."""
        return len(self.watches()) == 1

    def reconcile(self) -> None:
        """Let the real reconciler do its round now."""
        self.airflow.wait(RECONCILER, self.airflow.trigger(RECONCILER), succeeded, DEADLINE_SECONDS)

    def call(self, method: str, path: str, body: dict[str, object] | None = None) -> dict[str, Any]:
        """Do what a person does in Airflow's pages."""
        return self.airflow._call(method, path, body)

    def pid(self, component: str) -> int:
        """Return the process that supervisord keeps running."""
        return int(self._supervisor._call().supervisor.getProcessInfo(component)["pid"])

    def kill(self, component: str) -> str:
        """Kill a component by SIGKILL; supervisord starts it again, and Airflow says that all is well.

        Returns what shows that it died.
        """
        killed = self.pid(component)
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: self.pid(component) not in (0, killed), f"{component} is started again")
        evidence = f"{component} is the process {self.pid(component)}, and was {killed}"
        eventually(self.healthy, f"Airflow is well after {component} was killed")
        return evidence

    def healthy(self) -> bool:
        """Whether every component says that it works."""
        return not self.airflow.unhealthy_components()

    @contextmanager
    def another(self, component: str) -> Iterator[int]:
        """Run a second process of a component beside the stack's own; on the way out it is gone."""
        log = self.place.folder.logs / f"second-{component}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                airflow_command(*COMPONENTS[component]),
                env=stack_environment(self.place),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield process.pid
        finally:
            family = [process.pid, *descendants(process.pid)]
            for pid in family:
                _signal(pid, signal.SIGCONT)
                _signal(pid, signal.SIGKILL)
            process.wait()

    @contextmanager
    def asleep(self, component: str) -> Iterator[None]:
        """Stop a component with all its processes by SIGSTOP; on the way out it is awake, if nobody woke it before."""
        self._signal_all(component, signal.SIGSTOP)
        try:
            yield
        finally:
            self.wake(component)

    def wake(self, component: str) -> None:
        """Let a component that sleeps go on."""
        self._signal_all(component, signal.SIGCONT)

    def _signal_all(self, component: str, number: signal.Signals) -> None:
        pid = self.pid(component)
        for member in (pid, *descendants(pid)):
            _signal(member, number)

    def forget_verdicts(self) -> None:
        """Empty the record of verdicts, so that one that appears was recorded after this."""
        with closing(sqlite3.connect(self.place.folder.control, timeout=15)) as control, control:
            control.execute("DELETE FROM verdict")

    def has_verdicts(self) -> bool:
        """Whether verdicts of the unit are on record."""
        return bool(self.project.records.registry().verdicts(UNIT))


@contextmanager
def unchanged(orchestrator: Orchestrator) -> Iterator[Truth]:
    """Observe again and again while the block runs: what was true when it began stays true, also after it."""
    before, over = orchestrator.truth(), Event()
    assert len(before.drivers) == 1
    observations: list[Truth | Exception] = []

    def observe() -> None:
        ended = False
        while not (ended and observations):  # a block may be over before the first observation
            try:
                observations.append(orchestrator.truth())
            except UnreachableError:  # the record is busy
                pass
            except Exception as error:  # noqa: BLE001 - an observation that fails is no innocence
                observations.append(error)
            ended = over.wait(0.3)

    watcher = Thread(target=observe)
    watcher.start()
    try:
        yield before
    finally:
        over.set()
        watcher.join()
    assert observations, "nothing was observed"
    assert [seen for seen in observations if seen != before] == [], f"it was {before}"
    assert orchestrator.truth() == before


def _runs_the_main(pid: int) -> bool:
    """Whether a process is a driver, and not its keeper, its JVM or what these started."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return len(arguments) > 1 and arguments[1].endswith(b"spark_jobs/stream.py")


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
