"""The command `sluice`. Each noun is a module, imported only when it is asked for: `sluice check` pays for no Spark."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer._click.shell_completion import CompletionItem
from typer.core import TyperGroup

from sluice.cli.terminal.escaping import guard_standard_streams
from sluice.cli.terminal.output import err
from sluice.disk import disk_error
from sluice.errors import SluiceError

COMMANDS = {
    "init": "sluice.cli.init:init",
    "demo": "sluice.cli.stack.demo:demo",
    "up": "sluice.cli.stack.up:up",
    "down": "sluice.cli.stack.up:down",
    "status": "sluice.cli.stack.status:status",
    "doctor": "sluice.cli.stack.doctor:doctor",
    "check": "sluice.cli.check:check",
    "new": "sluice.cli.new:app",
    "run": "sluice.cli.run:run",
    "logs": "sluice.cli.stack.logs:logs",
    "topics": "sluice.cli.topics.commands:app",
    "access": "sluice.cli.access:app",
    "streams": "sluice.cli.streams:app",
    "intervals": "sluice.cli.intervals:app",
    "backfill": "sluice.cli.backfill:app",
    "quality": "sluice.cli.quality:app",
    "quarantine": "sluice.cli.quarantine:app",
    "contracts": "sluice.cli.contracts:app",
    "control": "sluice.cli.control:app",
    "feed": "sluice.cli.feed:app",
    "alerts": "sluice.cli.alerts:app",
    "console": "sluice.cli.stack.console_server:console",
    "serve": "sluice.cli.stack.serve:serve",
    "sql": "sluice.cli.sql:sql",
    "explain": "sluice.cli.words.explain:explain",
}
"""Name → where its function or group is, in the order of the help."""

_EPILOG = (
    "Exit codes: 0 done; 1 failed; 2 a spec or an argument is wrong; 3 this machine or stack is not ready; "
    "4 could not look; 5 refused, nothing was changed; 6 our own data contradicts itself."
)


class _Nouns(TyperGroup):
    """Finds a command by importing its module."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own click is private
        """Return all names, in the order of the help."""
        _ = ctx
        return list(COMMANDS)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:  # noqa: ANN401 - the same
        """Return the names that begin so. Their help would cost whoever presses Tab the import of all commands."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(name) for name in COMMANDS if name.startswith(incomplete)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - the same
        """Return a command, or None for a name that there is not."""
        _ = ctx
        if cmd_name not in COMMANDS:
            return None
        command: Any
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        found = getattr(import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(pretty_exceptions_enable=False, add_completion=False)
            found.command(cmd_name)(function)
            command = typer.main.get_command(found)
        else:
            command = typer.main.get_group(found)  # without the options that install completion: `sluice` has them
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=_Nouns,
    help="Streaming pipelines on Kafka, Spark and Airflow, run as one system.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Exist, so that typer builds a group."""


def main() -> None:
    """Run a command. A deliberate error is one sentence on stderr and an exit code that scripts can tell apart.

    So is a disk that is full, broken or read-only, wherever a command meets it.
    """
    guard_standard_streams()
    try:
        app()
    except SluiceError as error:
        _end(error)
    except OSError as error:
        if (told := disk_error(error)) is None:
            raise
        _end(told)


def _end(error: SluiceError) -> NoReturn:
    err.print(f"sluice: {error}", style="red", markup=False, soft_wrap=True)
    sys.exit(error.exit_code)
