from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.errors import RefusedError
from sluice.launch.backfill_lock import LOCK, BackfillLock
from tests.twins.clock import ManualClock

HOLDER = """
import subprocess, sys
from pathlib import Path
from sluice.launch.backfill_lock import BackfillLock
BackfillLock(Path(sys.argv[1])).take()
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[BackfillLock]:
    lock = BackfillLock(tmp_path / "departures-1", ManualClock())
    yield lock
    lock.release()


@pytest.fixture
def other(tmp_path: Path) -> BackfillLock:
    """The same lock as another process would see it."""
    return BackfillLock(tmp_path / "departures-1", ManualClock())


def test_a_lock_is_held_from_its_taking_to_its_release(lock: BackfillLock, other: BackfillLock) -> None:
    assert not other.held()
    lock.take()
    assert other.held()
    lock.release()
    assert not other.held()


def test_a_held_lock_is_refused_with_the_process_that_holds_it(lock: BackfillLock, other: BackfillLock) -> None:
    lock.take()
    holder = other.holder()
    assert holder is not None
    with pytest.raises(RefusedError, match=f"departures-1 is being worked on by .*pid={holder.pid}"):
        other.take()


def test_nobody_is_named_as_the_holder_of_a_free_lock(lock: BackfillLock, other: BackfillLock) -> None:
    lock.take()
    lock.release()
    assert other.holder() is None


@pytest.mark.parametrize("change", [{"ticks": 1}, {"host": "elsewhere"}], ids=["reused-pid", "other-machine"])
def test_a_process_that_cannot_be_proven_to_be_the_holder_is_not_killed(
    tmp_path: Path, lock: BackfillLock, other: BackfillLock, change: dict[str, object]
) -> None:
    lock.take()
    file = tmp_path / "departures-1" / LOCK
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(RefusedError, match="by no process of this machine"):
        other.kill()
    assert other.held()


def test_killing_nobody_is_said(other: BackfillLock) -> None:
    assert other.kill() is None


def test_a_kill_ends_the_holder_and_what_it_started(tmp_path: Path) -> None:
    lock = BackfillLock(tmp_path / "departures-1")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "departures-1")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        killed = lock.kill()
        assert killed is not None
        assert killed.pid == holder.pid
        assert holder.wait(20) == -9
    stat = Path(f"/proc/{child}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
