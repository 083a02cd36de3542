"""Objectives: for which share of the time each output was good, and how much of its error budget is left."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from sluice.console.context.access import Visitor, VisitorDep, readable
from sluice.console.context.page_context import ConsoleContext, ContextDep
from sluice.console.html.paging import PageNumber, paged
from sluice.console.html.site import page
from sluice.objectives.standing import OutputObjective, output_objectives
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.specs.catalog.objectives import declared_objectives

router = APIRouter()


@router.get("/objectives")
def objectives(request: Request, visitor: VisitorDep, context: ContextDep, number: PageNumber = 1) -> HTMLResponse:
    """Show the outputs that the visitor may see, the one with the least budget left first."""
    return page(request, "objectives.html", **paged(objectives_for(visitor, context), number))


def objectives_for(visitor: Visitor, context: ConsoleContext) -> Sequence[OutputObjective]:
    """Return how those outputs stand whose streams a visitor may see, in one query, or none without any."""
    project = context.project
    declared = list(declared_objectives(project.catalog))
    seen = set(readable(visitor, {stream_dag_id(each.unit): each.unit for each in declared}))
    ours = [each for each in declared if each.unit in seen]
    return output_objectives(ours, project.records.objectives(), context.clock.now()) if ours else ()
