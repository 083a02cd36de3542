"""`sluice serve`: newest values as pages that move, answers by key and events, and the alerts of their rules."""

from __future__ import annotations

import os
import socket
import sys
from typing import Annotated

import typer

from sluice.alerts.dispatch import AlertDispatcher
from sluice.cli.stack.console_server import listen
from sluice.cli.terminal.output import err
from sluice.devstack.airflow.configuration import stack_environment
from sluice.errors import NotReadyError, SpecError
from sluice.launch.ports import HOST
from sluice.project.project import Project
from sluice.settings import Settings, environment, settings


def serve(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: whichever is free.")] = 8086,
    host: Annotated[
        str, typer.Option(help="The address to listen on; another than this machine's needs a login.")
    ] = HOST,
    url: Annotated[str, typer.Option(help="Where it is reached, for links in alerts. Omitted: its own address.")] = "",
    without_login: Annotated[
        bool, typer.Option("--without-login", help="Ask nobody who they are: on 127.0.0.1 only.")
    ] = False,
) -> None:
    """Serve the newest values of `latest` and `topic` outputs until Ctrl-C, and watch the rules about them.

    A visitor presents a token of Airflow, and sees the outputs whose streams' DAGs they may read. Alerts go the way
    of all alerts.

    Exit codes: 0; 2 the deployment is wrong, or it would be open to others without a login; 3 the port is taken, or
    there is no Airflow whose tokens could be asked for.
    """
    place = settings()
    Project.open_tolerant(place)  # a deployment that is wrong is said here, not on every page
    if without_login and host != HOST:
        raise SpecError(
            f"without a login {host} would be open to everybody who reaches it.", fix=f"leave --host out ({HOST})."
        )
    variables = airflow_variables(place)
    if not variables and not without_login:
        raise NotReadyError(
            "there is no Airflow here (neither an embedded one nor AIRFLOW_HOME), so nobody's token can be looked at.",
            fix="start one (`sluice up`), or add --without-login to serve this machine alone.",
        )
    listening = listen(port, host)
    address = url or f"http://{host}:{listening.getsockname()[1]}"
    err.print(f"Live values are at {address}/ {_door(without_login)} Ctrl-C ends it.", markup=False, soft_wrap=True)
    if variables:
        _in_airflow(listening, address, without_login, variables)
    _alone(listening, address)


def _door(without_login: bool) -> str:
    return "without a login: for this machine only." if without_login else "for those whom Airflow knows."


def airflow_variables(place: Settings) -> dict[str, str]:
    """Return the variables of a process with Airflow's configuration; empty if there is no Airflow."""
    embedded = (place.folder.airflow / "airflow.cfg").is_file()
    variables = stack_environment(place) if embedded else environment()
    return dict(variables) if variables.get("AIRFLOW_HOME") else {}


def _in_airflow(listening: socket.socket, address: str, without_login: bool, variables: dict[str, str]) -> None:
    """Go on as a process that is Airflow's: what it reads while it is imported is in its variables."""
    listening.set_inheritable(True)
    arguments = ["-m", "sluice.airflow.web.live_server", f"--descriptor={listening.fileno()}", f"--url={address}"]
    arguments += ["--without-login"] if without_login else []
    found = {**variables, "_AIRFLOW_PROCESS_CONTEXT": "server"}  # or Airflow would not ask its own database
    os.execve(sys.executable, [sys.executable, *arguments], found)  # noqa: S606 - ours


def _alone(listening: socket.socket, address: str) -> None:
    from sluice.console.context.access import login_free_gate  # noqa: PLC0415 - only this command pays for it
    from sluice.serve.server import ServerAddress  # noqa: PLC0415 - the same
    from sluice.serve.server import serve as run  # noqa: PLC0415 - the same

    run(ServerAddress(listening, address), lambda: Project.open_tolerant(settings()), login_free_gate, AlertDispatcher)
