"""A machine as a user has it: a private state folder, and the command line that works in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.launch.processes import wait_until

SLUICE = Path(sys.executable).with_name("sluice")


@dataclass(frozen=True)
class Machine:
    """A private state folder, and the command line that works in it."""

    state: Path

    def sluice(self, *arguments: str, deadline: float = 120) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "SLUICE_STATE": str(self.state)}
        command = [str(SLUICE), *arguments]
        try:
            return subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=deadline
            )
        except subprocess.TimeoutExpired as error:
            said = error.stderr.decode() if isinstance(error.stderr, bytes) else error.stderr
            raise AssertionError(f"{arguments} did not end in {deadline:.0f} s. It said:\n{said}") from error

    def ask(self, *arguments: str) -> Any:  # noqa: ANN401  JSON
        done = self.sluice(*arguments, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def demo(self, days: tuple[str, str], *options: str) -> dict[str, Any]:
        # Twice what it takes beside another worker's tests, on two cores that others use too.
        done = self.sluice("demo", "--from", days[0], "--to", days[1], *options, deadline=800)
        assert done.returncode == 0, done.stderr[-4000:]
        report: dict[str, Any] = json.loads((self.state / "demo.json").read_text())
        return report

    def table(self, report: dict[str, Any], name: str) -> pd.DataFrame:
        return read_rows(Path(report["tables"][name])).to_pandas()

    def processes(self) -> list[str]:
        """Return what still runs for this state folder."""
        mine = []
        for process in psutil.process_iter(["cmdline", "environ", "status"]):
            environ = process.info["environ"] or {}
            if environ.get("SLUICE_STATE") == str(self.state) and process.info["status"] != psutil.STATUS_ZOMBIE:
                mine.append(" ".join(process.info["cmdline"] or []))
        return mine

    def eventually(self, condition: Callable[[], bool], deadline_seconds: float) -> None:
        assert wait_until(condition, SystemClock(), deadline_seconds=deadline_seconds)
