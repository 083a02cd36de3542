"""`sluice serve` as a process of Airflow's, without a login: for browsers, and for alerts that reach real services."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_STOP_SECONDS = 60


@contextmanager
def running_serve(
    state: Path, variables: Mapping[str, str], connections: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[str]:
    """Serve the pages of a project and send its alerts; give the address.

    Args:
        state: its state folder, where the log `serve.log` goes, too.
        variables: what puts a process into the project.
        connections: of Airflow, by id: the services that alerts go to.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    listening.set_inheritable(True)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    command = [sys.executable, "-m", "sluice.airflow.web.live_server", f"--descriptor={listening.fileno()}"]
    command += [f"--url={address}", "--without-login"]
    airflow = {"AIRFLOW_HOME": str(state / "airflow"), "_AIRFLOW_PROCESS_CONTEXT": "server"}
    for name, connection in (connections or {}).items():
        airflow[f"AIRFLOW_CONN_{name.upper()}"] = json.dumps(connection)
    with background("serve", command, state, {**variables, **airflow}, listening.fileno()):
        yield address
    listening.close()


@contextmanager
def background(
    name: str, command: list[str], state: Path, variables: Mapping[str, str], *descriptors: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that logs into the state folder; on the way out it is gone."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **variables},
            start_new_session=True,
            stdout=log,
            stderr=log,
            pass_fds=descriptors,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
