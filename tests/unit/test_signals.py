"""The suite hears Ctrl-C however it was started."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHILD = """
import subprocess, sys
import tests.signals
tests.signals.restore_default_signals()
grandchild = "import signal, time; print('ready', flush=True); time.sleep(60)"
process = subprocess.Popen([sys.executable, "-c", grandchild], stdout=subprocess.PIPE)
process.stdout.readline()
process.send_signal({number})
sys.exit(0 if process.wait(20) != 0 else 1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
def test_a_suite_that_was_started_in_the_background_gives_its_children_the_default_signals(number: int) -> None:
    def ignored() -> None:
        signal.signal(number, signal.SIG_IGN)

    child = subprocess.run(
        [sys.executable, "-c", CHILD.format(number=int(number))],
        cwd=ROOT,
        preexec_fn=ignored,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert child.returncode == 0, child.stderr
