"""A component that does not come up is explained: a full disk by its folder, whatever the component's log says."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from sluice.devstack.stack_faults import component_fault, full_disk
from sluice.settings import StateFolder

Fill = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    found = StateFolder(tmp_path)
    found.kafka.mkdir()
    return found


@pytest.fixture
def fill(monkeypatch: pytest.MonkeyPatch) -> Fill:
    full: set[Path] = set()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0 if path in full else 1 << 40))
    return full.add


def test_a_disk_with_room_is_not_full(folder: StateFolder, fill: Fill) -> None:
    assert full_disk(folder) is None
    fill(folder.logs)
    assert full_disk(folder) is None


@pytest.mark.parametrize("which", ["root", "kafka"])
def test_a_full_disk_is_the_reason_also_where_the_brokers_have_one_of_their_own(
    folder: StateFolder, fill: Fill, which: str
) -> None:
    fill(getattr(folder, which))
    log = folder.root / "broker.log"
    log.write_text("java.lang.InternalError: a fault occurred in an unsafe memory access\n")
    fault = component_fault("broker", "died while starting", log, folder)
    assert fault.message == f"broker died while starting: the disk of {getattr(folder, which)} is full."
    assert "free some space" in fault.fix


def test_a_log_that_names_the_full_disk_is_understood_when_there_is_room_again(folder: StateFolder, fill: Fill) -> None:
    assert fill
    log = folder.root / "broker.log"
    log.write_text("java.io.IOException: No space left on device\n")
    assert component_fault("broker", "died while starting", log, folder).fix.startswith("free some space")
