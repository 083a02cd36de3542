"""`sluice logs`: the logs of the stack's components."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from sluice.cli.terminal.escaping import without_colours
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out, out_lines
from sluice.devstack.supervision import last_lines
from sluice.errors import SpecError
from sluice.settings import StateFolder, settings


def logs(
    component: Annotated[
        str,
        typer.Argument(
            help="A component that `sluice logs` lists. Default: list them.",
            autocompletion=lambda: list(log_files(settings().folder)),
        ),
    ] = "",
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="The number of lines from the end.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until Ctrl-C.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the log of a component of the stack, or list the logs. A stream's log: `sluice streams logs`.

    Exit codes: 0; 2 the log does not exist.
    """
    files = log_files(settings().folder)
    if component:
        path = choose_log(files, component)
        if follow:
            with contextlib.suppress(KeyboardInterrupt):  # `tail -F` follows a log through its rotation
                for line in _followed(path, lines):
                    out.write(without_colours(line))
        else:
            for line in last_lines(path, lines):
                out.write(f"{without_colours(line)}\n")
    else:
        emit(output, files, lambda: _print_files(files))


def _print_files(files: Mapping[str, Path]) -> None:
    if not files:
        err_lines.print("There are no logs, because the stack was never started. `sluice up` starts it.")
    for name, path in files.items():
        out_lines.print(f"{name:<16}{path}")


def _followed(path: Path, lines: int) -> Iterator[str]:
    tail = ["tail", "-n", str(lines), "-F", str(path)]
    with subprocess.Popen(tail, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace") as run:
        try:
            yield from run.stdout or ()
        finally:
            run.terminate()


def log_files(folder: StateFolder) -> dict[str, Path]:
    """Return the components' logs by name; the broker's is its own log file, which has more than its output."""
    files = {path.stem: path for path in sorted(folder.logs.glob("*.log"))}
    own = folder.kafka / "broker.log"
    return files | ({"broker": own} if own.exists() else {})


def choose_log(files: dict[str, Path], component: str) -> Path:
    """Return a component's log.

    Raises:
        SpecError: the component has no log.
    """
    if component not in files:
        names = ", ".join(files) or "none, because the stack was never started"
        raise SpecError(f"There is no log of {component!r}. Logs: {names}.", fix="use one of these.")
    return files[component]
