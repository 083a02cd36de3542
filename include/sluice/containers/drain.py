"""Waits until the runner is stopped, then lets its drivers finish their batch and end.

The desired state that they run stays on record: when the runner is back, the reconciler starts them from their
checkpoints. A runner that is killed loses nothing either; the batch that was running is then replayed.
"""

from __future__ import annotations

import signal
import sys
from concurrent.futures import ThreadPoolExecutor

from sluice.errors import SluiceError
from sluice.launch.launcher import LocalLauncher
from sluice.settings import settings

_DEADLINE_SECONDS = 80.0
"""Below `stopwaitsecs` in runner.conf, which is below `stop_grace_period` in docker-compose.yaml."""


def drain(launcher: LocalLauncher, deadline_seconds: float = _DEADLINE_SECONDS) -> list[str]:
    """Stop all living drivers at once and return one sentence for each."""
    keys = [report.key for report in launcher.living()]

    def end(key: str) -> str:
        try:
            report = launcher.stop(key, deadline_seconds)
        except SluiceError as error:
            return f"{key} could not be ended: {error}"
        return f"{key} ended with exit code {report.exit_code}"

    with ThreadPoolExecutor(max(len(keys), 1)) as threads:
        return list(threads.map(end, keys))


def main() -> None:
    """Block until SIGTERM."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.sigwait({signal.SIGTERM})
    for sentence in drain(LocalLauncher(settings().folder.drivers)):
        sys.stdout.write(f"{sentence}\n")


if __name__ == "__main__":
    main()
