"""Proofs: the newest verdict of each pipeline, its history, and what one proof has shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from fastapi import Path as PathParameter
from fastapi.responses import HTMLResponse

from sluice.console.context.access import Visitor, VisitorDep, readable
from sluice.console.context.page_context import ConsoleContext, ContextDep, SpecName
from sluice.console.html.paging import PageNumber, paged
from sluice.console.html.proof_page import TONES, proof_view
from sluice.console.html.site import page
from sluice.errors import SluiceError
from sluice.proof.findings import ProofVerdict
from sluice.proof.report import ID_PATTERN, ProofReport, ProofReports, pipeline_of_proof
from sluice.specs.catalog.dag_ids import backfill_dag_id

router = APIRouter()

_SHOWN = 20
"""Proofs in a history: each is a file to read."""
_URGENCY = {ProofVerdict.BROKEN: 0, ProofVerdict.INCONCLUSIVE: 2, ProofVerdict.PROVEN: 3}
_UNREADABLE = 1
ProofId = Annotated[str, PathParameter(pattern=ID_PATTERN)]


@dataclass(frozen=True)
class ProofRow:
    """A proof in a list.

    Attributes:
        id: of the proof.
        report: what it says; None if it cannot be read.
        error: why not; else empty.
        kept: how many proofs of its pipeline are kept.
    """

    id: str
    report: ProofReport | None
    error: str
    kept: int

    @property
    def pipeline(self) -> str:
        """Whose proof it is."""
        return pipeline_of_proof(self.id)

    @property
    def tone(self) -> str:
        """The class of the verdict's colour."""
        return TONES[self.report.verdict] if self.report else "bad"

    @property
    def urgency(self) -> int:
        """What is broken comes before what cannot be read, and that before what was not seen."""
        return _URGENCY[self.report.verdict] if self.report else _UNREADABLE


@router.get("/proofs")
def overview(request: Request, visitor: VisitorDep, context: ContextDep, number: PageNumber = 1) -> HTMLResponse:
    """Show the newest verdict of each pipeline that was proven and that the visitor may see."""
    names = _visible(visitor, context)
    reports = ProofReports(context.project.folder.proofs)
    proven = {name: ids for name, ids in reports.ids().items() if name in names}
    rows = sorted(
        (_row(reports, ids[0], len(ids)) for ids in proven.values()), key=lambda row: (row.urgency, row.pipeline)
    )
    return page(request, "proofs.html", **paged(rows, number), unproven=len(names) - len(proven))


@router.get("/proofs/{pipeline}")
def of_pipeline(request: Request, pipeline: SpecName, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show the newest proof of a pipeline, and its history."""
    _refuse_foreign(pipeline, visitor, context)
    reports = ProofReports(context.project.folder.proofs)
    ids = reports.ids().get(pipeline, ())
    return _shown(request, pipeline, reports, ids, ids[0] if ids else "")


@router.get("/proofs/{pipeline}/{proof_id}")
def of_proof(
    request: Request, pipeline: SpecName, proof_id: ProofId, visitor: VisitorDep, context: ContextDep
) -> HTMLResponse:
    """Show one proof of a pipeline, and its history."""
    _refuse_foreign(pipeline, visitor, context)
    reports = ProofReports(context.project.folder.proofs)
    ids = reports.ids().get(pipeline, ())
    if proof_id not in ids:
        raise HTTPException(404, f"There is no proof {proof_id} of {pipeline}, it was removed, or is not yours to see.")
    return _shown(request, pipeline, reports, ids, proof_id)


def _shown(request: Request, pipeline: str, reports: ProofReports, ids: Sequence[str], proof_id: str) -> HTMLResponse:
    own = _row(reports, proof_id, len(ids)) if proof_id else None
    view = proof_view(own.report) if own and own.report else {"report": None}
    return page(
        request,
        "proof.html",
        pipeline=pipeline,
        error=own.error if own else "",
        history=[_row(reports, each, len(ids)) for each in ids[:_SHOWN]],
        older=max(len(ids) - _SHOWN, 0),
        shown_id=proof_id,
        **view,
    )


def _row(reports: ProofReports, proof_id: str, kept: int) -> ProofRow:
    try:
        return ProofRow(proof_id, reports.read(proof_id), "", kept)
    except SluiceError as error:
        return ProofRow(proof_id, None, str(error), kept)


def _visible(visitor: Visitor, context: ConsoleContext) -> set[str]:
    return set(readable(visitor, {backfill_dag_id(name): name for name in context.project.catalog.pipelines}))


def _refuse_foreign(pipeline: str, visitor: Visitor, context: ConsoleContext) -> None:
    """Refuse a pipeline that is not there or that the visitor may not see; both look the same.

    Raises:
        HTTPException: 404.
    """
    if pipeline not in context.project.catalog.pipelines or not visitor.readable([backfill_dag_id(pipeline)]):
        raise HTTPException(404, f"There is no pipeline {pipeline}, or it is not yours to see.")
