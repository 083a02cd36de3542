"""What a report of a fault begins with: the version."""

from __future__ import annotations

from typer.testing import CliRunner

from sluice import __version__
from sluice.cli.main import app


def test_the_version_is_printed_without_a_command() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"sluice {__version__}\n")
