"""`sluice access`: who may do what in Kafka by the specs, against what the cluster has."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Column, Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, out, out_lines, print_data
from sluice.cli.views.plan_view import print_plan
from sluice.errors import RefusedError
from sluice.project.project import Project
from sluice.provisioning.access.administration import AccessAdministration
from sluice.provisioning.access_scope import AccessScope
from sluice.provisioning.plans.access_plan import ActualAccess
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.plan import access_as_dict
from sluice.settings import settings

app = typer.Typer(help="Plan, apply and list who may do what in Kafka.", no_args_is_help=True)

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
    project = Project.open_strict(settings())
    with project.kafka.access() as cluster:
        scope = _scope(project, cluster, rotate)
        found = scope.plan()
    if output.for_programs:
        print_data(output, {"id": found.id, **access_as_dict(found)})
        return
    print_plan(found)
    if not found:
        out_lines.print(f"{_count(len(project.catalog.access))} as declared; nothing to do.")
    else:
        out_lines.print(f"Plan {found.id}; apply it by {scope.commands.apply(found)}.")


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
    project = Project.open_strict(settings())
    if widening and not plan:
        raise RefusedError(
            "Principals are named by which something may be opened, and no plan is, so nothing was applied.",
            fix="read `sluice access plan`, and give its id by --plan.",
        )
    with project.kafka.access() as cluster:
        approval = Approval(plan, widening=frozenset(widening or ())) if plan else None
        done = _scope(project, cluster, rotate).apply(approval)
    if output.for_programs:
        print_data(output, {"applied": access_as_dict(done)["items"]})
        return
    for change in done.changes:
        out_lines.print(f"{change.subject}: {change.value} is {change.wanted} now", style="green")
    out_lines.print(f"{_count(len(project.catalog.access))} as declared.")


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """Show who may do what, as the cluster has it: declared or not.

    Exit codes: 0 the cluster was asked; 2 a spec is wrong; 3 the stack is not up, or the cluster has no access control;
    4 no broker answered, or we may not ask.
    """
    project = Project.open_strict(settings())
    with project.kafka.access() as cluster:
        found = ActualAccess.of(cluster)
    names = {spec.principal: spec.name for spec in project.catalog.access.values()}
    if output.for_programs:
        acls = [{**asdict(acl), "spec": names.get(acl.principal)} for acl in sorted(found.acls)]
        print_data(output, {"acls": acls, "users": [asdict(credential) for credential in sorted(found.credentials)]})
        return
    table = Table(Column("principal", overflow="fold"), "spec", Column("what", overflow="fold"), box=None)
    for principal, what in _rows(found):
        table.add_row(principal, names.get(principal, ""), what)
    out.print(table)


def _rows(found: ActualAccess) -> list[tuple[str, str]]:
    rights = [(acl.principal, f"{'never ' if acl.denied else ''}{acl}") for acl in sorted(found.acls)]
    passwords = [(f"User:{credential.user}", f"password: {credential}") for credential in sorted(found.credentials)]
    return sorted([*rights, *passwords])


def _scope(project: Project, cluster: AccessAdministration, rotate: list[str] | None) -> AccessScope:
    return AccessScope(project.catalog, cluster, project.kafka.password, tuple(rotate or ()))


def _count(principals: int) -> str:
    return f"{principals} principal is" if principals == 1 else f"{principals} principals are"
