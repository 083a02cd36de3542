"""`sluice access`: the declared users and rights in Kafka, compared with the cluster's."""

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

app = typer.Typer(help="Plan, apply and list users and rights in Kafka.", no_args_is_help=True)

if TYPE_CHECKING:
    from sluice.kafka.access import KafkaPythonAccess

_MARKS = {Risk.SAFE: "+", Risk.APPROVAL: "!", Risk.LOSS: "!!", Risk.WIDENING: "!!"}
_STYLES = {Risk.SAFE: "green", Risk.APPROVAL: "yellow", Risk.LOSS: "red", Risk.WIDENING: "red"}

RotateOption = Annotated[
    list[str] | None,
    typer.Option(help="Set this user's password again from its variable. Repeatable.", autocompletion=completion.users),
]


@app.command()
def plan(rotate: RotateOption = None, output: OutputOption = Output.TABLE) -> None:
    """Show what `apply` would do. Changes nothing.

    Exit codes: 0; 2 a spec is wrong; 3 the stack is not up, or the cluster has no access control; 4 no broker
    answered, or it denied the request.
    """
    project = Project.open(settings())
    with _cluster(project) as cluster:
        found = plan_access(project.catalog, look(cluster), rotate=rotate or ())
    emit(output, as_dict(found), lambda: _print_plan(found, len(project.catalog.access), rotate or ()))


@app.command()
def apply(
    plan: Annotated[
        str, typer.Option(help="The id of the plan that you read. Required unless all of it is safe.")
    ] = "",
    widening: Annotated[
        list[str] | None,
        typer.Option(
            help="Allow the plan to widen this principal's rights. Repeat for each one that the plan names.",
            autocompletion=completion.principals,
        ),
    ] = None,
    rotate: RotateOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create the declared users and rights, and verify them. A second run changes nothing.

    Safe changes need no confirmation. For any other change pass the id that `sluice access plan` shows: it identifies
    the plan and the state of the cluster. Passwords come from the variables that the specs name.

    Exit codes: 0 all is as declared; 2 a spec is wrong; 3 the stack is not up, the cluster has no access control, or a
    password is missing; 4 no broker answered, or it denied the request; 5 the plan was refused.
    """
    project = Project.open(settings())
    if widening and not plan:
        raise RefusedError(
            "--widening needs --plan, so nothing was applied.",
            fix="read `sluice access plan`, and pass its id with --plan.",
        )
    with _cluster(project) as cluster:
        approval = Approval(plan, widening=frozenset(widening or ())) if plan else None
        done = apply_specs(project.catalog, cluster, passwords_of(project), rotate=rotate or (), approval=approval)
    emit(output, {"applied": as_dict(done)["items"]}, lambda: _print_applied(done, len(project.catalog.access)))


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """List the cluster's users and rights, declared or not.

    Exit codes: 0; 2 a spec is wrong; 3 the stack is not up, or the cluster has no access control; 4 no broker
    answered, or it denied the request.
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
        out_lines.print(f"Plan {found.id}. To apply it, run {how}.")


def _print_applied(done: AccessPlan, principals: int) -> None:
    for item in done.items:
        out_lines.print(f"{item.topic}: {item.value} is now {item.wanted}", style="green")
    out_lines.print(f"{_count(principals)} as declared.")


def _table(found: ActualAccess, names: Mapping[str, str]) -> Table:
    table = Table(Column("principal", overflow="fold"), "spec", Column("right", overflow="fold"), box=None)
    for principal, what in _rows(found):
        table.add_row(principal, names.get(principal, ""), what)
    return table


def _rows(found: ActualAccess) -> list[tuple[str, str]]:
    rights = [(acl.principal, f"{'never ' if acl.denied else ''}{acl}") for acl in sorted(found.acls)]
    passwords = [(f"User:{credential.user}", f"password: {credential}") for credential in sorted(found.credentials)]
    return sorted([*rights, *passwords])


def _cluster(project: Project) -> KafkaPythonAccess:
    from sluice.kafka.access import KafkaPythonAccess  # noqa: PLC0415 - completion does not import the client

    return KafkaPythonAccess(project.bootstrap(), project.kafka_client())


def _count(principals: int) -> str:
    return f"{principals} principal is" if principals == 1 else f"{principals} principals are"
