"""`sluice proofs`: the proofs that are kept, and what each has shown. It needs neither the stack nor sound specs."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.errors import SluiceError
from sluice.proof.findings import ProofVerdict
from sluice.proof.report import EXIT_CODES, PAGE, ProofReport, ProofReports, pipeline_of_proof
from sluice.settings import settings

app = typer.Typer(help="List kept proofs, and show what each has found.", no_args_is_help=True)

_STYLES = {ProofVerdict.PROVEN: "green", ProofVerdict.BROKEN: "red", ProofVerdict.INCONCLUSIVE: "yellow"}
PipelineOption = Annotated[
    str, typer.Option("--pipeline", help="Only proofs of this pipeline.", autocompletion=completion.pipelines)
]
ProofArgument = Annotated[
    str, typer.Argument(metavar="ID", help="An id that `sluice proofs list` shows.", autocompletion=completion.proofs)
]


@app.command("list")
def list_(
    pipeline: PipelineOption = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The number of proofs, newest first.")] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the proofs that have come to an end, newest first, with their verdicts.

    Exit codes: 0; 3 the state folder cannot be read.
    """
    reports = _reports()
    found = [each for name, ids in reports.ids().items() if not pipeline or name == pipeline for each in ids]
    newest = sorted(found, key=lambda each: each.rsplit("-", 2)[1:], reverse=True)[:limit]
    listed = [_in_short(reports, each) for each in newest]
    emit(output, listed, lambda: _print_list(listed))


@app.command()
def show(
    proof: ProofArgument,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a proof has found, and where its page is.

    Exit codes: 0 proven; 1 broken; 3 there is no such proof; 4 inconclusive; 6 the report is damaged.
    """
    reports = _reports()
    report, page = reports.read(proof), reports.file(proof).with_name(PAGE)
    data: dict[str, Any] = {**report.model_dump(mode="json"), "page": str(page)}
    emit(output, data, lambda: _print_report(report, str(page)))
    if code := EXIT_CODES[report.verdict]:
        raise typer.Exit(code)


def _reports() -> ProofReports:
    return ProofReports(settings().folder.proofs)


def _in_short(reports: ProofReports, proof: str) -> dict[str, Any]:
    """Return a proof in short; of a damaged report only what the id says."""
    short: dict[str, Any] = {"proof": proof, "pipeline": pipeline_of_proof(proof)}
    try:
        report = reports.read(proof)
    except SluiceError as error:
        return {**short, "verdict": None, "error": str(error)}
    return {
        **short,
        "verdict": report.verdict.value,
        "ended": None if report.ended is None else report.ended.isoformat(),
        "findings": [each.fault for each in report.findings],
        "faults": [each.name for each in report.faults],
    }


def _print_list(listed: list[dict[str, Any]]) -> None:
    if not listed:
        out_lines.print("No proof is kept: `sluice prove PIPELINE` makes one.")
        return
    table = Table("Proof", "Verdict", "Findings", Column("Faults", overflow="fold"), box=None, pad_edge=False)
    for each in listed:
        if each["verdict"] is None:
            table.add_row(escape(each["proof"]), "[red]damaged[/]", "", "")
            continue
        verdict = ProofVerdict(each["verdict"])
        said = [", ".join(map(escape, each[name])) or "none" for name in ("findings", "faults")]
        table.add_row(escape(each["proof"]), f"[{_STYLES[verdict]}]{verdict}[/]", *said)
    out.print(table)


def _print_report(report: ProofReport, page: str) -> None:
    out_lines.print(f"{report.pipeline}: {report.verdict}: {report.verdict.meaning}.")
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in report.sent.items())
    out_lines.print(f"  sent: {counts or 'nothing'}; covered: {', '.join(report.covered) or 'nothing'}")
    for fault in report.faults:
        out_lines.print(f"  {fault.name}: {fault.evidence or 'no evidence'}")
    for name, found in report.latencies.items():
        out_lines.print(f"  {name}: worst minute {found.worst_minute:.1f} s, 99.9th percentile {found.p999:.1f} s")
    for finding in report.findings:
        out_lines.print(f"  {finding.where}: {finding.meaning} ({finding.count:,} cases, such as {finding.example})")
        out_lines.print(f"    What to do: {finding.what_to_do}.")
    out_lines.print(f"  {page}")
