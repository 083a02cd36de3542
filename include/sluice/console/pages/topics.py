"""Topics: the plan, what has drifted, and where replicas lie."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from sluice.console.context.access import Visitor, VisitorDep
from sluice.console.context.page_context import ContextDep
from sluice.console.html.site import page
from sluice.specs.catalog.dag_ids import TOPICS

router = APIRouter()


@router.get("/topics")
def topics(request: Request, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show the declared topics as the cluster has them."""
    _require(visitor)
    return page(
        request,
        "topics.html",
        memory=context.topics.get(),
        declared=sorted(context.project.catalog.kafka_topics()),
        dag_id=TOPICS,
    )


@router.get("/topics/{topic}")
def topic(request: Request, topic: str, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show one declared topic with its partitions."""
    _require(visitor)
    if topic not in context.project.catalog.kafka_topics():
        raise HTTPException(404, "There is no declared topic of this name.")
    return page(request, "topic.html", memory=context.topics.get(), topic=topic)


def _require(visitor: Visitor) -> None:
    if not visitor.readable([TOPICS]):
        raise HTTPException(404, "Topics are not yours to see.")
