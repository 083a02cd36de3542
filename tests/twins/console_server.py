"""`sluice console` as a process, over a project of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sluice.settings import inherited
from tests.twins.console_fleet import ConsoleFleet

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@contextmanager
def served(fleet: ConsoleFleet) -> Iterator[str]:
    """Serve a fleet's console on a free port; on the way out it is gone."""
    environment = {
        **inherited(),
        "SLUICE_HOME": str(fleet.settings.home),
        "SLUICE_STATE": str(fleet.settings.state),
    }
    code = "import sys; from sluice.cli.main import main; sys.argv = ['sluice', 'console', '--port', '0']; main()"
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = _ADDRESS.search(said)
        assert found, said
        yield found[0]
    finally:
        process.terminate()
        process.wait(20)
