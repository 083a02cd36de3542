"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.cli.terminal import completion

PipelineArgument = Annotated[
    str,
    typer.Argument(help="A pipeline: a file in include/pipelines, without .yaml.", autocompletion=completion.pipelines),
]
UnitArgument = Annotated[
    str, typer.Argument(help="A unit: the name of its driver in the specs.", autocompletion=completion.units)
]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, for the record.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Confirm without a prompt.")]
