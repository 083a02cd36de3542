"""A runner that stops lets its drivers finish, all at once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from sluice.containers.drain import drain
from sluice.errors import UnreachableError
from sluice.streams.life.launcher import DriverReport, DriverState


@dataclass
class Drivers:
    """Living drivers that end when asked; `stuck` ones cannot be ended."""

    keys: list[str]
    stuck: set[str] = field(default_factory=set)
    deadlines: dict[str, float] = field(default_factory=dict)
    together: threading.Barrier | None = None

    def living(self) -> list[DriverReport]:
        return [DriverReport(key, DriverState.RUNNING) for key in self.keys]

    def stop(self, key: str, deadline_seconds: float) -> DriverReport:
        self.deadlines[key] = deadline_seconds
        if self.together:
            self.together.wait(timeout=5)
        if key in self.stuck:
            raise UnreachableError(f"{key} does not end.")
        return DriverReport(key, DriverState.ENDED, exit_code=0)


def test_every_living_driver_is_stopped_with_the_deadline() -> None:
    drivers = Drivers(["a.g1", "b.g7"])

    assert drain(drivers, 30.0) == ["a.g1 ended with exit code 0", "b.g7 ended with exit code 0"]
    assert drivers.deadlines == {"a.g1": 30.0, "b.g7": 30.0}


def test_drivers_share_the_deadline_and_do_not_wait_for_each_other() -> None:
    drivers = Drivers([f"{n}.g1" for n in range(5)], together=threading.Barrier(5))

    assert len(drain(drivers, 30.0)) == 5


def test_a_driver_that_cannot_be_ended_is_said_and_keeps_no_other_from_ending() -> None:
    said = drain(Drivers(["a.g1", "b.g1", "c.g1"], stuck={"b.g1"}), 30.0)

    assert said == ["a.g1 ended with exit code 0", "b.g1 could not be ended: b.g1 does not end.", said[2]]
    assert said[2] == "c.g1 ended with exit code 0"


def test_a_runner_without_drivers_ends_at_once() -> None:
    assert drain(Drivers([]), 30.0) == []
