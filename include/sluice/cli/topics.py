"""`sluice topics`: what the specs declare against what the cluster has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

import typer
from rich.console import Console
from rich.table import Column, Table

from sluice.cli.console import Output, OutputOption
from sluice.project import Project
from sluice.settings import settings
from sluice.topics.administration import TopicState
from sluice.topics.apply import apply as apply_specs
from sluice.topics.apply import current_plan
from sluice.topics.plan import Plan

app = typer.Typer(help="Plan, create and describe the declared topics.", no_args_is_help=True)


@app.command()
def plan(output: OutputOption = Output.TABLE) -> None:
    """Show what `apply` would do. Changes nothing.

    Exit codes: 0 the cluster was asked; 2 a spec is wrong; 3 the stack is not up; 4 no broker answered.
    """
    project = Project.open(settings())
    found = current_plan(
        project.catalog.kafka_topics(), project.administration(), default_replication=project.deployment.replication
    )
    if output is Output.JSON:
        typer.echo(json.dumps(plan_as_dict(found), indent=2))
        return
    console = Console(soft_wrap=True, markup=False, highlight=False)
    for creation in found.creations:
        console.print(f"+ {creation}", style="green")
    for difference in found.differences:
        console.print(f"! {difference} (apply will refuse)", style="red")
    if not found:
        console.print(f"{_count(len(project.catalog.kafka_topics()))} as declared; nothing to do.")


@app.command()
def apply(output: OutputOption = Output.TABLE) -> None:
    """Create the declared topics that do not exist, and verify all. A second run changes nothing.

    Exit codes: 0 all topics are as declared; 2 a spec is wrong; 3 the stack is not up; 4 no broker answered;
    5 an existing topic differs from its spec, or the cluster refused; then nothing was altered.
    """
    project = Project.open(settings())
    done, topics = apply_specs(
        project.catalog.kafka_topics(), project.administration(), default_replication=project.deployment.replication
    )
    if output is Output.JSON:
        typer.echo(json.dumps({"created": [c.topic for c in done.creations], "topics": _as_dict(topics)}, indent=2))
        return
    console = Console(soft_wrap=True, markup=False, highlight=False)
    for creation in done.creations:
        console.print(f"created {creation.topic}", style="green")
    console.print(f"{_count(len(topics))} as declared.")


@app.command()
def describe(output: OutputOption = Output.TABLE) -> None:
    """Show the declared topics as the cluster has them.

    Exit codes: 0 the cluster was asked; 2 a spec is wrong; 3 the stack is not up; 4 no broker answered.
    """
    project = Project.open(settings())
    administration = project.administration()
    topics = administration.describe(project.catalog.kafka_topics())
    ends = {name: administration.ends(name) for name in topics}
    if output is Output.JSON:
        described = {name: {**state, "ends": ends[name]} for name, state in _as_dict(topics).items()}
        typer.echo(json.dumps(described, indent=2))
        return
    table = Table(Column("topic", overflow="fold", min_width=20), "partitions", "replicas", "records", box=None)
    table.add_column("configurations", overflow="fold")
    for name, state in sorted(topics.items()):
        replicas = ",".join(sorted({str(len(replicas)) for replicas in state.replicas}))
        configs = " ".join(f"{key}={value}" for key, value in sorted(state.configs.items()))
        first = administration.beginnings(name)
        records = sum(end - first.get(partition, 0) for partition, end in ends[name].items())
        table.add_row(name, str(state.partitions), replicas, f"{records:,}", configs)
    Console().print(table)
    missing = sorted(set(project.catalog.kafka_topics()) - set(topics))
    if missing:
        typer.echo(f"declared and not there: {', '.join(missing)} (run `sluice topics apply`)", err=True)


def plan_as_dict(found: Plan) -> dict[str, object]:
    """Return a plan as JSON values: what would be created, and what differs, value by value."""
    return {
        "create": [asdict(item.creation) for item in found.creations],
        "differences": [asdict(item) for item in found.differences],
    }


def _as_dict(topics: Mapping[str, TopicState]) -> dict[str, dict[str, object]]:
    return {name: {**asdict(state), "partitions": state.partitions} for name, state in sorted(topics.items())}


def _count(topics: int) -> str:
    return f"{topics} topic is" if topics == 1 else f"{topics} topics are"
