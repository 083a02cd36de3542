"""`sluice console`: the read-only console on this machine, without Airflow and without a login."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from sluice.cli.terminal.output import err_lines
from sluice.errors import NotReadyError
from sluice.launch.ports import HOST
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.settings import settings


def console(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 chooses a free one.")] = 8085,
) -> None:
    """Serve the console's pages on 127.0.0.1 until Ctrl-C. There is no login, so the pages are read-only.

    Airflow serves the same pages behind its login, with the actions that each user may take.

    Exit codes: 0; 2 the deployment is wrong; 3 the port is taken.
    """
    import uvicorn  # noqa: PLC0415 - only this command imports it

    from sluice.console.app import create_console  # noqa: PLC0415 - the same
    from sluice.console.context.access import login_free_gate  # noqa: PLC0415 - the same

    project = ReloadingProject(lambda: Project.open_tolerant(settings()))
    project.current()  # report a wrong deployment here, not on every page
    app = create_console(project, login_free_gate)
    listening = listen(port)
    bound = listening.getsockname()[1]
    err_lines.print(f"The console is at http://{HOST}:{bound}/ (no login: only this machine). Press Ctrl-C to stop it.")
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    uvicorn.Server(config).run(sockets=[listening])


def listen(port: int, host: str = HOST) -> socket.socket:
    """Return a listening socket.

    Raises:
        NotReadyError: the port is taken.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # so that a client that connects at once waits for the server
    except OSError as error:
        listening.close()
        raise NotReadyError(
            f"port {port} is taken: {error.strerror}.", fix="choose another one with --port; 0 takes a free one."
        ) from error
    return listening
