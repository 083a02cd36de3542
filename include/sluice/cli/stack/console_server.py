"""`sluice console`: the console on this machine, without Airflow and without a login. It shows, and changes nothing."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from sluice.cli.terminal.output import err
from sluice.errors import NotReadyError
from sluice.launch.ports import HOST
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.settings import settings


def console(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: whichever is free.")] = 8085,
) -> None:
    """Serve the console's pages on 127.0.0.1 until Ctrl-C. Nobody is asked who they are, so nothing can be changed.

    In Airflow the same pages stand behind its login, and ask for what their visitors may ask for.

    Exit codes: 0; 2 the deployment is wrong; 3 the port is taken.
    """
    import uvicorn  # noqa: PLC0415 - only this command pays for it

    from sluice.console.app import create_console  # noqa: PLC0415 - the same
    from sluice.console.context.access import login_free_gate  # noqa: PLC0415 - the same

    project = ReloadingProject(lambda: Project.open_tolerant(settings()))
    project.current()  # a deployment that is wrong is said here, not on every page
    app = create_console(project, login_free_gate)
    listening = listen(port)
    bound = listening.getsockname()[1]
    err.print(f"The console is at http://{HOST}:{bound}/ without a login: for this machine only. Ctrl-C ends it.")
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    uvicorn.Server(config).run(sockets=[listening])


def listen(port: int, host: str = HOST) -> socket.socket:
    """Return a socket that listens.

    Raises:
        NotReadyError: the port is taken.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # who comes as soon as the address is told, waits for the first answer
    except OSError as error:
        listening.close()
        raise NotReadyError(f"port {port} is taken: {error.strerror}.", fix="name another by --port, or 0.") from error
    return listening
