"""What flows where in a project: topics into pipelines, pipelines into tables and topics, and these into others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import Output, SinkOutput, WrittenTopic


class NodeKind(StrEnum):
    """What a node is."""

    TOPIC = "topic"
    PIPELINE = "pipeline"
    TABLE = "table"
    SINK = "sink"


@dataclass(frozen=True, order=True)
class Node:
    """A topic, a pipeline or a table."""

    kind: NodeKind
    name: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class FlowGraph:
    """What flows where, without circles.

    Attributes:
        nodes: in the order in which rows reach them.
        edges: from a node to those that take its rows.
    """

    nodes: tuple[Node, ...]
    edges: tuple[tuple[Node, Node], ...]

    @property
    def roots(self) -> tuple[Node, ...]:
        """The nodes that nothing flows into."""
        fed = {end for _, end in self.edges}
        return tuple(node for node in self.nodes if node not in fed)

    def after(self, node: Node) -> tuple[Node, ...]:
        """Return what takes the rows of a node."""
        return tuple(end for start, end in self.edges if start == node)

    def around(self, pipeline: str) -> FlowGraph:
        """Return what a pipeline is made of, directly or not, and what is made of it."""
        middle = Node(NodeKind.PIPELINE, pipeline)
        forward, backward = defaultdict[Node, list[Node]](list), defaultdict[Node, list[Node]](list)
        for start, end in self.edges:
            forward[start].append(end)
            backward[end].append(start)
        return self.among({middle, *_reached(middle, forward), *_reached(middle, backward)})

    def among(self, kept: AbstractSet[Node]) -> FlowGraph:
        """Return some of the nodes, and what flows between them."""
        edges = tuple(edge for edge in self.edges if edge[0] in kept and edge[1] in kept)
        return FlowGraph(tuple(node for node in self.nodes if node in kept), edges)

    def parts(self) -> tuple[FlowGraph, ...]:
        """Return what hangs together, each for itself, in the order of the first nodes."""
        beside = defaultdict[Node, list[Node]](list)
        for start, end in self.edges:
            beside[start].append(end)
            beside[end].append(start)
        first = dict[Node, Node]()  # of what hangs together with a node
        for node in self.nodes:
            if node not in first:
                first |= dict.fromkeys({node, *_reached(node, beside)}, node)
        nodes, edges = defaultdict[Node, list[Node]](list), defaultdict[Node, list[tuple[Node, Node]]](list)
        for node in self.nodes:
            nodes[first[node]].append(node)
        for edge in self.edges:
            edges[first[edge[0]]].append(edge)
        return tuple(FlowGraph(tuple(own), tuple(edges[node])) for node, own in nodes.items())


def graph_of(catalog: Catalog) -> FlowGraph:
    """Return what flows where in a project; topics that no pipeline reads or fills are there alone."""
    edges: list[tuple[Node, Node]] = []
    for _, pipeline in sorted(catalog.pipelines.items()):
        own = Node(NodeKind.PIPELINE, pipeline.name)
        edges += [(source, own) for source in _sources(pipeline)]
        edges += [(own, output) for output in _outputs(pipeline)]
    alone = [Node(NodeKind.TOPIC, name) for name in sorted(catalog.topics)]
    nodes = _ordered([*alone, *(node for edge in edges for node in edge)], edges)
    place = {node: number for number, node in enumerate(nodes)}
    return FlowGraph(nodes, tuple(sorted(edges, key=lambda edge: (place[edge[0]], place[edge[1]]))))


def _sources(pipeline: PipelineSpec) -> list[Node]:
    topics = [Node(NodeKind.TOPIC, name) for name in pipeline.topics]
    return topics + [Node(NodeKind.TABLE, source.table) for source in pipeline.table_sources.values()]


def _outputs(pipeline: PipelineSpec) -> list[Node]:
    return [_output(output) for output in pipeline.every_output]


def _output(output: Output) -> Node:
    match output:
        case WrittenTopic():
            return Node(NodeKind.TOPIC, output.topic)
        case SinkOutput():
            return Node(NodeKind.SINK, output.name)
        case _:
            return Node(NodeKind.TABLE, output.table)


def _ordered(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> tuple[Node, ...]:
    """Return nodes, each behind all that flows into it; of a circle, in the order in which they came."""
    before = defaultdict[Node, set[Node]](set)
    for start, end in edges:
        before[end].add(start)
    waiting, done = list(dict.fromkeys(nodes)), dict[Node, None]()
    while waiting:
        ready = [node for node in waiting if before[node] <= done.keys()] or waiting[:1]
        done |= dict.fromkeys(ready)
        waiting = [node for node in waiting if node not in done]
    return tuple(done)


def _reached(node: Node, steps: Mapping[Node, list[Node]]) -> set[Node]:
    waiting, found = [node], set[Node]()
    while waiting:
        new = [each for each in steps.get(waiting.pop(), ()) if each not in found]
        found |= {*new}
        waiting += new
    return found
