"""Run a command and write down what it and everything that it started cost.

Usage: python -m benchmarks.accounting <result file> <command> ...

A process that outlives its parent (Spark's Java does) becomes a child of this one, so no processor time is lost, and
this ends only when nothing that was started is left.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def main(arguments: list[str]) -> int:
    """Run, reap all, write the result; return the command's exit code."""
    result, *command = arguments
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    # In a session of its own, as its launchers start it.
    child = os.posix_spawnp(command[0], command, os.environ, setsid=True)  # noqa: TID251  a child inherits all of it
    code, cpu, peak = 1, 0.0, 0
    while True:
        try:
            pid, status, usage = os.wait3(0)
        except ChildProcessError:
            break
        cpu += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss)
        if pid == child:
            code = abs(os.waitstatus_to_exitcode(status))
    cost = {"cpu": round(cpu, 2), "wall": round(time.monotonic() - began, 2), "peak_mb": peak // 1024}
    Path(result).write_text(json.dumps({**cost, "load": round(os.getloadavg()[0], 1)}), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
