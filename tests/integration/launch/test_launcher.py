"""What the local launcher promises beyond the port: one driver per key, and a record of how each ended."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.errors import CorruptionError, NotReadyError, UnreachableError
from sluice.launch.launcher import LocalLauncher
from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.life.launcher import DriverReport, DriverState, Job
from tests.integration.launch.drivers import (
    FAILING,
    OBEDIENT,
    Drivers,
    exiting,
)
from tests.integration.launch.keepers import KEY, state
from tests.waiting import eventually


def test_eight_racing_submits_start_one_driver(launcher: LocalLauncher, drivers: Drivers) -> None:
    reports: list[DriverReport] = []
    job = drivers.job(OBEDIENT)
    threads = [threading.Thread(target=lambda: reports.append(launcher.submit(KEY, job))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drivers.one_ready()
    assert len(reports) == 8
    assert len({report.pid for report in reports}) == 1
    assert {report.state for report in reports} == {DriverState.RUNNING}


def test_an_exit_code_is_on_record_though_the_submitter_is_long_gone(launcher: LocalLauncher, drivers: Drivers) -> None:
    job = drivers.job(exiting(11))
    script = f"""
from pathlib import Path
from sluice.launch.launcher import LocalLauncher
from sluice.streams.life.launcher import Job
LocalLauncher(Path({str(launcher.root)!r})).submit({KEY!r}, Job({job.argv!r}))
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    eventually(lambda: launcher.find(KEY).dead)
    assert launcher.find(KEY).exit_code == 11


def test_a_command_that_does_not_exist_is_an_end_with_its_reason_in_the_log(launcher: LocalLauncher) -> None:
    launcher.submit(KEY, Job(("/nowhere/python", "stream.py")))
    eventually(lambda: launcher.find(KEY).dead)
    assert launcher.find(KEY).exit_code == 127
    assert "/nowhere/python cannot be executed" in launcher.log(KEY).read_text()


def test_output_goes_to_the_log(launcher: LocalLauncher, drivers: Drivers) -> None:
    launcher.submit(KEY, drivers.job("print('to stdout'); print('to stderr', file=sys.stderr); sys.exit(1)"))
    eventually(lambda: launcher.find(KEY).dead)
    assert set(launcher.log(KEY).read_text().splitlines()) == {"to stdout", "to stderr"}


@pytest.mark.parametrize("key", ["", "..", "../g1", "a/b", ".hidden", "x" * 201])
def test_a_key_that_is_no_file_name_is_refused(launcher: LocalLauncher, key: str) -> None:
    with pytest.raises(ValueError, match="is no key"):
        launcher.find(key)


def test_a_damaged_record_is_said_to_be_damaged(launcher: LocalLauncher, drivers: Drivers) -> None:
    launcher.submit(KEY, drivers.job(exiting(0)))
    eventually(lambda: launcher.find(KEY).dead)
    record = launcher.log(KEY).with_name("exit.json")
    whole = record.read_text()
    record.write_text(whole[:10])
    with pytest.raises(CorruptionError, match=r"exit\.json"):
        launcher.find(KEY)
    record.write_text(whole)


def test_a_folder_that_cannot_be_used_is_unknown_not_absent(tmp_path: Path, drivers: Drivers) -> None:
    root = tmp_path / "drivers"
    root.mkdir()
    (root / KEY).write_text("a file where a folder should be")
    launcher = LocalLauncher(root)
    for request in (lambda: launcher.find(KEY), lambda: launcher.submit(KEY, drivers.job(OBEDIENT))):
        with pytest.raises(UnreachableError, match="cannot be used"):
            request()


def test_while_a_key_is_being_submitted_it_is_unknown(launcher: LocalLauncher, drivers: Drivers) -> None:
    folder = launcher.log(KEY).parent
    folder.mkdir(parents=True)
    holder = (
        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); "
        "print(1, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(folder / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as submitter:
        assert submitter.stdout is not None
        submitter.stdout.readline()
        with pytest.raises(UnreachableError, match="is being submitted"):
            launcher.find(KEY)
        submitter.kill()
    assert launcher.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.RUNNING


def test_a_disk_without_space_refuses_the_start_with_its_reason(
    launcher: LocalLauncher, drivers: Drivers, tmp_path: Path
) -> None:
    full = tmp_path / "full_keeper.py"
    full.write_text("import sys; sys.exit('[Errno 28] No space left on device')")
    with pytest.raises(NotReadyError, match="No space left on device"):
        LocalLauncher(launcher.root, keeper=full).submit(KEY, drivers.job(OBEDIENT))
    assert state(launcher) is DriverState.ABSENT


def test_a_dead_driver_is_reported_with_its_last_words(launcher: LocalLauncher, drivers: Drivers) -> None:
    launcher.submit(KEY, drivers.job(FAILING))
    drivers.one_ready()
    assert launcher.find(KEY).failure is None  # it lives: they may not be its last
    report = launcher.stop(KEY, 20)
    said = Failure(FailureClass.CODE, "KeyError", "'x'", datetime(2013, 1, 7, 12, tzinfo=UTC), "departures")
    assert (report.exit_code, report.failure) == (15, said)
    assert launcher.find(KEY) == report


@pytest.mark.parametrize("said", ["", "{", "[]", '{"class": "code"}'])
def test_last_words_that_cannot_be_read_hide_no_death(launcher: LocalLauncher, drivers: Drivers, said: str) -> None:
    launcher.submit(KEY, drivers.job(FAILING, SAID=said))
    drivers.one_ready()
    report = launcher.stop(KEY, 20)
    assert (report.state, report.exit_code, report.failure) == (DriverState.ENDED, 15, None)
