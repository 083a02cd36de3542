"""Tiny drivers for the launcher's tests: each says in a file that it is ready, so that nobody has to sleep."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sluice.streams.life.launcher import Job
from tests.waiting import eventually

_PROLOGUE = """
import json, os, pathlib, signal, subprocess, sys, time
runs = pathlib.Path({runs!r})
def ready(**more):
    draft = runs / f".{{os.getpid()}}"
    draft.write_text(json.dumps({{"pid": os.getpid(), **more}}))
    draft.rename(runs / f"{{os.getpid()}}.json")
CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
def child(**how):
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", CHILD], stdout=subprocess.PIPE, **how)
    process.stdout.readline()
    return process.pid
"""

OBEDIENT = """
def end(*_):
    print("drained", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
ready()
while True: signal.pause()
"""

STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
ready(children=[child(), child(start_new_session=True)])
while True: signal.pause()
"""

RENAMED = """
sys.path.append({site!r})
import setproctitle
setproctitle.setproctitle("x" * 4000)
ready()
while True: signal.pause()
"""

PLAIN = """
ready()
signal.pause()
"""

UNMARKED = """
ready()
pause = "import signal; signal.pause()"
os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", pause], {})
"""

CARELESS = """
ready(children=[child(), child(start_new_session=True)])
sys.exit(3)
"""


FAILING = """
said = {"class": "code", "error": "KeyError", "message": "'x'", "stream": "departures"}
said["at"] = "2013-01-07T12:00:00+00:00"
pathlib.Path(os.environ["SLUICE_DRIVER"], "failure.json").write_text(os.environ.get("SAID", json.dumps(said)))
ready()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))
while True: signal.pause()
"""


def exiting(code: int) -> str:
    return f"ready()\nsys.exit({code})\n"


class Drivers:
    """Makes jobs, and knows which of them ever ran."""

    def __init__(self, folder: Path) -> None:
        self._runs = folder / "runs"
        self._runs.mkdir()

    def job(self, source: str, **environment: str) -> Job:
        code = _PROLOGUE.format(runs=str(self._runs)) + source
        return Job((sys.executable, "-I", "-S", "-c", code), environment)

    def runs(self) -> list[dict[str, object]]:
        """Return what every driver that ever became ready said."""
        return [json.loads(path.read_text()) for path in sorted(self._runs.glob("*.json"))]

    def one_ready(self) -> dict[str, object]:
        eventually(lambda: len(self.runs()) > 0)
        (run,) = self.runs()
        return run


def alive(pid: object) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
