"""`sluice topics check`: for CI and cron. Is every topic as declared?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sluice.cli.terminal.output import Output, OutputOption, err_lines, out_lines, print_data
from sluice.errors import RefusedError, SpecError
from sluice.project.project import Project
from sluice.provisioning.apply import current_plan
from sluice.provisioning.placement.document import read_topology_file
from sluice.provisioning.plans.plan import Plan, differences_as_dict
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import scan
from sluice.specs.reading.faults import Fault

_DIFFERS, _WRONG = RefusedError.exit_code, SpecError.exit_code


def check(
    offline: Annotated[bool, typer.Option("--offline", help="Only the specs; no cluster is asked.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say whether every declared topic and principal is as declared, and all that is not. Changes nothing.

    A leader that is not the preferred broker is no difference: that comes and goes with every restart.

    Exit codes: 0 all is as declared (with --offline: the specs are sound); 2 a spec is wrong; 3 the stack is not up, or
    the cluster has no access control; 4 no broker answered; 5 something differs.
    """
    place = settings()
    include = place.home / "include"
    specs = scan(include, deployment=place.deployment)
    faults = sorted([*specs.faults, *topology_faults(specs.catalog, include)])
    if faults or offline:
        declared = len(specs.catalog.in_deployment(place.deployment).kafka_topics())
        _report_specs(faults, declared, output)
        return
    project = Project(place, specs.catalog)
    wanted = project.topics.declared()
    with project.kafka.administration() as administration:
        plan = current_plan(wanted, administration, project.topics.access())
    _report_cluster(plan, len(wanted.topics), output)


def topology_faults(catalog: Catalog, include: Path) -> list[Fault]:
    """Return what is wrong with the topology files of all deployments."""
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
    """Return the outcome as JSON values; `differences` is null where no cluster was asked."""
    return {
        "ok": not faults and not (plan and plan.differences),
        "declared": declared,
        "differences": None if plan is None else differences_as_dict(plan),
        "faults": [fault.as_dict() for fault in faults],
    }


def _report_specs(faults: Sequence[Fault], declared: int, output: Output) -> None:
    if output.for_programs:
        print_data(output, report(declared=declared, faults=faults))
    else:
        console = err_lines
        for fault in faults:
            console.print(str(fault), style="red")
        faulty = f"{len(faults)} fault{'' if len(faults) == 1 else 's'} in the specs"
        result = f"{faulty if faults else 'The specs are sound'}; no cluster was asked."
        console.print(result, style="red" if faults else "green")
    if faults:
        raise typer.Exit(_WRONG)


def _report_cluster(plan: Plan, declared: int, output: Output) -> None:
    differing = plan.differences
    if output.for_programs:
        print_data(output, report(declared=declared, plan=plan))
    else:
        console = out_lines
        for each in differing:
            console.print(str(each), style="red")
        if differing:
            names = len({each.subject for each in differing})
            what = "topic" if plan.access is None else "topic or principal"
            count = f"1 {what} differs" if names == 1 else f"{names} {what.replace('topic', 'topics')} differ"
            console.print(f"{count} from the specs; `sluice topics plan` says what each change risks.")
        else:
            console.print(f"{declared} topic{' is' if declared == 1 else 's are'} as declared.")
    if differing:
        raise typer.Exit(_DIFFERS)
