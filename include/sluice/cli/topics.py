"""`sluice topics`: what the specs declare against what the cluster has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from sluice.cli.console import Output, OutputOption
from sluice.cli.placement import place
from sluice.cli.topic_check import check
from sluice.cli.topic_describe import describe
from sluice.cli.topic_import import import_topics
from sluice.cli.topic_tail import tail
from sluice.clock import SystemClock
from sluice.errors import RefusedError
from sluice.project import Project
from sluice.settings import settings
from sluice.topic_looks import looker, order_breaks, positions
from sluice.topics.administration import TopicState
from sluice.topics.apply import Approval, command, current_plan
from sluice.topics.apply import apply as apply_specs
from sluice.topics.changes import Create, Risk, sentence
from sluice.topics.declared import Declared
from sluice.topics.impact import impacts_of
from sluice.topics.moving import DEFAULT_BATCH, DEFAULT_THROTTLE, Pace, news
from sluice.topics.moving import cancel as cancel_moves
from sluice.topics.performing import Manner
from sluice.topics.plan import as_dict

app = typer.Typer(help="Plan, apply, check, import and look at topics.", no_args_is_help=True)

_MARKS = {Risk.SAFE: "+", Risk.APPROVAL: "!", Risk.LOSS: "!!"}
_STYLES = {Risk.SAFE: "green", Risk.APPROVAL: "yellow", Risk.LOSS: "red"}


@app.command()
def plan(output: OutputOption = Output.TABLE) -> None:
    """Show what `apply` would do. Changes nothing.

    Exit codes: 0 the cluster was asked; 2 a spec is wrong; 3 the stack is not up; 4 no broker answered.
    """
    project = Project.open(settings())
    administration = project.administration()
    found = current_plan(declared_topics(project), administration)
    impacts = impacts_of(found, looker(project, administration, now=SystemClock().now()))
    if output is Output.JSON:
        touches = [{"topic": i.topic, "value": i.value, "clauses": i.clauses, **i.facts} for i in impacts.values()]
        typer.echo(json.dumps({**as_dict(found), "touches": touches}, indent=2, default=str))
        return
    console = Console(soft_wrap=True, markup=False, highlight=False)
    for item in found.items:
        risk = "" if item.risk is Risk.SAFE else f" [{item.risk}: {item.why}]"
        console.print(f"{_MARKS[item.risk]} {sentence(item)}{risk}", style=_STYLES[item.risk])
        for clause in impact.clauses if (impact := impacts.get((item.topic, item.value))) else ():
            console.print(f"    {clause}")
    for refused in found.refused:
        console.print(f"x {sentence(refused)}: refused, {refused.why}; {refused.fix}", style="red")
    for kept in found.kept:
        console.print(f"  {kept.topic}: {kept.value}={kept.current} {kept.why}")
    if not found:
        console.print(f"{_count(len(project.catalog.kafka_topics()))} as declared; nothing to do.")
    elif not found.refused:
        console.print(f"Plan {found.id}; apply it by {command(found) if found.guarded else '`sluice topics apply`'}.")


@app.command()
def apply(
    *,
    plan: Annotated[str, typer.Option(help="The id of the plan that you have read; needed if it is not safe.")] = "",
    losing: Annotated[
        list[str] | None, typer.Option(help="A topic of which records may go; once for each that the plan names.")
    ] = None,
    throttle_mb: Annotated[
        float, typer.Option(min=0.001, help="MB/s into each broker and out of it while replicas are copied.")
    ] = DEFAULT_THROTTLE / 1e6,
    batch: Annotated[int, typer.Option(min=1, help="Partitions that move at once.")] = DEFAULT_BATCH,
    drain_minutes: Annotated[
        float | None,
        typer.Option(
            min=0, help="Give a keyed topic partitions only when its streams have read everything; wait so long."
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make the topics what is declared, and verify all. A second run changes nothing.

    What is safe needs no more. Of a plan with anything else the id must be given, which `sluice topics plan` shows: it
    stands for that plan and the state that it saw.

    Replicas are moved in batches under a throttle. Whoever presses Ctrl-C gets the batch that is under way back; what
    has arrived stays, and the throttle goes. A shorter retention is reached in steps, and each waits until the broker
    has deleted what it lets go. With --drain-minutes a keyed topic grows only after whoever writes it has paused and
    its streams have read everything.

    Exit codes: 0 all topics are as declared; 2 a spec is wrong; 3 the stack is not up; 4 no broker answered;
    5 the plan may not be applied, or the cluster refused.
    """
    project = Project.open(settings())
    if losing and not plan:
        raise RefusedError(
            "Topics are named of which records may go, and no plan is, so nothing was applied.",
            fix="read `sluice topics plan`, and give its id by --plan.",
        )
    done, topics = apply_specs(
        declared_topics(project),
        project.administration(),
        approval=Approval(plan, frozenset(losing or ())) if plan else None,
        manner=Manner(
            Pace(int(throttle_mb * 1e6), batch, news(lambda said: typer.echo(said, err=True))),
            order_breaks(project),
            lambda topic: positions(project, topic),
            None if drain_minutes is None else drain_minutes * 60,
            lambda said: typer.echo(said, err=True),
        ),
    )
    if output is Output.JSON:
        typer.echo(json.dumps({"applied": as_dict(done)["items"], "topics": _as_dict(topics)}, indent=2))
        return
    console = Console(soft_wrap=True, markup=False, highlight=False)
    for item in done.items:
        said = (
            f"created {item.topic}" if isinstance(item, Create) else f"{item.topic}: {item.value} is {item.wanted} now"
        )
        console.print(said, style="green")
    console.print(f"{_count(len(topics))} as declared.")


@app.command()
def cancel() -> None:
    """Have every move of a declared topic's replicas go back to where it was, and remove the throttle.

    Exit codes: 0 nothing moves any more; 2 a spec is wrong; 3 the stack is not up; 4 no broker answered.
    """
    project = Project.open(settings())
    administration = project.administration()
    back = cancel_moves(administration, administration.describe(project.catalog.kafka_topics()))
    for topic, partition in back:
        typer.echo(f"{topic}/{partition} goes back")
    typer.echo(
        f"{len(back)} partitions go back; no throttle is left." if back else "Nothing moves; no throttle is left."
    )


app.command()(check)
app.command("import")(import_topics)
app.command()(describe)
app.command()(tail)
app.command()(place)


def declared_topics(project: Project) -> Declared:
    """Return what the specs say of topics in the project's deployment."""
    return Declared.of(project.catalog, project.deployment, project.settings.home / "include")


def _as_dict(topics: Mapping[str, TopicState]) -> dict[str, dict[str, object]]:
    return {name: {**asdict(state), "partitions": state.partitions} for name, state in sorted(topics.items())}


def _count(topics: int) -> str:
    return f"{topics} topic is" if topics == 1 else f"{topics} topics are"
