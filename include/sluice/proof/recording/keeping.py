"""Keeps a proof: `report.json`, which the console and `sluice proofs` read, and `report.html`, which needs neither."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sluice.clock import Clock
from sluice.console.html.proof_page import proof_page
from sluice.disk import write_text
from sluice.project.project import Project
from sluice.proof.figures import figures_of
from sluice.proof.generation.made import RecordFate
from sluice.proof.journal import SendOutcome
from sluice.proof.report import PAGE, ProofReport
from sluice.proof.running.place import ProofPlace
from sluice.proof.running.request import ProofRequest, ProvenRun, Tell
from sluice.proof.running.run import prove, remove_leftovers
from sluice.specs.model.model import PipelineSpec


def prove_and_keep(
    project: Project, spec: PipelineSpec, asked: ProofRequest, tell: Tell
) -> tuple[ProofPlace, ProvenRun, dict[str, Any]]:
    """Remove what killed proofs have left behind, prove a pipeline, and keep the report.

    Returns:
        where the proof was, what it has shown, and its report as JSON values.

    Raises:
        SluiceError: see `prove`.
        OSError: there is no room.
    """
    remove_leftovers(project, tell)
    report: dict[str, Any] = {}

    def keep(place: ProofPlace, run: ProvenRun) -> None:
        report.update(keep_report(place, asked, run, project.clock))

    place, run = prove(project, spec, asked, tell, keep)
    return place, run, report


def keep_report(place: ProofPlace, asked: ProofRequest, run: ProvenRun, clock: Clock) -> dict[str, Any]:
    """Write the report and its page, and return the report as JSON values.

    Raises:
        OSError: there is no room.
    """
    ended = clock.now()
    report = {**as_report(place, asked, run), "ended": ended.isoformat()}
    text = json.dumps(report, indent=1)
    write_text(place.report, text)
    write_text(place.root / PAGE, proof_page(ProofReport.model_validate_json(text), ended))
    return report


def as_report(place: ProofPlace, asked: ProofRequest, run: ProvenRun) -> dict[str, Any]:
    """Return a proof as JSON values."""
    proof, journal = run.proof, run.journal
    return {
        "proof": place.root.name,
        "pipeline": place.pipeline,
        "verdict": proof.verdict,
        "begun": _begun(run),
        "covered": list(run.covered),
        "uncovered": list(run.uncovered),
        "rate": asked.rate,
        "seconds": asked.seconds,
        "bounds": asdict(asked.bounds),
        "sent": {outcome.value: journal.count(outcome) for outcome in SendOutcome},
        "faults": [asdict(fault) for fault in run.seen.faults],
        "findings": [
            {**asdict(finding), "meaning": finding.fault.meaning, "what_to_do": finding.fault.what_to_do}
            for finding in proof.findings
        ],
        "latencies": {name: asdict(found) for name, found in proof.latencies.items()},
        "intervals_compared": sum(interval.is_equal is not None for interval in run.seen.intervals),
        "looks": len(run.seen.looks),
        "made": {fate.value: sum(sent.fate is fate for sent in journal) for fate in RecordFate},
        "alerts": sorted(run.seen.alerts),
        "alerts_beside": list(run.beside),
        "figures": figures_of(journal, run.seen).model_dump(mode="json"),
    }


def _begun(run: ProvenRun) -> str | None:
    """Return when the first record was sent."""
    first = min((record.sent_at for record in run.journal), default=None)
    return None if first is None else datetime.fromtimestamp(first, UTC).isoformat()
