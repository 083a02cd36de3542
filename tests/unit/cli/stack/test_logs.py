from __future__ import annotations

from pathlib import Path

import pytest

from sluice.cli.stack.logs import choose_log, log_files
from sluice.errors import SpecError
from sluice.settings import StateFolder


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    folder = StateFolder(tmp_path)
    for path in (folder.logs / "broker.log", folder.logs / "scheduler.log", folder.kafka / "broker.log"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return folder


def test_each_component_has_a_log_and_the_brokers_is_its_own(folder: StateFolder) -> None:
    assert log_files(folder) == {
        "broker": folder.kafka / "broker.log",
        "scheduler": folder.logs / "scheduler.log",
    }


def test_a_log_that_is_not_there_is_refused_with_those_that_are(folder: StateFolder) -> None:
    with pytest.raises(SpecError, match=r"no log of 'schedular'\. Logs: broker, scheduler"):
        choose_log(log_files(folder), "schedular")


def test_before_the_first_start_there_are_no_logs(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="the stack was never started"):
        choose_log(log_files(StateFolder(tmp_path)), "broker")
