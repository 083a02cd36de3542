"""What the local launcher promises beyond the port: races, crashes, stray descendants, odd states of processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import setproctitle

import sluice.launch.keeper as keeper_module
from sluice.errors import CorruptionError, NotReadyError, UnreachableError
from sluice.launch.launcher import LocalLauncher
from sluice.launch.processes import DRIVER_MARK, marked
from sluice.settings import EVERY_PROCESS
from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.life.launcher import DriverReport, DriverState, Job
from tests.integration.launch.drivers import (
    CARELESS,
    FAILING,
    OBEDIENT,
    PLAIN,
    RENAMED,
    STUBBORN,
    UNMARKED,
    Drivers,
    alive,
    eventually,
    exiting,
)

KEY = "local.flights.g1"


@pytest.fixture
def drivers(tmp_path: Path) -> Drivers:
    return Drivers(tmp_path)


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[LocalLauncher]:
    launcher = LocalLauncher(tmp_path / "drivers")
    yield launcher
    for report in launcher.living():
        launcher.kill(report.key)


def keeper_of(launcher: LocalLauncher) -> int:
    return int(json.loads(launcher.log(KEY).with_name("pid.json").read_text())["keeper"])


def state(launcher: LocalLauncher) -> DriverState:
    return launcher.find(KEY).state


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
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    eventually(lambda: launcher.find(KEY).dead)
    assert launcher.find(KEY).exit_code == 11


def test_the_end_of_a_driver_takes_its_children_along_whatever_group_they_hid_in(
    launcher: LocalLauncher, drivers: Drivers
) -> None:
    launcher.submit(KEY, drivers.job(CARELESS))
    eventually(lambda: launcher.find(KEY).dead)
    assert launcher.find(KEY).exit_code == 3
    children = drivers.one_ready()["children"]
    assert isinstance(children, list)
    assert len(children) == 2
    assert not any(alive(child) for child in children)


def test_a_driver_that_ignores_the_stop_is_killed_with_its_children_after_the_deadline(
    launcher: LocalLauncher, drivers: Drivers
) -> None:
    launcher.submit(KEY, drivers.job(STUBBORN))
    run = drivers.one_ready()
    report = launcher.stop(KEY, 0.3)
    assert (report.state, report.exit_code) == (DriverState.ENDED, -signal.SIGKILL)
    assert isinstance(run["children"], list)
    assert not any(alive(pid) for pid in [run["pid"], *run["children"]])


def test_a_driver_whose_keeper_was_killed_goes_on_and_can_be_stopped(launcher: LocalLauncher, drivers: Drivers) -> None:
    running = launcher.submit(KEY, drivers.job(OBEDIENT))
    drivers.one_ready()
    os.kill(keeper_of(launcher), signal.SIGKILL)
    assert launcher.find(KEY) == running
    assert launcher.submit(KEY, drivers.job(OBEDIENT)) == running
    assert launcher.stop(KEY, 20).state is DriverState.LOST
    assert "drained" in launcher.log(KEY).read_text()


def test_a_driver_that_cleared_its_environment_still_holds_the_lock(launcher: LocalLauncher, drivers: Drivers) -> None:
    launcher.submit(KEY, drivers.job(UNMARKED))
    pid = int(str(drivers.one_ready()["pid"]))
    eventually(lambda: marked(DRIVER_MARK, str(launcher.log(KEY).parent)) == [keeper_of(launcher)])
    os.kill(keeper_of(launcher), signal.SIGKILL)
    eventually(lambda: not alive(keeper_of(launcher)))
    assert state(launcher) is DriverState.RUNNING
    assert launcher.stop(KEY, 20).state is DriverState.LOST
    assert not alive(pid)


def test_what_a_lost_driver_left_behind_still_counts_as_running_until_it_is_killed(
    launcher: LocalLauncher, drivers: Drivers
) -> None:
    launcher.submit(KEY, drivers.job(STUBBORN))
    run = drivers.one_ready()
    os.kill(keeper_of(launcher), signal.SIGKILL)
    os.kill(int(str(run["pid"])), signal.SIGKILL)
    eventually(lambda: not alive(run["pid"]))
    assert state(launcher) is DriverState.RUNNING
    assert launcher.kill(KEY).state is DriverState.LOST
    assert isinstance(run["children"], list)
    assert not any(alive(child) for child in run["children"])


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_the_keeper_survives_the_signals_that_end_a_process_tree(
    launcher: LocalLauncher, drivers: Drivers, number: signal.Signals
) -> None:
    launcher.submit(KEY, drivers.job(OBEDIENT))
    drivers.one_ready()
    keeper = keeper_of(launcher)
    assert os.getsid(keeper) not in (os.getsid(0), os.getsid(launcher.find(KEY).pid or 0))
    os.kill(keeper, number)
    assert launcher.stop(KEY, 20).exit_code == 0  # the driver got its own SIGTERM, not an ignored one


def test_a_driver_starts_with_the_default_answers_to_signals(launcher: LocalLauncher, drivers: Drivers) -> None:
    launcher.submit(KEY, drivers.job(PLAIN))
    drivers.one_ready()
    assert launcher.stop(KEY, 20).exit_code == -signal.SIGTERM


def test_a_stopped_driver_runs_and_a_kill_ends_it(launcher: LocalLauncher, drivers: Drivers) -> None:
    report = launcher.submit(KEY, drivers.job(OBEDIENT))
    drivers.one_ready()
    os.kill(report.pid or 0, signal.SIGSTOP)
    assert state(launcher) is DriverState.RUNNING
    assert launcher.stop(KEY, 0.2).exit_code == -signal.SIGKILL


def test_a_stopped_keeper_does_not_save_its_driver_from_a_kill(
    launcher: LocalLauncher, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.launch.launcher._KILL_SECONDS", 0.5)
    report = launcher.submit(KEY, drivers.job(OBEDIENT))
    keeper = keeper_of(launcher)
    os.kill(keeper, signal.SIGSTOP)
    assert launcher.kill(KEY).state is DriverState.LOST
    assert not alive(report.pid)
    assert not alive(keeper)


def test_a_zombie_is_not_alive(launcher: LocalLauncher, drivers: Drivers) -> None:
    """The keeper is killed while its dead driver is not yet reaped by anybody."""
    report = launcher.submit(KEY, drivers.job(OBEDIENT))
    drivers.one_ready()
    keeper = keeper_of(launcher)
    os.kill(keeper, signal.SIGSTOP)
    os.kill(report.pid or 0, signal.SIGKILL)
    eventually(lambda: not alive(report.pid))
    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: not alive(keeper))
    assert state(launcher) is DriverState.LOST


def test_a_driver_that_changes_its_title_is_still_found_by_its_mark(launcher: LocalLauncher, drivers: Drivers) -> None:
    site = str(Path(setproctitle.__file__).parents[1])
    launcher.submit(KEY, drivers.job(RENAMED.format(site=site)))
    run = drivers.one_ready()
    assert run["pid"] in marked(DRIVER_MARK, str(launcher.log(KEY).parent))


def test_a_pid_that_now_belongs_to_a_stranger_gets_no_signal(launcher: LocalLauncher, drivers: Drivers) -> None:
    launcher.submit(KEY, drivers.job(OBEDIENT))
    drivers.one_ready()
    record = launcher.log(KEY).with_name("pid.json")
    ours = json.loads(record.read_text())
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]) as stranger:
        try:
            record.write_text(json.dumps({**ours, "pid": stranger.pid}))
            assert launcher.stop(KEY, 0.3).dead
            assert stranger.poll() is None
        finally:
            stranger.kill()
    assert not alive(ours["pid"])


def test_a_command_that_does_not_exist_is_an_end_with_its_reason_in_the_log(launcher: LocalLauncher) -> None:
    launcher.submit(KEY, Job(("/nowhere/python", "stream.py")))
    eventually(lambda: launcher.find(KEY).dead)
    assert launcher.find(KEY).exit_code == 127
    assert "/nowhere/python cannot be executed" in launcher.log(KEY).read_text()


def test_output_goes_to_the_log(launcher: LocalLauncher, drivers: Drivers) -> None:
    launcher.submit(KEY, drivers.job("print('to stdout'); print('to stderr', file=sys.stderr); sys.exit(1)"))
    eventually(lambda: launcher.find(KEY).dead)
    assert set(launcher.log(KEY).read_text().splitlines()) == {"to stdout", "to stderr"}


def test_a_driver_gets_the_jobs_environment_and_nothing_of_airflows(
    launcher: LocalLauncher, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://:secret@host")
    monkeypatch.setenv("SLUICE_STACK", "/somewhere")
    monkeypatch.setenv("LANG", "C.UTF-8")
    launcher.submit(KEY, drivers.job("ready(environment=dict(os.environ))", SLUICE_GENERATION="1"))
    seen = drivers.one_ready()["environment"]
    assert isinstance(seen, dict)
    assert {"SLUICE_GENERATION", "LANG", "PATH", "SLUICE_DRIVER"} <= seen.keys()
    assert not {"AIRFLOW_CONN_SPARK_DEFAULT", "SLUICE_STACK"} & seen.keys()


POISON = {
    "SLUICE_CONTROL_URL": "postgresql://sluice:hunter22@control/sluice",
    "SLUICE_PASSWORD_FEED": "hunter22",
    "SLUICE_CONNECTION_OTHERS": "postgresql://others:hunter22@db/others",
    "AIRFLOW_CONN_MAIL": "smtp://ada:hunter22@mail",
    "AWS_SECRET_ACCESS_KEY": "hunter22",
    "HTTPS_PROXY": "http://ada:hunter22@proxy:3128",
}


def test_neither_keeper_nor_driver_nor_its_children_have_what_the_job_does_not_name(
    launcher: LocalLauncher, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**POISON, "SLUICE_CONNECTION_OWN": "postgresql://own", "LC_ALL": "C.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    job = drivers.job("ready(children=[child()])\nwhile True: signal.pause()", SLUICE_HOME="/home/project")
    driver = launcher.submit(KEY, replace(job, inherits=frozenset({"SLUICE_CONNECTION_OWN", "NOT_SET"})))
    ready = drivers.one_ready()
    keeper = json.loads(launcher.log(KEY).with_name("pid.json").read_text())["keeper"]
    assert isinstance(ready["children"], list)
    for pid in (driver.pid, keeper, *ready["children"]):
        lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        names = {line.partition(b"=")[0].decode() for line in lines if line}
        assert {"PATH", "LC_ALL", "SLUICE_HOME", "SLUICE_DRIVER", "SLUICE_CONNECTION_OWN"} <= names
        allowed = {*EVERY_PROCESS, *job.environment, "SLUICE_DRIVER", "SPT_NOENV", "SLUICE_CONNECTION_OWN"}
        assert {name for name in names if not name.startswith("LC_")} <= allowed
        assert not any(b"hunter22" in line for line in lines)


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
    for look in (lambda: launcher.find(KEY), lambda: launcher.submit(KEY, drivers.job(OBEDIENT))):
        with pytest.raises(UnreachableError, match="cannot be used"):
            look()


# Crashes: a keeper that dies at a point, and a caller that dies before or after it started the keeper.


def dying_keeper(tmp_path: Path, point: str) -> Path:
    script = tmp_path / "dying_keeper.py"
    script.write_text(f"""
import importlib.util, os, signal, sys
spec = importlib.util.spec_from_file_location("keeper", {keeper_module.__file__!r})
keeper = importlib.util.module_from_spec(spec)
sys.modules["keeper"] = keeper
spec.loader.exec_module(keeper)
keep = keeper.keep
def reached(point):
    if point == {point!r}:
        os.kill(os.getpid(), signal.SIGKILL)
keeper.keep = lambda folder, lock, argv: keep(folder, lock, argv, reached=reached)
keeper.main(sys.argv[1:])
""")
    return script


def test_a_keeper_that_dies_before_the_start_record_leaves_nothing_and_the_key_can_be_used(
    launcher: LocalLauncher, drivers: Drivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.launch.launcher._RACE_SECONDS", 0.2)
    with pytest.raises(NotReadyError, match="dies at once"):
        LocalLauncher(launcher.root, keeper=dying_keeper(tmp_path, "before_start")).submit(KEY, drivers.job(OBEDIENT))
    assert state(launcher) is DriverState.ABSENT
    monkeypatch.undo()
    assert launcher.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.RUNNING
    drivers.one_ready()


def test_a_keeper_that_dies_before_the_driver_spends_the_key(
    launcher: LocalLauncher, drivers: Drivers, tmp_path: Path
) -> None:
    dying = LocalLauncher(launcher.root, keeper=dying_keeper(tmp_path, "before_driver"))
    assert dying.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.LOST
    assert launcher.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.LOST
    assert drivers.runs() == []


def test_a_keeper_that_dies_before_the_pid_record_leaves_a_driver_that_is_found_and_can_be_ended(
    launcher: LocalLauncher, drivers: Drivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.launch.launcher._RACE_SECONDS", 0.2)
    dying = LocalLauncher(launcher.root, keeper=dying_keeper(tmp_path, "before_pid"))
    assert dying.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.RUNNING
    run = drivers.one_ready()
    assert launcher.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.RUNNING
    assert launcher.stop(KEY, 0.2).state is DriverState.LOST
    assert not alive(run["pid"])


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_caller_that_dies_around_the_start_of_the_keeper_leaves_nothing_or_a_driver_that_is_found(
    launcher: LocalLauncher, drivers: Drivers, moment: str
) -> None:
    job = drivers.job(OBEDIENT)
    script = f"""
import os, signal
from pathlib import Path
import subprocess
from sluice.launch import launcher
from sluice.streams.life.launcher import Job
class Dying(launcher.LocalLauncher):
    def _start_keeper(self, key, folder, job, lock):
        if {moment!r} == "after":
            launcher._read_to_end = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            super()._start_keeper(key, folder, job, lock)
        os.kill(os.getpid(), signal.SIGKILL)
Dying(Path({str(launcher.root)!r})).submit({KEY!r}, Job({job.argv!r}))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == -signal.SIGKILL
    if moment == "before":
        assert state(launcher) is DriverState.ABSENT
        launcher.submit(KEY, job)
    drivers.one_ready()
    assert state(launcher) is DriverState.RUNNING


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
