"""`sluice access`: who may do what in Kafka by the specs, against what the cluster has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column, Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.errors import RefusedError
from sluice.project.logins import passwords_of
from sluice.project.project import Project
from sluice.provisioning.access.apply import apply as apply_specs
from sluice.provisioning.access.apply import clause, command, look
from sluice.provisioning.access.plan import AccessPlan, ActualAccess, as_dict
from sluice.provisioning.access.plan import plan as plan_access
from sluice.provisioning.topics.changes import Approval, Risk
from sluice.settings import settings

app = typer.Typer(help="Plan, apply and list who may do what in Kafka.", no_args_is_help=True)

if TYPE_CHECKING:
    from sluice.kafka.access import KafkaPythonAccess

_MARKS = {Risk.SAFE: "+", Risk.APPROVAL: "!", Risk.LOSS: "!!", Risk.WIDENING: "!!"}
_STYLES = {Risk.SAFE: "green", Risk.APPROVAL: "yellow", Risk.LOSS: "red", Risk.WIDENING: "red"}

RotateOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A user whose password is set again from its variable; may be repeated.", autocompletion=completion.users
    ),
]


@app.command()
def plan(rotate: RotateOption = None, output: OutputOption = Output.TABLE) -> None:
    """Show what `apply` would do. Changes nothing.

    Exit codes: 0 the cluster was asked; 2 a spec is wrong; 3 the stack is not up, or the cluster has no access control;
    4 no broker answered, or we may not ask.
    """
    project = Project.open(settings())
    with _cluster(project) as cluster:
        found = plan_access(project.catalog, look(cluster), rotate=rotate or ())
    emit(output, as_dict(found), lambda: _print_plan(found, len(project.catalog.access), rotate or ()))


@app.command()
def apply(
    plan: Annotated[str, typer.Option(help="The id of the plan that you have read; needed if it is not safe.")] = "",
    widening: Annotated[
        list[str] | None,
        typer.Option(
            help="A principal by which something may be opened; once for each that the plan names.",
            autocompletion=completion.principals,
        ),
    ] = None,
    rotate: RotateOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make users and rights what is declared, and verify all. A second run changes nothing.

    What is safe needs no more. Of a plan with anything else the id must be given, which `sluice access plan` shows: it
    stands for that plan and the state that it saw. Passwords come from the variables that the specs name.

    Exit codes: 0 all is as declared; 2 a spec is wrong; 3 the stack is not up, the cluster has no access control, or a
    password is missing; 4 no broker answered, or we may not ask; 5 the plan may not be applied, or the cluster refused.
    """
    project = Project.open(settings())
    if widening and not plan:
        raise RefusedError(
            "Principals are named by which something may be opened, and no plan is, so nothing was applied.",
            fix="read `sluice access plan`, and give its id by --plan.",
        )
    with _cluster(project) as cluster:
        approval = Approval(plan, widening=frozenset(widening or ())) if plan else None
        done = apply_specs(project.catalog, cluster, passwords_of(project), rotate=rotate or (), approval=approval)
    emit(output, {"applied": as_dict(done)["items"]}, lambda: _print_applied(done, len(project.catalog.access)))


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """Show who may do what, as the cluster has it: declared or not.

    Exit codes: 0 the cluster was asked; 2 a spec is wrong; 3 the stack is not up, or the cluster has no access control;
    4 no broker answered, or we may not ask.
    """
    project = Project.open(settings())
    with _cluster(project) as cluster:
        found = look(cluster)
    names = {spec.principal: spec.name for spec in project.catalog.access.values()}
    acls = [{**asdict(acl), "spec": names.get(acl.principal)} for acl in sorted(found.acls)]
    users = [asdict(credential) for credential in sorted(found.credentials)]
    emit(output, {"acls": acls, "users": users}, lambda: out.print(_table(found, names)))


def _print_plan(found: AccessPlan, principals: int, rotated: Sequence[str]) -> None:
    for item in found.items:
        risk = "" if item.risk is Risk.SAFE else f" [{item.risk}: {item.why}]"
        out_lines.print(f"{_MARKS[item.risk]} {clause(item)}{risk}", style=_STYLES[item.risk])
    for kept in found.kept:
        out_lines.print(f"  {kept.topic}: {kept.value} ({kept.current}) is in no spec, and stays")
    if not found:
        out_lines.print(f"{_count(principals)} as declared; nothing to do.")
    else:
        how = command(found, rotated) if found.guarded else "`sluice access apply`"
        out_lines.print(f"Plan {found.id}; apply it by {how}.")


def _print_applied(done: AccessPlan, principals: int) -> None:
    for item in done.items:
        out_lines.print(f"{item.topic}: {item.value} is {item.wanted} now", style="green")
    out_lines.print(f"{_count(principals)} as declared.")


def _table(found: ActualAccess, names: Mapping[str, str]) -> Table:
    table = Table(Column("principal", overflow="fold"), "spec", Column("what", overflow="fold"), box=None)
    for principal, what in _rows(found):
        table.add_row(principal, names.get(principal, ""), what)
    return table


def _rows(found: ActualAccess) -> list[tuple[str, str]]:
    rights = [(acl.principal, f"{'never ' if acl.denied else ''}{acl}") for acl in sorted(found.acls)]
    passwords = [(f"User:{credential.user}", f"password: {credential}") for credential in sorted(found.credentials)]
    return sorted([*rights, *passwords])


def _cluster(project: Project) -> KafkaPythonAccess:
    from sluice.kafka.access import KafkaPythonAccess  # noqa: PLC0415 - who presses Tab pays for no client

    return KafkaPythonAccess(project.bootstrap(), project.kafka_client())


def _count(principals: int) -> str:
    return f"{principals} principal is" if principals == 1 else f"{principals} principals are"
