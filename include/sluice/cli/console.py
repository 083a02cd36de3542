"""How the command line speaks: results on stdout, everything else on stderr, errors as one sentence with the fix."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console


class Output(StrEnum):
    """For whom a command writes."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")]

out = Console(highlight=False)
"""Results."""
err = Console(stderr=True, highlight=False)
"""Progress, notes and errors."""


def print_json(data: Any) -> None:  # noqa: ANN401  JSON is any
    """Print one JSON document on stdout, and nothing else."""
    typer.echo(json.dumps(data, indent=2, default=str))
