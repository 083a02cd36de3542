"""`sluice doctor`: check that this machine can run Sluice, or that it reaches the Kafka of a deployment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out
from sluice.connectivity.findings import KafkaFinding, diagnose
from sluice.devstack.doctor import Check, checks
from sluice.errors import NotReadyError, SpecError
from sluice.project.project import Project
from sluice.settings import settings

KafkaOption = Annotated[
    bool, typer.Option("--kafka", help="Examine the deployment's Kafka from this machine instead: every address of it.")
]
DeploymentOption = Annotated[
    str,
    typer.Option(
        help="With --kafka: a file in include/deployments, without .yaml. Default: SLUICE_DEPLOYMENT.",
        autocompletion=completion.deployments,
    ),
]


def doctor(kafka: KafkaOption = False, deployment: DeploymentOption = "", output: OutputOption = Output.TABLE) -> None:
    """Check Python, Java, memory, disk, ports and jars, and print how to fix what is missing.

    With --kafka it examines every address of the deployment's Kafka, and every address that its brokers tell clients:
    names, ports, TLS, the login, advertised listeners, the clock. It changes nothing, and reports all faults at once.

    Exit codes: 0 the machine is ready, or Kafka is reached at every address; 2 the spec of the deployment is wrong; 3
    something is missing or cannot be reached, or the stack is not up.
    """
    if deployment and not kafka:
        raise SpecError("--deployment is about Kafka only.", fix="add --kafka.")
    if kafka:
        _examine_kafka(deployment, output)
        return
    results = checks(settings())
    ok = all(check.ok for check in results)
    emit(output, {"ok": ok, "checks": [asdict(check) for check in results]}, lambda: _show(results))
    if not ok:
        raise typer.Exit(NotReadyError.exit_code)


def _examine_kafka(deployment: str, output: Output) -> None:
    from sluice.kafka.examination import examine  # noqa: PLC0415 - Kafka's client is slow to import
    from sluice.kafka.probing import Prober  # noqa: PLC0415 - the same

    config = settings()
    if deployment:
        config = config.model_copy(update={"deployment": deployment})
    project = Project.open_tolerant(config)
    findings = diagnose(examine(project.kafka.bootstrap(), Prober(project.kafka.client())))
    ok = all(finding.ok for finding in findings)
    result = {"ok": ok, "deployment": config.deployment, "findings": [asdict(finding) for finding in findings]}
    emit(output, result, lambda: _show_kafka(findings))
    if not ok:
        raise typer.Exit(NotReadyError.exit_code)


def _show_kafka(findings: Sequence[KafkaFinding]) -> None:
    table = Table(Column("where", overflow="fold"), "", Column("found", overflow="fold"))
    for finding in findings:
        state = "[green]ok[/green]" if finding.ok else "[red]wrong[/red]"
        table.add_row(escape(finding.where), state, escape(finding.found))  # a server may say anything
    out.print(table)
    for finding in findings:
        if not finding.ok:
            err_lines.print(f"{finding.where}: {finding.found}. Fix: {finding.fix}")


def _show(results: Sequence[Check]) -> None:
    table = Table("check", "", "detail")
    for check in results:
        table.add_row(check.name, "[green]ok[/green]" if check.ok else "[red]missing[/red]", check.found)
    out.print(table)
    for check in results:
        if not check.ok:
            err_lines.print(f"{check.name}: {check.found}. Fix: {check.fix}")
