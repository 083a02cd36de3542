"""Backfills in the warm engine: the same result, resumed after the death of either side; nothing of a dead one goes on.

What the engine itself does is in `session/test_engine_server.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sluice.errors import UnreachableError
from sluice.failpoints import marker
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.request import Mode
from sluice.launch.engine import WarmEngine
from sluice.settings import Settings, settings
from sluice.spark.session.warm import engine_of, start_engine
from tests.integration.spark.backfill.backfills import RANGE, Drained
from tests.integration.spark.backfill.test_backfill_crashes import check_kills
from tests.matrix.recording import FaultRecorder
from tests.waiting import eventually

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]

AS_ASKED = ("--mode", "verify", "--by", "tests", "--key", "paused")
FAILPOINT = "after_stage=pause"


@pytest.fixture
def engine(drained: Drained) -> Iterator[WarmEngine]:
    engine = engine_of(drained.project)
    start_engine(drained.project)
    with engine.attached():
        pass
    yield engine
    engine.kill()


def served(engine: WarmEngine) -> int:
    client = engine.client()
    assert client is not None
    return int(client.status()["served"])


def asleep(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_STOPPED


def test_kills_at_every_point_leave_nothing_half_published_and_nothing_twice(
    drained: Drained, engine: WarmEngine, faults: FaultRecorder
) -> None:
    points = ["after_stage:2", "after_gate", "mid_publish", "after_publish_before_index"]
    check_kills(drained, points, faults)
    assert served(engine) == 1 + len(points)
    engine.settle()


@pytest.mark.proves("engine-killed")
def test_a_batch_whose_engine_dies_says_so_and_is_resumed_under_its_key(
    drained: Drained, engine: WarmEngine, faults: FaultRecorder
) -> None:
    main = settings().home / "spark_jobs" / "batch.py"
    dates = ("--from", RANGE.start.isoformat(), "--to", RANGE.end.isoformat())
    argv = [sys.executable, str(main), "backfill", *AS_ASKED, "--pipeline", "departures", *dates]
    environment = {**os.environ, "SLUICE_STATE": str(drained.state), "SLUICE_FAILPOINT": FAILPOINT}
    fired = marker(Settings(state=drained.state, failpoint=FAILPOINT))
    with started(argv, environment, drained.state / "batch.log") as batch:
        eventually(lambda: fired.exists() and asleep(batch.pid))
        engine.kill()
        os.kill(batch.pid, signal.SIGCONT)
        assert batch.wait(120) == UnreachableError.exit_code
    log = (drained.state / "batch.log").read_text()
    assert "session='the warm engine'" in log
    backfills = drained.project.records.backfills()
    (failed,) = backfills.recent("departures")
    assert (failed.state, "Spark's JVM ended while the batch ran in it" in failed.why) == (BackfillState.FAILED, True)
    faults.struck(f"the backfill {failed.id} failed: {failed.why}")

    page = (drained.project.folder.backfill(failed.id) / "parity.html").read_text()
    assert "the warm engine: " in page, "what was known before is reported all the same"

    finished = drained.run(Mode.VERIFY, why="", key="paused")
    assert (finished.backfill, finished.outcome) == (failed.id, "identical")
    faults.recovered()
    faults.compared("every row of the range with a batch")


def started(argv: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(argv, env=environment, stdout=output, stderr=output, start_new_session=True)
