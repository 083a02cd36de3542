"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.cli.terminal import completion

PipelineArgument = Annotated[
    str,
    typer.Argument(help="A pipeline: a file in include/pipelines, without .yaml.", autocompletion=completion.pipelines),
]
TopicArgument = Annotated[
    str, typer.Argument(help="A topic: a file in include/topics, without .yaml.", autocompletion=completion.topics)
]
FeedArgument = Annotated[
    str, typer.Argument(help="A feed: a file in include/feeds, without .yaml.", autocompletion=completion.feeds)
]
UnitArgument = Annotated[
    str, typer.Argument(help="A unit: the name of its driver in the specs.", autocompletion=completion.units)
]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, for the record.")]
DeadlineOption = Annotated[float, typer.Option("--deadline", min=0, help="Seconds after which the driver is killed.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Confirm without a prompt.")]
PlanOption = Annotated[str, typer.Option(help="The id of the plan that you read. Required unless all of it is safe.")]
WideningOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Allow the plan to widen this principal's rights. Repeat for each one that the plan names.",
        autocompletion=completion.principals,
    ),
]
