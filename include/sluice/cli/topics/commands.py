"""`sluice topics`: the declared topics, compared with the cluster's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import PlanOption, WideningOption
from sluice.cli.terminal.output import Output, OutputOption, counted, emit, err_lines, out_lines
from sluice.cli.topics.check import check
from sluice.cli.topics.describe import describe
from sluice.cli.topics.importing import import_topics
from sluice.cli.topics.placement import place
from sluice.cli.topics.send import send
from sluice.cli.topics.tail import tail
from sluice.cli.views.plan_view import as_far_as, print_plan, print_unable
from sluice.clock import SystemClock
from sluice.errors import NotReadyError, RefusedError
from sluice.project.project import Project
from sluice.project.topics import NOT_ENFORCED
from sluice.provisioning.apply import apply as apply_specs
from sluice.provisioning.apply import current_plan
from sluice.provisioning.execution import ApplyOptions
from sluice.provisioning.growth.adoption import growths_of
from sluice.provisioning.plans.approval import Approval, PlanCommands
from sluice.provisioning.plans.changes import ChangeKind
from sluice.provisioning.plans.plan import Plan, as_dict
from sluice.provisioning.replicas.moving import DEFAULT_BATCH, DEFAULT_THROTTLE, MoveOptions, on_change
from sluice.provisioning.replicas.moving import cancel as cancel_moves
from sluice.settings import settings
from sluice.topics.administration import TopicState

app = typer.Typer(help="Plan, apply, check, import and inspect topics.", no_args_is_help=True)

TopicsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOPIC",
        help="Only these topics, and no principals. Default: everything declared.",
        autocompletion=completion.topics,
    ),
]
LosingOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Allow the plan to delete records of this topic. Repeat for each one that the plan names.",
        autocompletion=completion.topics,
    ),
]


@app.command()
def plan(only: TopicsArgument = None, output: OutputOption = Output.TABLE) -> None:
    """Show what `apply` would do. Changes nothing.

    The plan covers topics and declared principals, with one id for both. With names it covers only those topics.

    Exit codes: 0; 2 a spec is wrong; 3 the stack is not up, or principals are declared and the
    cluster has no access control; 4 no broker answered.
    """
    project = Project.open_strict(settings())
    administration = project.kafka.administration()
    declared = project.topics.declared().only(only or ())
    planned = current_plan(declared, administration, None if only else project.topics.access())
    impacts = project.topics.impact_analysis(administration, now=SystemClock().now()).impacts(planned)
    touches = [{"topic": i.topic, "value": i.value, "clauses": i.clauses, **i.facts} for i in impacts.values()]

    def print_changes() -> None:
        print_plan(planned, {key: impact.clauses for key, impact in impacts.items()})
        if not only and project.topics.leaves_access_open:
            out_lines.print(NOT_ENFORCED)
        if not planned:
            count = _count(len(declared.topics), _principals(project, planned))
            out_lines.print(f"{count} as declared; nothing to do{as_far_as(planned)}.")
        elif not planned.refused:
            command = PlanCommands("topics", declared.named).apply(planned)
            out_lines.print(f"Plan {planned.id}. To apply it, run {command}.")

    emit(output, {**as_dict(planned), "touches": touches}, print_changes)


ThrottleOption = Annotated[
    float, typer.Option(min=0.001, help="Limit in MB/s into and out of each broker while replicas are copied.")
]
BatchOption = Annotated[int, typer.Option(min=1, help="The number of partitions that move at once.")]
DrainOption = Annotated[
    float | None,
    typer.Option(min=0, help="How long the growth of a keyed topic waits until its streams have read everything."),
]
FollowOption = Annotated[
    float, typer.Option(min=0, help="How long to wait until running streams read the new partitions.")
]


@app.command()
def apply(
    only: TopicsArgument = None,
    *,
    plan: PlanOption = "",
    losing: LosingOption = None,
    widening: WideningOption = None,
    throttle_mb: ThrottleOption = DEFAULT_THROTTLE / 1e6,
    batch: BatchOption = DEFAULT_BATCH,
    drain_minutes: DrainOption = None,
    follow_minutes: FollowOption = 0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create and change topics and access as declared, and verify them. A second run changes nothing.

    With names it covers only those topics, and no principals.

    Safe changes need no confirmation. For any other change pass the id that `sluice topics plan` shows: it identifies
    the plan and the state of the cluster.

    Replicas move in batches under a throttle. Ctrl-C cancels the current batch; finished moves stay, and the throttle
    is removed. Retention is shortened in steps; each waits until the broker has deleted the older records. With
    --drain-minutes a keyed topic grows only after its producers have paused and its streams have read everything.

    Exit codes: 0 all is as declared; 2 a spec is wrong; 3 the stack is not up, the cluster has no access control, a
    password is missing, or streams were not ready in time; 4 no broker answered; 5 the plan was refused.
    """
    project = Project.open_strict(settings())
    moves = MoveOptions(int(throttle_mb * 1e6), batch, on_change(_note))
    seconds = None if drain_minutes is None else drain_minutes * 60
    done, topics = apply_specs(
        project.topics.declared().only(only or ()),
        project.kafka.administration(),
        None if only else project.topics.access(),
        approval=_approval(plan, losing, widening),
        options=ApplyOptions(moves, project.records.order_breaks(), project.streams.positions, seconds, _note),
    )
    _emit_applied(project, done, topics, output)
    if follow_minutes and (growths := [project.topics.with_unread(growth) for growth in growths_of(done)]):
        project.topics.wait_for_adoption(growths, seconds=follow_minutes * 60, notify=_note, clock=SystemClock())


def _approval(plan: str, losing: list[str] | None, widening: list[str] | None) -> Approval | None:
    if (losing or widening) and not plan:
        raise RefusedError(
            "--losing and --widening need --plan, so nothing was applied.",
            fix="read `sluice topics plan`, and pass its id with --plan.",
        )
    return Approval(plan, frozenset(losing or ()), frozenset(widening or ())) if plan else None


def _note(what: str) -> None:
    err_lines.print(what)


def _emit_applied(project: Project, done: Plan, topics: Mapping[str, TopicState], output: Output) -> None:
    applied = as_dict(done)
    access = applied["access"] and applied["access"]["items"]

    def print_applied() -> None:
        for change in done.changes:
            changed = f"{change.subject}: {change.value} is now {change.wanted}"
            created = change.kind is ChangeKind.CREATE
            out_lines.print(f"created {change.subject}" if created else changed, style="green")
        print_unable(done)
        out_lines.print(f"{_count(len(topics), _principals(project, done))} as declared{as_far_as(done)}.")

    states = {name: {**asdict(state), "partitions": state.partitions} for name, state in sorted(topics.items())}
    emit(output, {"applied": applied["items"], "access": access, "topics": states}, print_applied)


@app.command()
def cancel() -> None:
    """Cancel all moves of declared topics' replicas, and remove the throttle.

    Exit codes: 0 no replica moves any more; 2 a spec is wrong; 3 the stack is not up, or the service places replicas
    itself; 4 no broker answered.
    """
    project = Project.open_strict(settings())
    if (placement := project.deployment.kafka.service.placement) is not None:
        raise NotReadyError(f"There are no moves to cancel: {placement.why}.", fix="see the service's own console.")
    administration = project.kafka.administration()
    back = cancel_moves(administration, administration.describe(project.catalog.kafka_topics()))
    for topic, partition in back:
        out_lines.print(f"{topic}/{partition}: move cancelled")
    outcome = f"Cancelled the moves of {len(back)} partitions" if back else "No replica is moving"
    out_lines.print(f"{outcome}; there is no throttle.")


app.command()(check)
app.command("import")(import_topics)
app.command()(describe)
app.command()(tail)
app.command()(send)
app.command()(place)


def _principals(project: Project, plan: Plan) -> int:
    return 0 if plan.access is None else len(project.catalog.access)


def _count(topics: int, principals: int) -> str:
    if not principals:
        return f"{counted(topics, 'topic')} {'is' if topics == 1 else 'are'}"
    return f"{counted(topics, 'topic')} and {counted(principals, 'principal')} are"
