"""Whether a batch's process is seen to get no processor time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sluice.intervals.backfill import progress
from sluice.launch.backfill_lock import Holder
from sluice.launch.cpu import TreeCpu
from sluice.launch.keeper import start_ticks
from sluice.launch.starvation import holders_starvation, starvation_of
from tests.waiting import eventually

SLEEPS = "import time; time.sleep(600)"
WITH_CHILD = f"import os, subprocess, sys; os.nice(7); subprocess.run([sys.executable, '-c', '{SLEEPS}'])"


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that sleeps gets a tenth of nothing, from its first second on."""
    monkeypatch.setattr(progress, "STARVED_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_STARVED_SHARE", 1e6)


def started(code: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, 9)
        process.wait()


@pytest.fixture
def single() -> Iterator[subprocess.Popen[bytes]]:
    yield from started(SLEEPS)


@pytest.fixture
def with_child() -> Iterator[subprocess.Popen[bytes]]:
    yield from started(WITH_CHILD)


def holder_of(process: subprocess.Popen[bytes]) -> Holder:
    return Holder(process.pid, start_ticks(process.pid), socket.gethostname(), "2013-01-01T00:00:00+00:00")


def has_child(process: subprocess.Popen[bytes]) -> bool:
    tree = TreeCpu(process.pid)
    tree.seconds()
    return not tree.alone


def test_one_with_a_jvm_says_so_with_its_own_niceness(with_child: subprocess.Popen[bytes]) -> None:
    eventually(lambda: has_child(with_child), seconds=60)
    said = holders_starvation(holder_of(with_child))
    assert "of processor time in" in said
    assert "(niceness 7)" in said


def test_one_that_has_claimed_its_range_and_has_no_jvm_works_in_the_engine(single: subprocess.Popen[bytes]) -> None:
    assert holders_starvation(holder_of(single)) == ""
    assert starvation_of(TreeCpu(single.pid), claimed=True) == ""


def test_one_that_has_not_claimed_its_range_says_so(single: subprocess.Popen[bytes]) -> None:
    assert "of processor time in" in starvation_of(TreeCpu(single.pid), claimed=False)


def test_nothing_is_said_of_none_of_another_machines_or_of_a_reused_number(
    with_child: subprocess.Popen[bytes],
) -> None:
    eventually(lambda: has_child(with_child), seconds=60)
    holder = holder_of(with_child)
    others = (None, replace(holder, host="elsewhere"), replace(holder, ticks=1))
    assert [holders_starvation(each) for each in others] == ["", "", ""]


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    tree = TreeCpu(process.pid)
    process.communicate(b"\n")
    assert tree.niceness() == 0
    assert TreeCpu.of_living(process.pid) is None
