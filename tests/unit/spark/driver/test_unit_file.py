from __future__ import annotations

import json
from pathlib import Path

import pytest

from sluice.spark.driver.executors import UnitFile
from sluice.streams.life.driver_files import Executors, executors_of
from tests.twins.clock import START, ManualClock


class Told:
    """A unit's file, and what the cluster gives the driver."""

    def __init__(self, folder: Path, has: tuple[int, int] | None) -> None:
        self.has = has
        self.asked = 0
        self.clock = ManualClock()
        self.path = folder / "progress" / "flights.unit.json"
        identity = {"unit": "flights", "generation": 1, "spark_ui": "http://127.0.0.1:4040"}
        self.file = UnitFile(self.path, identity, self._observe, self.clock)

    def _observe(self) -> tuple[int, int] | None:
        self.asked += 1
        return self.has

    def after(self, seconds: float) -> Executors | None:
        self.clock.sleep(seconds)
        self.file.update()
        return executors_of(self.path, "flights", 1)


def test_a_driver_tells_at_once_that_it_has_none_yet(tmp_path: Path) -> None:
    assert Told(tmp_path, (0, 0)).after(0) == Executors(0, 0, START)


def test_a_change_is_told_with_its_time_and_no_change_is_not(tmp_path: Path) -> None:
    told = Told(tmp_path, (0, 0))
    told.after(0)
    told.has = (2, 2)
    gained = told.after(3)
    assert gained is not None
    assert (gained.count, gained.cores) == (2, 2)
    assert (gained.since - START).total_seconds() == 3
    assert told.after(3) == gained


def test_the_cluster_is_checked_every_two_seconds_and_not_at_each_poll(tmp_path: Path) -> None:
    told = Told(tmp_path, (1, 1))
    for _ in range(16):
        told.after(0.25)
    assert told.asked == 2


def test_a_driver_that_runs_its_tasks_itself_tells_only_where_its_page_is(tmp_path: Path) -> None:
    told = Told(tmp_path, None)
    assert told.after(0) is None
    assert json.loads(told.path.read_text())["spark_ui"] == "http://127.0.0.1:4040"


@pytest.mark.parametrize(("has", "works"), [((0, 0), False), ((1, 1), True), (None, True)])
def test_it_is_known_whether_anybody_runs_a_task(tmp_path: Path, has: tuple[int, int] | None, works: bool) -> None:
    assert Told(tmp_path, has).file.update() is works


def test_what_cannot_be_written_ends_nobody_and_is_told_later(tmp_path: Path) -> None:
    told = Told(tmp_path, (2, 4))
    (tmp_path / "progress").write_text("a file where the folder belongs")
    assert told.after(0) is None
    (tmp_path / "progress").unlink()
    assert told.after(2) == Executors(2, 4, told.clock.now())
