"""`sluice topics check`: compare the cluster with the specs, for CI and cron."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sluice.cli.terminal.output import Output, OutputOption, counted, emit, err_lines, out_lines
from sluice.cli.views.plan_view import as_far_as, print_unable
from sluice.errors import RefusedError, SpecError
from sluice.project.project import Project
from sluice.provisioning.apply import current_plan
from sluice.provisioning.placement.document import read_topology_file
from sluice.provisioning.plans.plan import Plan, differences_as_dict, unable_as_dict
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import scan
from sluice.specs.reading.faults import Fault


def check(
    offline: Annotated[bool, typer.Option("--offline", help="Check only the specs, without a cluster.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Report all declared topics and principals that are not as declared. Changes nothing.

    A leader that is not the preferred broker does not count, because that changes with every restart.

    Exit codes: 0 all is as declared (with --offline: the specs are sound); 2 a spec is wrong; 3 the stack is not up, or
    the cluster has no access control; 4 no broker answered; 5 something differs.
    """
    config = settings()
    include = config.home / "include"
    specs = scan(include, deployment=config.deployment)
    faults = sorted([*specs.faults, *topology_faults(specs.catalog, include)])
    if faults or offline:
        declared = len(specs.catalog.in_deployment(config.deployment).kafka_topics())
        emit(output, report(declared=declared, faults=faults), lambda: _print_specs(faults))
        if faults:
            raise typer.Exit(SpecError.exit_code)
        return
    project = Project(config, specs.catalog)
    wanted = project.topics.declared()
    with project.kafka.administration() as administration:
        plan = current_plan(wanted, administration, project.topics.access())
    declared = len(wanted.topics)
    emit(output, report(declared=declared, plan=plan), lambda: _print_cluster(plan, declared))
    if plan.differences:
        raise typer.Exit(RefusedError.exit_code)


def topology_faults(catalog: Catalog, include: Path) -> list[Fault]:
    """Return the faults of the topology files of all deployments."""
    faults = []
    for name, deployment in sorted(catalog.deployments.items()):
        if deployment.topology is None:
            continue
        try:
            read_topology_file(include / deployment.topology)
        except SpecError as error:
            faults.append(Fault(f"include/deployments/{name}.yaml", 1, "topology", error.message, error.fix))
    return faults


def report(*, declared: int, faults: Sequence[Fault] = (), plan: Plan | None = None) -> dict[str, Any]:
    """Return the outcome as JSON values; `differences` is null without a cluster."""
    return {
        "ok": not faults and not (plan and plan.differences),
        "declared": declared,
        "differences": None if plan is None else differences_as_dict(plan),
        "unable": None if plan is None else unable_as_dict(plan),
        "faults": [asdict(fault) for fault in faults],
    }


def _print_specs(faults: Sequence[Fault]) -> None:
    for fault in faults:
        err_lines.print(str(fault), style="red")
    outcome = f"{counted(len(faults), 'fault')} in the specs" if faults else "The specs are sound"
    summary = f"{outcome}; no cluster was checked."
    err_lines.print(summary, style="red" if faults else "green")


def _print_cluster(plan: Plan, declared: int) -> None:
    print_unable(plan)
    for each in (differing := plan.differences):
        out_lines.print(str(each), style="red")
    if differing:
        names = len({each.subject for each in differing})
        what = "topic" if plan.access is None else "topic or principal"
        count = f"1 {what} differs" if names == 1 else f"{names} {what.replace('topic', 'topics')} differ"
        out_lines.print(f"{count} from the specs; `sluice topics plan` says what each change risks.")
    else:
        out_lines.print(
            f"{counted(declared, 'topic')} {'is' if declared == 1 else 'are'} as declared{as_far_as(plan)}."
        )
