"""`sluice access`: the declared users and rights in Kafka, compared with the cluster's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Column, Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import PlanOption, WideningOption
from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.cli.views.plan_view import as_far_as, print_plan, print_unable
from sluice.errors import NotReadyError, RefusedError
from sluice.project.project import Project
from sluice.provisioning.access.administration import AccessAdministration
from sluice.provisioning.access_scope import AccessScope
from sluice.provisioning.plans.access_plan import ActualAccess
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.plan import access_as_dict, unable_as_dict
from sluice.settings import settings

app = typer.Typer(help="Plan, apply and list users and rights in Kafka.", no_args_is_help=True)

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
    project = Project.open_strict(settings())
    with project.kafka.access() as cluster:
        scope = _scope(project, cluster, rotate)
        planned = scope.plan()

    def print_changes() -> None:
        print_plan(planned)
        if not planned:
            out_lines.print(f"{_count(len(project.catalog.access))} as declared; nothing to do{as_far_as(planned)}.")
        else:
            out_lines.print(f"Plan {planned.id}. To apply it, run {scope.commands.apply(planned)}.")

    emit(output, {"id": planned.id, **access_as_dict(planned), "unable": unable_as_dict(planned)}, print_changes)


@app.command()
def apply(
    plan: PlanOption = "",
    widening: WideningOption = None,
    rotate: RotateOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create the declared users and rights, and verify them. A second run changes nothing.

    Safe changes need no confirmation. For any other change pass the id that `sluice access plan` shows: it identifies
    the plan and the state of the cluster. Passwords come from the variables that the specs name.

    Exit codes: 0 all is as declared; 2 a spec is wrong; 3 the stack is not up, the cluster has no access control, or a
    password is missing; 4 no broker answered, or it denied the request; 5 the plan was refused.
    """
    project = Project.open_strict(settings())
    if widening and not plan:
        raise RefusedError(
            "--widening needs --plan, so nothing was applied.",
            fix="read `sluice access plan`, and pass its id with --plan.",
        )
    with project.kafka.access() as cluster:
        approval = Approval(plan, widening=frozenset(widening or ())) if plan else None
        done = _scope(project, cluster, rotate).apply(approval)

    def print_applied() -> None:
        for change in done.changes:
            out_lines.print(f"{change.subject}: {change.value} is now {change.wanted}", style="green")
        print_unable(done)
        out_lines.print(f"{_count(len(project.catalog.access))} as declared{as_far_as(done)}.")

    emit(output, {"applied": access_as_dict(done)["items"]}, print_applied)


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """List the cluster's users and rights, declared or not.

    Exit codes: 0; 2 a spec is wrong; 3 the stack is not up, or the cluster has no access control; 4 no broker
    answered, or it denied the request.
    """
    project = Project.open_strict(settings())
    service = project.kafka.spec.service
    if service.rights is not None and service.keeps_access:
        raise NotReadyError(f"There is nothing to list: {service.rights.why}.", fix=f"{service.rights.fix}.")
    with project.kafka.access() as cluster:
        actual = ActualAccess.of(cluster, service)
    names = {spec.principal: spec.name for spec in project.catalog.access.values()}
    acls = [{**asdict(acl), "spec": names.get(acl.principal)} for acl in sorted(actual.acls)]
    users = [asdict(credential) for credential in sorted(actual.credentials)]
    unknown = [{**asdict(each), "spec": names.get(each.principal)} for each in sorted(actual.unknown)]
    emit(output, {"acls": acls, "unknown": unknown, "users": users}, lambda: out.print(_table(actual, names)))


def _table(actual: ActualAccess, names: Mapping[str, str]) -> Table:
    rights = [(acl.principal, f"{'never ' if acl.denied else ''}{acl}") for acl in actual.acls]
    unknown = [(each.principal, f"not known: {each.what}") for each in actual.unknown]
    passwords = [(f"User:{credential.user}", f"password: {credential}") for credential in actual.credentials]
    table = Table(Column("principal", overflow="fold"), "spec", Column("right", overflow="fold"), box=None)
    for principal, what in sorted([*rights, *unknown, *passwords]):
        table.add_row(principal, names.get(principal, ""), what)
    return table


def _scope(project: Project, cluster: AccessAdministration, rotate: list[str] | None) -> AccessScope:
    service = project.kafka.spec.service
    return AccessScope(project.catalog, cluster, project.kafka.password, tuple(rotate or ()), service)


def _count(principals: int) -> str:
    return f"{principals} principal is" if principals == 1 else f"{principals} principals are"
