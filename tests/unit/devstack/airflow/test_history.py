"""Airflow's history goes by Airflow's own command, and only of the Airflow that is ours."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluice.devstack.airflow.history import remove_history
from sluice.errors import NotReadyError
from sluice.settings import Settings

BEFORE = datetime(2026, 5, 1, tzinfo=UTC)


def log_of(place: Settings, age: timedelta) -> Path:
    path = place.folder.logs / "tasks" / f"dag_id=d/run_id={age.days}/attempt=1.log"
    path.parent.mkdir(parents=True)
    path.write_text("x")
    at = (BEFORE - age).timestamp()
    os.utime(path, (at, at))
    return path


def embedded(tmp_path: Path) -> Settings:
    place = Settings(home=tmp_path, state=tmp_path / "state")
    place.folder.airflow.mkdir(parents=True)
    (place.folder.airflow / "airflow.cfg").touch()
    return place


def test_rows_and_logs_of_before_are_removed(tmp_path: Path) -> None:
    place, commands = embedded(tmp_path), list[Sequence[str]]()
    old, young = log_of(place, timedelta(days=1)), log_of(place, timedelta(days=-1))

    def run(command: Sequence[str], environment: Mapping[str, str]) -> str:
        assert environment["AIRFLOW_HOME"] == str(place.folder.airflow)
        commands.append(command)
        return ""

    assert remove_history(place, BEFORE, run) == 1
    assert [command[-6:] for command in commands] == [
        ("db", "clean", "--clean-before-timestamp", "2026-05-01T00:00:00+00:00", "--skip-archive", "--yes")
    ]
    assert not old.exists()
    assert young.exists()


def test_an_airflow_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    def run(command: Sequence[str], environment: Mapping[str, str]) -> str:
        raise AssertionError(command, environment)

    assert remove_history(Settings(home=tmp_path, state=tmp_path / "state"), BEFORE, run) is None


def test_a_command_that_fails_says_why_and_keeps_the_logs(tmp_path: Path) -> None:
    place = embedded(tmp_path)  # its configuration names no database that could be cleaned
    (place.folder.airflow / "airflow.cfg").write_text("[database]\nsql_alchemy_conn = nonsense://\n")
    old = log_of(place, timedelta(days=1))
    with pytest.raises(NotReadyError, match=r"airflow db clean ended with \d+: .+"):
        remove_history(place, BEFORE)
    assert old.exists()
