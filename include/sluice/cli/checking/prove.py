"""`sluice prove`: prove a pipeline under load and faults, in a copy of the project with topics of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.cli.terminal.arguments import PipelineArgument, YesOption
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out_lines
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.cli.terminal.user import confirm
from sluice.proof.journal import SendOutcome
from sluice.proof.observations import LatencyBounds
from sluice.proof.recording.keeping import prove_and_keep
from sluice.proof.report import EXIT_CODES, PAGE
from sluice.proof.running.faults import SHARED, RequestedFault, refuse_shared_faults
from sluice.proof.running.place import ProofPlace
from sluice.proof.running.request import ProofRequest, ProvenRun


def prove(
    pipeline: PipelineArgument,
    *,
    rate: Annotated[float, typer.Option(min=1, max=500, help="Records per second.")] = 50,
    seconds: Annotated[float, typer.Option(min=5, max=600, help="How long at least; faults make it longer.")] = 30,
    fault: Annotated[
        list[RequestedFault] | None,
        typer.Option(help="A fault of the proof's own driver, or of a local broker. Repeat for several."),
    ] = None,
    worst_minute: Annotated[
        float | None, typer.Option(min=0, help="Seconds: no minute's average may be longer, until the raw table.")
    ] = None,
    p999: Annotated[float | None, typer.Option(min=0, help="Seconds: of 1,000 records one may take longer.")] = None,
    yes: YesOption = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the copy and its tables whatever the verdict.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Prove a pipeline: journaled records through a driver of its own, faults, and what is in the tables afterwards.

    It uses the deployment's Kafka, with topics of its own; nothing else of the deployment is touched. What a killed
    proof has left behind is removed first. `pause-broker` strikes all that use the broker: the deployment must allow
    it, and it is asked for a confirmation.

    Exit codes: 0 proven; 1 broken; 2 a spec is wrong, or of a kind that no proof can be made of; 3 the stack is not
    up, the driver does not start, or the disk has no room; 4 inconclusive, or Kafka does not answer; 5 refused: it
    would touch what is the deployment's own, or lacks a right in Kafka.
    """
    project, spec = open_pipeline(pipeline)
    refuse_shared_faults(project.deployment.kafka, fault or ())
    if SHARED & set(fault or ()):
        confirm(project.deployment.name, yes=yes)
    asked = ProofRequest(rate, seconds, tuple(fault or ()), LatencyBounds(worst_minute, p999), keep=keep)
    place, run, report = prove_and_keep(project, spec, asked, _tell)
    emit(output, report, lambda: _show(place, run))
    if code := EXIT_CODES[run.proof.verdict]:
        raise typer.Exit(code)


def _tell(line: str) -> None:
    err_lines.print(line)


def _show(place: ProofPlace, run: ProvenRun) -> None:
    proof, journal = run.proof, run.journal
    out_lines.print(f"{place.pipeline}: {proof.verdict}: {proof.verdict.meaning}.")
    counts = ", ".join(f"{journal.count(outcome):,} {outcome.value}" for outcome in SendOutcome)
    out_lines.print(f"  sent: {counts}; covered: {', '.join(run.covered)}")
    if run.uncovered:
        out_lines.print(f"  not covered: {', '.join(run.uncovered)}")
    if run.beside:
        out_lines.print(f"  alerts of the deployment meanwhile: {'; '.join(run.beside)}")
    for struck in run.seen.faults:
        out_lines.print(f"  {struck.name}: {struck.evidence or 'no evidence'}")
    for name, found in proof.latencies.items():
        out_lines.print(f"  {name}: worst minute {found.worst_minute:.1f} s, 99.9th percentile {found.p999:.1f} s")
    for finding in proof.findings:
        out_lines.print(f"  {finding}")
        out_lines.print(f"    What to do: {finding.fault.what_to_do}.")
    out_lines.print(f"  {place.report}")
    out_lines.print(f"  {place.root / PAGE}")
