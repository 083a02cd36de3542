"""How the command line speaks: results on stdout, everything else on stderr, errors as one sentence with the fix."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console


class Output(StrEnum):
    """For whom a command writes."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"

    @property
    def for_programs(self) -> bool:
        """Whether a program reads it: then it is one document, and everything else goes to stderr."""
        return self is not Output.TABLE


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")]

out = Console(highlight=False)
"""Results."""
err = Console(stderr=True, highlight=False)
"""Progress, notes and errors."""


def print_data(output: Output, data: Any) -> None:  # noqa: ANN401  JSON is any
    """Print one document on stdout, and nothing else."""
    typer.echo(as_text(output, data), nl=False)


def as_text(output: Output, data: Any) -> str:  # noqa: ANN401  JSON is any
    """Return data as the text of a document."""
    text = json.dumps(data, indent=2, default=str)
    if output is Output.YAML:
        return str(yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=120))
    return f"{text}\n"
