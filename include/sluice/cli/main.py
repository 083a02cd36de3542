"""The command `sluice`. Each noun is a module; this one puts them together and turns errors into exit codes."""

from __future__ import annotations

import sys

import typer

from sluice.cli import feed, streams, topics
from sluice.cli.check import check
from sluice.cli.console import err
from sluice.cli.demo import demo
from sluice.cli.doctor import doctor
from sluice.cli.feed_check import check as feed_check
from sluice.cli.logs import logs
from sluice.cli.status import status
from sluice.cli.up import down, up
from sluice.errors import SluiceError

_EPILOG = (
    "Exit codes: 0 done; 1 failed; 2 a spec or an argument is wrong; 3 this machine or stack is not ready; "
    "4 could not look; 5 refused, nothing was changed; 6 our own data contradicts itself."
)

app = typer.Typer(
    help="Streaming pipelines on Kafka, Spark and Airflow, run as one system.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (demo, up, down, status, doctor, check, logs):
    app.command()(command)
app.add_typer(topics.app, name="topics")
app.add_typer(streams.app, name="streams")
feed.app.command("check")(feed_check)
app.add_typer(feed.app, name="feed")


def main() -> None:
    """Run a command. A deliberate error is one sentence on stderr and an exit code that scripts can tell apart."""
    try:
        app()
    except SluiceError as error:
        err.print(f"sluice: {error}", style="red", markup=False, soft_wrap=True)
        sys.exit(error.exit_code)
