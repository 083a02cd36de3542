"""Old folders go, and none that is young, among the newest of its owner, or in use."""

from __future__ import annotations

import fcntl
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.launch.run_folders import KEPT, pipeline_of, remove_ended, remove_old_files, unit_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def aged(path: Path, at: datetime) -> None:
    os.utime(path, (at.timestamp(), at.timestamp()), follow_symlinks=False)


def made(folder: Path, at: datetime, *files: str) -> Path:
    folder.mkdir(parents=True)
    for name in files or ("lock", "driver.log"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    for path in [*folder.rglob("*"), folder]:
        aged(path, at)
    return folder


@pytest.mark.parametrize(
    ("owner_of", "name", "owner"),
    [
        (unit_of, "local.flights.g3", "local.flights"),
        (unit_of, "prod.a.gone.g12", "prod.a.gone"),
        (pipeline_of, "departures-20130101T000000-1a2b", "departures"),
    ],
)
def test_a_folder_belongs_to_what_its_name_says(owner_of: object, name: str, owner: str) -> None:
    assert callable(owner_of)
    assert owner_of(name) == owner


def test_what_is_old_goes_beyond_the_newest_of_its_owner(tmp_path: Path) -> None:
    for number in range(KEPT + 5):
        made(tmp_path / f"local.busy.g{number}", NOW - (200 - number) * DAY)
    for number in range(3):
        made(tmp_path / f"local.rare.g{number}", NOW - 300 * DAY)
    assert remove_ended(tmp_path, NOW - 90 * DAY, unit_of) == [f"local.busy.g{number}" for number in range(5)]
    assert len(list(tmp_path.iterdir())) == KEPT + 3
    assert remove_ended(tmp_path, NOW - 90 * DAY, unit_of) == []


@given(ages=st.lists(st.integers(0, 200), min_size=1, max_size=60), days=st.integers(0, 200))
def test_the_newest_and_the_young_always_stay(
    tmp_path_factory: pytest.TempPathFactory, ages: list[int], days: int
) -> None:
    place = tmp_path_factory.mktemp("runs")
    for number, age in enumerate(ages):
        made(place / f"p-{number}-x", NOW - age * DAY)
    gone = {int(name.split("-")[1]) for name in remove_ended(place, NOW - days * DAY, pipeline_of)}
    left = [age for number, age in enumerate(ages) if number not in gone]
    assert all(ages[number] > days for number in gone)
    assert len(left) >= min(KEPT, len(ages))
    assert sorted(left)[:KEPT] == sorted(ages)[:KEPT]


def test_a_folder_is_as_young_as_its_newest_file(tmp_path: Path) -> None:
    for number in range(KEPT + 1):
        made(tmp_path / f"p-{number}-x", NOW - 100 * DAY, "deep/down/batch.log")
    oldest = tmp_path / "p-0-x"
    for path in [*oldest.rglob("*"), oldest]:
        aged(path, NOW - 200 * DAY)
    aged(oldest / "deep" / "down" / "batch.log", NOW - DAY)
    assert "p-0-x" not in remove_ended(tmp_path, NOW - 90 * DAY, pipeline_of)


def test_a_folder_whose_process_lives_stays(tmp_path: Path) -> None:
    for number in range(KEPT + 2):
        made(tmp_path / f"local.u.g{number}", NOW - (300 - number) * DAY)
    living = os.open(tmp_path / "local.u.g0" / "lock", os.O_RDWR)
    try:
        fcntl.flock(living, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert remove_ended(tmp_path, NOW - 90 * DAY, unit_of) == ["local.u.g1"]
    finally:
        os.close(living)
    assert remove_ended(tmp_path, NOW - 90 * DAY, unit_of) == ["local.u.g0"]


def test_what_is_no_folder_of_a_run_is_left_alone(tmp_path: Path) -> None:
    elsewhere = made(tmp_path / "elsewhere", NOW - 900 * DAY)
    runs = tmp_path / "runs"
    for number in range(KEPT + 1):
        made(runs / f"p-{number}-x", NOW - 100 * DAY)
    (runs / "p-99-x").symlink_to(elsewhere)
    (runs / "note").write_text("x")
    assert len(remove_ended(runs, NOW - 90 * DAY, pipeline_of)) == 1
    assert elsewhere.exists()
    assert (runs / "note").exists()
    assert remove_ended(tmp_path / "nowhere", NOW, pipeline_of) == []


def test_old_files_go_with_the_folders_that_they_leave_empty(tmp_path: Path) -> None:
    made(tmp_path / "dag_id=a" / "run_id=1", NOW - 40 * DAY, "task_id=t/attempt=1.log")
    made(tmp_path / "dag_id=a" / "run_id=2", NOW - 40 * DAY, "attempt=1.log", "attempt=2.log")
    aged(tmp_path / "dag_id=a" / "run_id=2" / "attempt=2.log", NOW - DAY)
    assert remove_old_files(tmp_path, NOW - 30 * DAY) == 2
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert left == ["dag_id=a", "dag_id=a/run_id=2", "dag_id=a/run_id=2/attempt=2.log"]
    assert remove_old_files(tmp_path / "nowhere", NOW) == 0


def test_a_log_that_its_writer_removes_meanwhile_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = made(tmp_path / "logs", NOW - DAY, "gone", "old")
    walk = os.walk

    def then_one_is_gone(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as of `os.walk`
        found = list(walk(*arguments, **options))
        (logs / "gone").unlink()
        return found

    monkeypatch.setattr(os, "walk", then_one_is_gone)
    assert remove_old_files(logs, NOW) == 1
    assert list(logs.iterdir()) == []
