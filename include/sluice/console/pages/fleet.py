"""The fleet: every stream, the most urgent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from sluice.console.context.access import Visitor, VisitorDep, readable
from sluice.console.context.page_context import ConsoleContext, ContextDep
from sluice.console.html.paging import PageNumber, paged
from sluice.console.html.rendering import HALTED, verdict_of
from sluice.console.html.site import page
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.streams.health.fleet import StreamStatus
from sluice.streams.health.health import Health

router = APIRouter()


@router.get("/")
def fleet(
    *,
    request: Request,
    visitor: VisitorDep,
    context: ContextDep,
    health: Annotated[str, Query(max_length=100)] = "",
    q: Annotated[str, Query(max_length=100)] = "",
    number: PageNumber = 1,
) -> HTMLResponse:
    """Show the streams that the visitor may see."""
    everything = sorted(statuses_for(visitor, context), key=lambda each: each.urgency)
    wanted = {name for name in health.split(",") if name}
    chosen = [
        each
        for each in everything
        if (not wanted or verdict_of(each)[0] in wanted) and q.lower() in f"{each.stream} {each.unit}".lower()
    ]
    return page(
        request,
        "fleet.html",
        found=len(chosen),
        total=len(everything),
        needing=sum(each.needs_attention for each in everything),
        counts=_counted(everything),
        chosen=health,
        q=q,
        **paged(chosen, number),
    )


def _counted(urgent_first: Sequence[StreamStatus]) -> list[tuple[str, str, int]]:
    """Return each verdict, the class of its most urgent stream's colour, and how many streams have it; halted first."""
    order = [HALTED, *(health.value for health in Health)]
    verdicts = [verdict_of(each) for each in urgent_first]
    tones = dict(reversed(verdicts))
    counts = Counter(word for word, _ in verdicts)
    return [(word, tones[word], counts[word]) for word in sorted(counts, key=order.index)]


def statuses_for(visitor: Visitor, context: ConsoleContext) -> Sequence[StreamStatus]:
    """Return how those streams stand whose DAGs a visitor may see, in a bounded number of queries."""
    project = context.project
    units = readable(visitor, {stream_dag_id(name): unit for name, unit in project.catalog.units().items()})
    return project.health.statuses(units, context.clock.now())
