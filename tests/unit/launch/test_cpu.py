from __future__ import annotations

import subprocess
import sys

from sluice.launch.cpu import TreeCpu
from tests.waiting import eventually

BURN = "sum(range(20_000_000))"


def test_what_a_child_uses_counts_while_it_lives_and_after_its_end() -> None:
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{BURN}']); {BURN}; print(1); input()"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        found = TreeCpu(process.pid).seconds()
        alone = TreeCpu(process.pid)._root.cpu_times()
        assert found is not None
        assert found >= round(alone.user + alone.children_user, 2) > alone.user > 0
    finally:
        process.communicate(b"\n")


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    counter = TreeCpu(process.pid)
    process.communicate(b"\n")
    eventually(lambda: counter.seconds() is None)


def test_memory_is_that_of_a_process_and_its_children() -> None:
    hold = "kept = bytearray(40_000_000); print(1, flush=True); input()"
    code = f"""import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "{hold}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
{hold}"""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        found = TreeCpu(process.pid).memory_bytes()
        assert found is not None
        assert 80e6 < found < 200e6
    finally:
        process.communicate(b"\n")
    counter = TreeCpu()
    assert counter.memory_bytes() == counter.memory_bytes(), "it is weighed once a minute"
