"""`sluice serve` beside a demo: a process of its own, which shows the pages of a project until the demo ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shlex import quote

from sluice.cli.stack.console_server import listen
from sluice.cli.terminal.output import err_lines
from sluice.errors import NotReadyError
from sluice.launch.ports import HOST
from sluice.project.project import Project
from sluice.settings import environment, settings

_USUAL_PORT = 8086
_MAIN = "from sluice.cli.main import main; main()"


class PageServer:
    """Serves the pages of a project on this machine, without a login."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""

    @property
    def pages(self) -> list[str]:
        """The addresses of all pages."""
        declared = (name for name, pipeline in self._project.catalog.pipelines.items() if pipeline.page is not None)
        return [f"{self.address}/{name}" for name in sorted(declared)]

    @property
    def end(self) -> str:
        """The command that ends the stack of the project; a project beside the current one needs its folder."""
        home = self._project.settings.home
        if home == settings().home:
            return "sluice down"
        return f"cd {quote(str(home))} && {quote(str(Path(sys.executable).with_name('sluice')))} down"

    def start(self) -> None:
        """Serve them from now on, if there is one, and say where."""
        if not self.pages:
            return
        place, port = self._project.settings, _free_port()
        self.address = f"http://{HOST}:{port}"
        places = {"SLUICE_HOME": str(place.home), "SLUICE_STATE": str(place.state)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, "serve", "--without-login", "--port", str(port)],
            env={**environment(), **places, "SLUICE_JARS": str(place.jars)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for page in self.pages:
            err_lines.print(f"    Page: {page}")

    def wait(self) -> None:
        """Keep the pages until Ctrl-C."""
        if self._process is None:
            return
        err_lines.print(f"The pages stay until you press Ctrl-C; the stack stays until `{self.end}`.")
        try:
            self._process.wait()
        except KeyboardInterrupt:
            err_lines.print("")

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def _free_port() -> int:
    try:
        listening = listen(_USUAL_PORT)
    except NotReadyError:
        listening = listen(0)
    with listening:
        port: int = listening.getsockname()[1]
        return port
