"""A child may be bound to the life of its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from sluice.clock import SystemClock
from sluice.launch.processes import wait_until

PARENT = """
import subprocess, sys
from sluice.launch.processes import die_with_parent
child = subprocess.Popen(["sleep", "60"], preexec_fn=die_with_parent() if sys.argv[1] == "bound" else None)
print(child.pid, flush=True)
child.wait()
"""


def child_of_a_killed_parent(how: str) -> Path:
    with subprocess.Popen([sys.executable, "-c", PARENT, how], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    return Path(f"/proc/{child}")


GIVES_WAY = """
import os
from sluice.launch.processes import lower_priority
before = os.getpriority(os.PRIO_PROCESS, 0)
lower_priority(before + 1)
once = os.getpriority(os.PRIO_PROCESS, 0)
lower_priority(before)
print(before, once, os.getpriority(os.PRIO_PROCESS, 0))
"""


def gone(process: Path) -> bool:
    try:
        return (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_bound_child_is_killed_with_its_parent() -> None:
    child = child_of_a_killed_parent("bound")

    assert wait_until(lambda: gone(child), SystemClock(), deadline_seconds=120)


def test_another_child_outlives_its_parent() -> None:
    child = child_of_a_killed_parent("free")

    assert not gone(child)
    os.kill(int(child.name), signal.SIGKILL)


def test_a_process_that_gives_way_is_nicer_than_before_and_never_less_so_again() -> None:
    said = subprocess.run([sys.executable, "-c", GIVES_WAY], capture_output=True, text=True, check=True).stdout
    before, once, twice = map(int, said.split())
    assert before < once == twice


def test_the_leader_of_a_session_gives_way_as_a_whole_and_another_process_leaves_its_session_alone() -> None:
    group = Path("/proc/self/autogroup")
    if not group.exists():
        return  # this kernel shares the processors out among processes only: niceness is enough
    before = os.getpriority(os.PRIO_PROCESS, 0)
    read = f"from pathlib import Path; print(Path({str(group)!r}).read_text(), end='')"
    program = f"from sluice.launch.processes import lower_priority; lower_priority({before + 1}); {read}"
    said = {
        leads: subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, start_new_session=leads
        ).stdout
        for leads in (True, False)
    }
    assert said[True].split()[-1] == str(before + 1)
    assert said[False] == group.read_text(encoding="utf-8")
