"""`sluice serve`: live pages, lookups by key and events of the newest values, and the alerts of their rules."""

from __future__ import annotations

import os
import socket
import sys
from typing import Annotated

import typer

from sluice.alerts.dispatch import AlertDispatcher
from sluice.cli.stack.console_server import listen
from sluice.cli.terminal.airflow import airflow_variables
from sluice.cli.terminal.output import err_lines
from sluice.errors import NotReadyError, SpecError
from sluice.launch.ports import HOST
from sluice.project.project import Project
from sluice.settings import settings


def serve(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 chooses a free one.")] = 8086,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Any other than the default needs the login.")
    ] = HOST,
    url: Annotated[str, typer.Option(help="The public address, for links in alerts. Default: its own address.")] = "",
    without_login: Annotated[
        bool, typer.Option("--without-login", help="Serve without a login. Only on 127.0.0.1.")
    ] = False,
) -> None:
    """Serve the newest values of `latest` and `topic` outputs until Ctrl-C, and watch the rules about them.

    A client presents an Airflow token, and sees the outputs whose streams' DAGs it may read. Alerts are delivered like
    all alerts.

    Exit codes: 0; 2 the deployment is wrong, or --host needs a login; 3 the port is taken, or there is no Airflow to
    check tokens.
    """
    config = settings()
    Project.open_tolerant(config)  # report a wrong deployment here, not on every page
    if without_login and host != HOST:
        raise SpecError(
            f"without a login, anyone who can reach {host} could read the values.", fix=f"remove --host ({HOST})."
        )
    variables = airflow_variables(config)
    if not variables and not without_login:
        raise NotReadyError(
            "there is no Airflow (neither an embedded one nor AIRFLOW_HOME), so tokens cannot be checked.",
            fix="start one (`sluice up`), or add --without-login to serve only this machine.",
        )
    listening = listen(port, host)
    address = url or f"http://{host}:{listening.getsockname()[1]}"
    audience = "(no login: only this machine)" if without_login else "for users of Airflow"
    err_lines.print(f"Live values are at {address}/ {audience}. Press Ctrl-C to stop.")
    if variables:
        _in_airflow(listening, address, without_login, variables)
    _alone(listening, address)


def _in_airflow(listening: socket.socket, address: str, without_login: bool, variables: dict[str, str]) -> None:
    """Replace this process by one with Airflow's variables, which Airflow reads while it is imported."""
    listening.set_inheritable(True)
    arguments = ["-m", "sluice.airflow.web.live_server", f"--descriptor={listening.fileno()}", f"--url={address}"]
    arguments += ["--without-login"] if without_login else []
    os.execve(sys.executable, [sys.executable, *arguments], variables)  # noqa: S606 - ours


def _alone(listening: socket.socket, address: str) -> None:
    from sluice.console.context.access import login_free_gate  # noqa: PLC0415 - only this command imports it
    from sluice.serve.server import ServerAddress  # noqa: PLC0415 - the same
    from sluice.serve.server import serve as run  # noqa: PLC0415 - the same

    run(ServerAddress(listening, address), lambda: Project.open_tolerant(settings()), login_free_gate, AlertDispatcher)
