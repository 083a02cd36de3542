"""The graph: what flows where, with the verdict of each stream and how far each table is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Annotated, Self

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse

from sluice.console.context.access import Visitor, VisitorDep, readable
from sluice.console.context.page_context import ConsoleContext, ContextDep
from sluice.console.html.flow_nodes import FlowNode, flow_picture, in_pages, pipeline_lines, table_node
from sluice.console.html.graph_layout import HEIGHT, WIDTH
from sluice.console.html.paging import PageNumber
from sluice.console.html.rendering import verdict_of
from sluice.console.html.site import page
from sluice.control.index import Overview
from sluice.intervals.ledger import State
from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.catalog.dag_ids import TOPICS, backfill_dag_id, stream_dag_id
from sluice.specs.catalog.graph import FlowGraph, Node, NodeKind, graph_of
from sluice.specs.catalog.streams import raw_stream, streams_of
from sluice.specs.model.model import PipelineSpec
from sluice.specs.rules.output_rules import output_name
from sluice.streams.health.fleet import StreamStatus

router = APIRouter()


@router.get("/graph")
def graph(
    *,
    request: Request,
    visitor: VisitorDep,
    context: ContextDep,
    q: Annotated[str, Query(max_length=100)] = "",
    pipeline: Annotated[str, Query(max_length=100)] = "",
    number: PageNumber = 1,
) -> HTMLResponse:
    """Show what flows through the pipelines that the visitor may see: all, or only around one of them."""
    catalog = context.project.catalog
    units = readable(visitor, {stream_dag_id(name): unit for name, unit in catalog.units().items()})
    whole = visible_graph(catalog, {unit.name for unit in units})
    if pipeline:
        if Node(NodeKind.PIPELINE, pipeline) not in whole.nodes:
            raise HTTPException(404, f"There is no pipeline {pipeline!r:.60}, or it is not yours to see.")
        whole = whole.around(pipeline)
    pages = in_pages(part for part in whole.parts() if any(q.lower() in node.name for node in part.nodes))
    number = min(number, len(pages))
    states = _States.read(context, visitor, units, pages[number - 1])
    shown = {node: states.of(node) for part in pages[number - 1] for node in part.nodes}
    return page(
        request,
        "graph.html",
        picture=flow_picture(pages[number - 1], shown),
        node_width=WIDTH,
        node_height=HEIGHT,
        pipeline=pipeline,
        q=q,
        number=number,
        pages=len(pages),
    )


def visible_graph(catalog: Catalog, units: AbstractSet[str]) -> FlowGraph:
    """Return what is to be seen of the graph by who may see some units.

    Those are their topics and pipelines, and by name what these pipelines read and write.
    """
    whole = graph_of(catalog)
    pipelines = {Node(NodeKind.PIPELINE, name) for name, spec in catalog.pipelines.items() if spec.driver in units}
    topics = {Node(NodeKind.TOPIC, name) for name, spec in catalog.topics.items() if spec.raw.driver in units}
    beside = {
        node for edge in whole.edges if pipelines & {*edge} for node in edge if node.kind is not NodeKind.PIPELINE
    }
    return whole.among(pipelines | topics | beside)


@dataclass(frozen=True)
class _States:
    """The states of the nodes of a page, read by as many queries for one as for many.

    Attributes:
        catalog: the specs.
        streams: how those streams stand that the visitor may see, by name.
        known: what the index of the ledgers says of each pipeline.
        stale: how many intervals of each pipeline other code has computed.
        intervals: the pipelines whose intervals the visitor may see.
        topics: whether the visitor may see the pages of topics.
    """

    catalog: Catalog
    streams: Mapping[str, StreamStatus]
    known: Mapping[str, Overview]
    stale: Mapping[str, int]
    intervals: AbstractSet[str]
    topics: bool

    @classmethod
    def read(cls, context: ConsoleContext, visitor: Visitor, units: Sequence[Unit], parts: Iterable[FlowGraph]) -> Self:
        """Read what is on record."""
        project, nodes = context.project, {node for part in parts for node in part.nodes}
        own = [unit for unit in units if nodes & _nodes_of(unit)]
        pipelines = [name for name in project.catalog.interval_pipelines if Node(NodeKind.PIPELINE, name) in nodes]
        seen = readable(visitor, {backfill_dag_id(name): name for name in pipelines})
        index = project.tables.index()
        return cls(
            project.catalog,
            {status.stream: status for status in project.health.statuses(own, context.clock.now())},
            index.overview() if seen else {},
            index.stale({name: context.code_of(name) for name in seen}) if seen else {},
            set(seen),
            bool(visitor.readable([TOPICS])),
        )

    def of(self, node: Node) -> FlowNode:
        """Return a node as it is shown."""
        match node.kind:
            case NodeKind.TOPIC:
                return self._topic(node)
            case NodeKind.PIPELINE:
                return self._pipeline(node, self.catalog.pipelines[node.name])
            case NodeKind.TABLE:
                return self._table(node)
            case NodeKind.SINK:
                return FlowNode(node, self._page_of_writer(node.name))

    def _topic(self, node: Node) -> FlowNode:
        stream = raw_stream(node.name)
        status = self.streams.get(stream)
        page_of_stream = f"streams/{stream}" if status is not None else ""
        path = f"topics/{node.name}" if self.topics and node.name in self.catalog.kafka_topics() else page_of_stream
        if status is None:
            return FlowNode(node, path)
        word, tone = verdict_of(status)
        return FlowNode(node, path, tone, word, pipeline_lines(status.verdict))

    def _pipeline(self, node: Node, spec: PipelineSpec) -> FlowNode:
        found = [self.streams[stream.name] for stream in streams_of(spec) if stream.name in self.streams]
        if not found:
            return FlowNode(node)
        worst = min(found, key=lambda status: status.urgency)
        lines = pipeline_lines(worst.verdict, "" if worst.stream == spec.name else worst.stream)
        word, tone = verdict_of(worst)
        return FlowNode(node, f"streams/{worst.stream}", tone, word, lines)

    def _table(self, node: Node) -> FlowNode:
        settles = self.catalog.settled_tables.get(node.name)
        if settles is None:
            return FlowNode(node, self._page_of_writer(node.name))
        if settles.name not in self.intervals:
            return FlowNode(node)
        over = {
            source.table: self._dirty(self.catalog.settled_tables[source.table].name)
            for source in settles.table_sources.values()
        }
        known = self.known.get(settles.name)
        until = None if known is None else known.closed_until
        dirty, stale = self._dirty(settles.name), self.stale.get(settles.name, 0)
        return table_node(node, f"intervals/{settles.name}", until, {"dirty": dirty, "stale": stale}, over)

    def _dirty(self, pipeline: str) -> int:
        known = self.known.get(pipeline) if pipeline in self.intervals else None
        return 0 if known is None else known.counts.get(State.DIRTY, 0)

    def _page_of_writer(self, table: str) -> str:
        """Return the page of the stream that writes a table of rows or of newest values, or gives rows to a sink."""
        streams = (stream for spec in self.catalog.pipelines.values() for stream in streams_of(spec))
        writers = (s.name for s in streams if table in {output_name(output) for output in s.outputs})
        return next((f"streams/{name}" for name in writers if name in self.streams), "")


def _nodes_of(unit: Unit) -> set[Node]:
    topics = {Node(NodeKind.TOPIC, name) for name in unit.topics}
    return topics | {Node(NodeKind.PIPELINE, name) for name in unit.pipelines}
