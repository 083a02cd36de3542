"""What the embedded Airflow remembers of old runs: rows of its database and logs of tasks, which only this removes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import datetime

from sluice.devstack.airflow.configuration import airflow_command, stack_environment
from sluice.errors import NotReadyError
from sluice.launch.run_folders import remove_old_files
from sluice.settings import Settings

_SECONDS = 1800.0


def remove_history(settings: Settings, before: datetime, run: Callable[..., str] | None = None) -> int | None:
    """Remove runs and their logs, by Airflow's own command; the newest run of each schedule stays.

    Args:
        settings: whose stack.
        before: the time (UTC) that they ended before.
        run: runs a command in an environment and returns its output; injected by tests.

    Returns:
        How many files of logs were removed; None if the Airflow here is no embedded one, whose operators do this.

    Raises:
        NotReadyError: Airflow's command failed; the logs were left alone.
    """
    if not (settings.folder.airflow / "airflow.cfg").exists():
        return None
    options = ("--clean-before-timestamp", before.isoformat(), "--skip-archive", "--yes")
    (run or _run)(airflow_command("db", "clean", *options), stack_environment(settings))
    return sum(remove_old_files(settings.folder.logs / name, before) for name in ("tasks", "parsing"))


def _run(command: tuple[str, ...], environment: dict[str, str]) -> str:
    try:
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise NotReadyError(f"airflow db clean took longer than {_SECONDS:.0f} s.", fix="run it by hand.") from error
    if ended.returncode:
        last = (ended.stderr.strip() or ended.stdout.strip()).rpartition("\n")[2]
        raise NotReadyError(
            f"airflow db clean ended with {ended.returncode}: {last}.", fix="read the task's log; it is tried tomorrow."
        )
    return ended.stdout
