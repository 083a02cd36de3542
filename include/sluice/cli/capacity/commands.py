"""`sluice capacity`: what a pipeline needs for a rate and a latency, and what it has cost."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from sluice.capacity.costs import KEPT
from sluice.capacity.plan import capacity_plan
from sluice.capacity.targets import Target, parse_rate
from sluice.cli.capacity.views import print_costs, print_plan
from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import PipelineArgument
from sluice.cli.terminal.output import Output, OutputOption, emit
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.errors import SpecError
from sluice.project.capacity.costs import costs_of_pipelines, record_driver_costs
from sluice.project.capacity.measuring import measured_unit
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.model.duration import parse_duration

app = typer.Typer(
    help="Plan cores, memory, partitions, disk and money for a rate; show what a pipeline has cost.",
    no_args_is_help=True,
)

RateOption = Annotated[str, typer.Option(help="A factor of the measured rate (2x), or records per time (5000/s).")]
LatencyOption = Annotated[
    float | None, typer.Option(help="Seconds within which each record is to be in a committed batch.")
]
OutageOption = Annotated[str, typer.Option(help="A standstill that it is to catch up with, such as `2 hours`.")]
CatchUpOption = Annotated[str, typer.Option(help="How long catching up may take.")]
HeadroomOption = Annotated[float, typer.Option(help="Share of cores and memory that stays free, 0 to 0.9.")]
DaysOption = Annotated[float, typer.Option(help="For how long the disk is to suffice for what is kept for ever.")]


@app.command()
def plan(
    pipeline: PipelineArgument,
    *,
    rate: RateOption = "2x",
    latency: LatencyOption = None,
    outage: OutageOption = "0s",
    catch_up: CatchUpOption = "1 hour",
    headroom: HeadroomOption = 0.3,
    days: DaysOption = 30.0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a pipeline's driver needs for a rate, by what was measured of it, and how each number follows.

    Nothing is changed. Prices are those that the deployment declares (`prices`).

    Exit codes: 0; 2 an argument is wrong; 3 too little was measured, or under one load only; 6 a table's log cannot be
    read.
    """
    target = Target(
        rate=parse_rate(rate),
        latency=latency,
        outage=_seconds("--outage", outage),
        catch_up=_seconds("--catch-up", catch_up),
        headroom=headroom,
        days=days,
    )
    project, spec = open_pipeline(pipeline)
    found = capacity_plan(measured_unit(project, spec.name), target, project.deployment.prices)
    emit(output, found.as_dict(), lambda: print_plan(found))


@app.command()
def cost(
    pipeline: Annotated[
        str, typer.Argument(help="A pipeline; omitted: all of them.", autocompletion=completion.pipelines)
    ] = "",
    *,
    days: Annotated[int, typer.Option(help="How many days (UTC), today included.", min=1, max=KEPT.days)] = 7,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what pipelines have used on each day: drivers, executors, backfills, quality, and money.

    What running drivers have used since the last round of the alerts is put on record first.

    Exit codes: 0; 2 the pipeline does not exist, or the deployment is wrong; 4 the control database did not answer.
    """
    config = settings()
    project = open_pipeline(pipeline)[0] if pipeline else Project.open_tolerant(config)
    now = project.clock.now()
    record_driver_costs(project, now, every=timedelta())
    costs = [cost for cost in costs_of_pipelines(project, now, days) if pipeline in ("", cost.pipeline)]
    prices = project.deployment.prices
    emit(output, [cost.as_dict(prices) for cost in costs], lambda: print_costs(costs, prices))


def _seconds(option: str, text: str) -> float:
    try:
        return parse_duration(text).total_seconds()
    except ValueError as error:
        raise SpecError(f"{option}: {error}.", fix="write it so.") from error
