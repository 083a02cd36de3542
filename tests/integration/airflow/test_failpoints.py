"""Who orchestrates dies by SIGKILL where it hurts most: a process that runs a stream's whole DAG, with a real driver.

Each death is proven by its marker; the next run then finds everything and starts nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from airflow.sdk import DagRunState

from sluice.airflow.dags.streams import build_stream_dag
from sluice.failpoints import marker
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.specs.load import scan
from sluice.specs.units import declared_units
from sluice.streams.life.attempts import AttemptState
from tests.matrix.recording import FaultRecorder

RUN = """
from datetime import timedelta
from sluice.airflow.dags.streams import build_stream_dag
from sluice.settings import settings
from sluice.specs.load import scan
from sluice.specs.units import declared_units

include = settings().home / "include"
build_stream_dag(declared_units(scan(include), include)["flights"], limit=timedelta(0)).test()
"""

pytestmark = pytest.mark.usefixtures("airflow_database")


def run_dag_until(failpoint: str) -> subprocess.CompletedProcess[str]:
    """Run the DAG of the unit in a process of its own, which dies."""
    environment = {**os.environ, "SLUICE_FAILPOINT": failpoint}
    return subprocess.run(
        [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    ("failpoint", "left"),
    [
        pytest.param("after_submit_before_bind", AttemptState.INTENT),
        pytest.param("after_bind_before_defer", AttemptState.BOUND, marks=pytest.mark.verify),
        pytest.param("after_poll_before_event", AttemptState.BOUND, marks=pytest.mark.verify),
    ],
)
@pytest.mark.proves("worker-killed")
def test_an_orchestrator_that_is_killed_leaves_one_driver_which_the_next_run_adopts(
    project: Project, failpoint: str, left: AttemptState, faults: FaultRecorder
) -> None:
    killed = run_dag_until(failpoint)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert marker(Settings(failpoint=failpoint)).exists()
    faults.struck(f"exit code -9 at {failpoint}, with its marker")
    survived = project.streams.life("flights").observe()
    assert survived.alive
    assert survived.attempt is not None
    assert survived.attempt.state is left

    include = project.settings.home / "include"
    unit = declared_units(scan(include), include)["flights"]
    assert build_stream_dag(unit, limit=timedelta(0)).test().state == DagRunState.SUCCESS
    adopted = project.streams.life("flights").observe()
    assert adopted.report == survived.report
    assert adopted.attempt is not None
    assert (adopted.attempt.generation, adopted.attempt.state) == (1, AttemptState.BOUND)
    faults.recovered()
    assert [folder.name for folder in project.folder.drivers.iterdir()] == ["local.flights.g1"]
    faults.compared("drivers that were ever submitted: one")
