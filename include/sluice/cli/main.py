"""The command `sluice`. Each noun is a module that is imported on use, so `sluice check` does not import Spark."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer._click.shell_completion import CompletionItem
from typer.core import TyperGroup

from sluice import __version__
from sluice.cli.terminal.acts import record_acts
from sluice.cli.terminal.escaping import guard_standard_streams
from sluice.cli.terminal.output import err_lines, out_lines
from sluice.disk import disk_error
from sluice.errors import SluiceError, exit_codes
from sluice.launch.imports import loading_code

COMMANDS = {
    "init": "sluice.cli.init:init",
    "demo": "sluice.cli.stack.demo:demo",
    "up": "sluice.cli.stack.up:up",
    "down": "sluice.cli.stack.up:down",
    "status": "sluice.cli.stack.status:status",
    "doctor": "sluice.cli.stack.doctor:doctor",
    "check": "sluice.cli.checking.check:check",
    "new": "sluice.cli.new:app",
    "run": "sluice.cli.run:run",
    "logs": "sluice.cli.stack.logs:logs",
    "topics": "sluice.cli.topics.commands:app",
    "access": "sluice.cli.access:app",
    "streams": "sluice.cli.streams.commands:app",
    "intervals": "sluice.cli.intervals:app",
    "graph": "sluice.cli.graph:graph",
    "mirror": "sluice.cli.topics.mirror:app",
    "trace": "sluice.cli.trace:trace",
    "outputs": "sluice.cli.outputs:app",
    "backfill": "sluice.cli.backfill:app",
    "capacity": "sluice.cli.capacity.commands:app",
    "prove": "sluice.cli.checking.prove:prove",
    "proofs": "sluice.cli.checking.proofs:app",
    "quality": "sluice.cli.quality:app",
    "quarantine": "sluice.cli.quarantine:app",
    "contracts": "sluice.cli.contracts:app",
    "control": "sluice.cli.control:app",
    "feed": "sluice.cli.feed:app",
    "alerts": "sluice.cli.alerts:app",
    "audit": "sluice.cli.audit:audit",
    "console": "sluice.cli.stack.console_server:console",
    "serve": "sluice.cli.stack.serve:serve",
    "sql": "sluice.cli.sql:sql",
    "explain": "sluice.cli.glossary.explain:explain",
    "docs": "sluice.cli.glossary.pages:docs",
}
"""Name → module and attribute of its function or group, in the order of the help."""

_EPILOG = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, (meaning, _) in exit_codes().items()) + "."


class _LazyGroup(TyperGroup):
    """Finds a command by importing its module."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own click is private
        """Return all names, in the order of the help."""
        _ = ctx
        return list(COMMANDS)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:  # noqa: ANN401 - the same
        """Return the matching names without their help, which would import every command."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(name) for name in COMMANDS if name.startswith(incomplete)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - the same
        """Return a command, or None for an unknown name."""
        _ = ctx
        if cmd_name not in COMMANDS:
            return None
        command: Any
        target = _load(cmd_name)
        if not isinstance(target, typer.Typer):
            function, target = target, typer.Typer(pretty_exceptions_enable=False, add_completion=False)
            target.command(cmd_name)(function)
            command = typer.main.get_command(target)
        else:
            command = typer.main.get_group(
                target
            )  # without the options that install completion, which `sluice` itself has
        command.name = cmd_name
        record_acts(command, cmd_name)
        return command


def _load(name: str) -> Any:  # noqa: ANN401 - a function or a group
    module, _, attribute = COMMANDS[name].partition(":")
    return getattr(import_module(module), attribute)


app = typer.Typer(
    cls=_LazyGroup,
    help="Streaming pipelines on Kafka, Spark and Airflow, run as one system.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        out_lines.print(f"sluice {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Make typer build a group."""


def main() -> None:
    """Run a command. A deliberate error prints one message on stderr and sets the exit code of its class.

    A full, broken or read-only disk is such an error in every command.
    """
    guard_standard_streams()
    try:
        with loading_code():
            for name in COMMANDS.keys() & set(sys.argv[1:2]):
                _load(name)
        app()
    except SluiceError as error:
        _end(error)
    except OSError as error:
        if (known := disk_error(error)) is None:
            raise
        _end(known)


def _end(error: SluiceError) -> NoReturn:
    err_lines.print(f"sluice: {error}", style="red")
    sys.exit(error.exit_code)
