"""What every launcher does. Subclasses give `stage`: a launcher, and what happens to its drivers."""

from __future__ import annotations

import signal
from typing import Protocol

import pytest

from sluice.streams.failures.capacity import NoCapacityError
from sluice.streams.life.launcher import DriverReport, DriverState, Job, Launcher


class Stage(Protocol):
    """A launcher, and what happens to its drivers."""

    launcher: Launcher

    def job(self) -> Job:
        """Return a driver that ends when asked."""
        ...

    def submit(self, key: str) -> DriverReport:
        """Start such a driver, and return when it can be asked."""
        ...

    def crash(self, key: str, exit_code: int) -> None: ...

    def lose(self, key: str) -> None: ...


class CrowdedStage(Stage, Protocol):
    """A stage whose room can be taken and given back."""

    def crowd(self) -> None: ...

    def make_room(self) -> None: ...


class LauncherSuite:
    def test_a_key_that_nobody_submitted_is_absent(self, stage: Stage) -> None:
        assert stage.launcher.find("local.flights.g1") == DriverReport("local.flights.g1", DriverState.ABSENT)

    def test_a_submitted_driver_runs_and_is_found_under_its_key(self, stage: Stage) -> None:
        submitted = stage.submit("k.g1")
        assert submitted.state is DriverState.RUNNING
        assert submitted.pid is not None
        assert submitted.started_at is not None
        assert submitted.started_at.utcoffset() is not None
        assert stage.launcher.find("k.g1") == submitted

    def test_a_second_submit_of_a_living_key_finds_the_first(self, stage: Stage) -> None:
        first = stage.submit("k.g1")
        assert stage.submit("k.g1") == first

    @pytest.mark.parametrize("end", ["stop", "kill", "crash", "lose"])
    def test_a_key_that_ever_ran_never_runs_again(self, stage: Stage, end: str) -> None:
        stage.submit("k.g1")
        match end:
            case "stop":
                stage.launcher.stop("k.g1", 20)
            case "kill":
                stage.launcher.kill("k.g1")
            case "crash":
                stage.crash("k.g1", -signal.SIGSEGV)
            case _:
                stage.lose("k.g1")
        ended = stage.launcher.find("k.g1")
        assert ended.dead
        assert stage.submit("k.g1") == ended
        assert stage.launcher.find("k.g1") == ended

    def test_a_graceful_stop_leaves_exit_code_zero(self, stage: Stage) -> None:
        running = stage.submit("k.g1")
        report = stage.launcher.stop("k.g1", 20)
        assert (report.state, report.exit_code, report.pid) == (DriverState.ENDED, 0, running.pid)
        assert report.ended_at is not None
        assert report.started_at is not None
        assert report.ended_at >= report.started_at

    def test_a_killed_driver_leaves_the_signal(self, stage: Stage) -> None:
        stage.submit("k.g1")
        report = stage.launcher.kill("k.g1")
        assert (report.state, report.exit_code) == (DriverState.ENDED, -signal.SIGKILL)

    def test_a_crash_leaves_its_signal(self, stage: Stage) -> None:
        stage.submit("k.g1")
        stage.crash("k.g1", -signal.SIGSEGV)
        report = stage.launcher.find("k.g1")
        assert (report.state, report.exit_code) == (DriverState.ENDED, -signal.SIGSEGV)

    def test_a_driver_that_dies_with_its_keeper_is_lost_without_an_exit_code(self, stage: Stage) -> None:
        stage.submit("k.g1")
        stage.lose("k.g1")
        report = stage.launcher.find("k.g1")
        assert (report.state, report.exit_code) == (DriverState.LOST, None)

    @pytest.mark.parametrize("verb", ["stop", "kill"])
    def test_ending_what_is_not_there_or_has_ended_changes_nothing(self, stage: Stage, verb: str) -> None:
        def end(key: str) -> DriverReport:
            return stage.launcher.stop(key, 1) if verb == "stop" else stage.launcher.kill(key)

        assert end("never.g1").state is DriverState.ABSENT
        assert stage.launcher.find("never.g1").state is DriverState.ABSENT
        stage.submit("k.g1")
        ended = stage.launcher.stop("k.g1", 20)
        assert end("k.g1") == ended

    def test_two_keys_do_not_touch_each_other(self, stage: Stage) -> None:
        stage.submit("k.g1")
        second = stage.submit("k.g2")
        stage.launcher.kill("k.g1")
        assert stage.launcher.find("k.g2") == second

    def test_where_there_is_room_nothing_lacks(self, stage: Stage) -> None:
        assert stage.launcher.shortage(stage.job()) == ""


class RoomSuite:
    """What a launcher does besides whose drivers need room elsewhere; its stage is a `CrowdedStage`."""

    def test_what_has_no_room_is_not_started_and_its_key_is_not_spent(self, stage: CrowdedStage) -> None:
        stage.crowd()
        with pytest.raises(NoCapacityError) as refused:
            stage.submit("k.g1")
        assert stage.launcher.shortage(stage.job()) in str(refused.value)
        assert stage.launcher.find("k.g1").state is DriverState.ABSENT
        stage.make_room()
        assert stage.submit("k.g1").state is DriverState.RUNNING

    def test_a_driver_that_runs_is_found_however_crowded_it_is(self, stage: CrowdedStage) -> None:
        running = stage.submit("k.g1")
        stage.crowd()
        assert stage.submit("k.g1") == running
        assert stage.launcher.shortage(stage.job()) != ""

    def test_a_dead_driver_is_found_however_crowded_it_is(self, stage: CrowdedStage) -> None:
        stage.submit("k.g1")
        ended = stage.launcher.stop("k.g1", 20)
        stage.crowd()
        assert stage.submit("k.g1") == ended
