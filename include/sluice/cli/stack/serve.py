"""`sluice serve`: live pages, lookups by key and events of the newest values, and the alerts of their rules."""

from __future__ import annotations

import os
import socket
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from sluice.alerts.dispatch import AlertDispatcher
from sluice.audit.recording import remark
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
    certificate: Annotated[
        Path | None,
        typer.Option(help="Encrypt: a file in PEM with the private key and the certificate.", show_default=False),
    ] = None,
    url: Annotated[str, typer.Option(help="The public address, for links in alerts. Default: its own address.")] = "",
    without_login: Annotated[
        bool, typer.Option("--without-login", help="Serve without a login. Only on 127.0.0.1.")
    ] = False,
) -> Callable[[], NoReturn] | None:
    """Serve the newest values of `latest` and `topic` outputs until Ctrl-C, and watch the rules about them.

    A client presents an Airflow token, and sees the outputs whose streams' DAGs it may read. Alerts are delivered like
    all alerts.

    Exit codes: 0; 2 the deployment is wrong, or --host needs a login; 3 the port is taken, the certificate cannot be
    used, or there is no Airflow to check tokens.
    """
    config = settings()
    Project.open_tolerant(config)  # report a wrong deployment here, not on every page
    variables = airflow_variables(config)
    _refuse_open(host, without_login=without_login, airflow=bool(variables))
    if certificate is not None:
        _refuse_unusable(certificate)
    listening = listen(port, host)
    scheme = "http" if certificate is None else "https"
    place = ServerPlace(listening, url or f"{scheme}://{host}:{listening.getsockname()[1]}", certificate)
    audience = "(no login: only this machine)" if without_login else "for users of Airflow"
    err_lines.print(f"Live values are at {place.url}/ {audience}. Press Ctrl-C to stop.")
    if variables:
        remark("the service runs from here on")
        return partial(_in_airflow, place, without_login, variables)
    _alone(place)
    return None


@dataclass(frozen=True)
class ServerPlace:
    """A socket that listens, the address under which it is reached, and by what it encrypts."""

    listening: socket.socket
    url: str
    certificate: Path | None


def _refuse_open(host: str, *, without_login: bool, airflow: bool) -> None:
    """Make sure that no stranger reads the values.

    Raises:
        SpecError: without a login, other machines could.
        NotReadyError: nothing is there that checks a login.
    """
    if without_login and host != HOST:
        raise SpecError(
            f"without a login, anyone who can reach {host} could read the values.", fix=f"remove --host ({HOST})."
        )
    if not airflow and not without_login:
        raise NotReadyError(
            "there is no Airflow (neither an embedded one nor AIRFLOW_HOME), so tokens cannot be checked.",
            fix="start one (`sluice up`), or add --without-login to serve only this machine.",
        )


def _refuse_unusable(certificate: Path) -> None:
    """Make sure, before the port is taken, that a file can be used.

    Raises:
        NotReadyError: it cannot.
    """
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate)
    except (OSError, ssl.SSLError) as error:
        raise NotReadyError(
            f"{certificate} cannot be used to encrypt: {error.strerror or error}.",
            fix="name a file in PEM that holds a private key without a password, and its certificate.",
        ) from error


def _in_airflow(place: ServerPlace, without_login: bool, variables: dict[str, str]) -> NoReturn:
    """Replace this process by one with Airflow's variables, which Airflow reads while it is imported."""
    place.listening.set_inheritable(True)
    descriptor = place.listening.fileno()
    arguments = ["-m", "sluice.airflow.web.live_server", f"--descriptor={descriptor}", f"--url={place.url}"]
    arguments += [] if place.certificate is None else [f"--certificate={place.certificate}"]
    arguments += ["--without-login"] if without_login else []
    os.execve(sys.executable, [sys.executable, *arguments], variables)  # noqa: S606 - ours


def _alone(place: ServerPlace) -> None:
    from sluice.console.context.access import login_free_gate  # noqa: PLC0415 - only this command imports it
    from sluice.serve.server import ServerAddress  # noqa: PLC0415 - the same
    from sluice.serve.server import serve as run  # noqa: PLC0415 - the same

    address = ServerAddress(place.listening, place.url, str(place.certificate or ""))
    run(address, lambda: Project.open_tolerant(settings()), login_free_gate, AlertDispatcher)
