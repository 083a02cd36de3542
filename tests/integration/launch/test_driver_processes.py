"""Odd states of a driver's processes: stray descendants, a killed keeper, signals, zombies, reused ids."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import setproctitle

from sluice.launch.launcher import LocalLauncher
from sluice.launch.processes import DRIVER_MARK, marked
from sluice.streams.life.launcher import DriverState
from tests.integration.launch.drivers import (
    CARELESS,
    OBEDIENT,
    PLAIN,
    RENAMED,
    STUBBORN,
    UNMARKED,
    Drivers,
    alive,
)
from tests.integration.launch.keepers import KEY, keeper_of, state
from tests.waiting import eventually


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
