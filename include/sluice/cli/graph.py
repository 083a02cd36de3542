"""`sluice graph`: what flows where, and how far the settled tables are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, counted, emit, out_lines
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.project.chains import ChainState, chain_states
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.graph import FlowGraph, Node, NodeKind, graph_of

_SHAPES = {
    NodeKind.TOPIC: '{id}(["{name}"])',
    NodeKind.PIPELINE: '{id}["{name}"]',
    NodeKind.TABLE: '{id}[("{name}")]',
    NodeKind.SINK: '{id}[/"{name}"/]',
}
"""How Mermaid draws a node."""

States = Mapping[str, ChainState]


def graph(
    pipeline: Annotated[
        str,
        typer.Argument(
            help="Only what this pipeline is made of, and what is made of it. Default: all.",
            show_default=False,
            autocompletion=completion.pipelines,
        ),
    ] = "",
    *,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart instead of a tree.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show which topics flow through which pipelines into which tables and topics, and how far each table is settled.

    By the specs, and the logs of the tables: it asks neither Kafka nor the control database.

    Exit codes: 0; 2 a spec is wrong, or there is no such pipeline.
    """
    if pipeline:
        project, _ = open_pipeline(pipeline)
        shown = graph_of(project.catalog).around(pipeline)
    else:
        project = Project.open_tolerant(settings())
        shown = graph_of(project.catalog)
    names = {node.name for node in shown.nodes if node.kind is NodeKind.PIPELINE}
    states = chain_states(project, {n: p for n, p in project.catalog.pipelines.items() if n in names})

    def human() -> None:
        for line in in_mermaid(shown) if mermaid else as_tree(shown, states):
            out_lines.print(line)

    emit(output, as_dict(shown, states), human)


def as_tree(graph: FlowGraph, states: States) -> Iterator[str]:
    """Yield the lines of a tree. A node that rows reach on several ways is written out once."""
    tree = _Tree(graph, states)
    for root in graph.roots:
        yield from tree.branch(root)


@dataclass(frozen=True)
class _Tree:
    graph: FlowGraph
    states: States
    written: set[Node] = field(default_factory=set)

    def branch(self, node: Node, lead: str = "", follow: str = "") -> Iterator[str]:
        after = self.graph.after(node)
        if node in self.written and after:
            yield f"{lead}{node} …"
            return
        self.written.add(node)
        yield f"{lead}{node}{self._state(node)}"
        for number, child in enumerate(after, start=1):
            fork, line = ("└─ ", "   ") if number == len(after) else ("├─ ", "│  ")
            yield from self.branch(child, follow + fork, follow + line)

    def _state(self, node: Node) -> str:
        state = self.states.get(node.name) if node.kind is NodeKind.PIPELINE else None
        return "" if state is None else f" ({state_in_words(state)})"


def state_in_words(state: ChainState) -> str:
    """Return how far a pipeline is, for people."""
    if state.why:
        return f"not known: {state.why}"
    parts = ["nothing settled" if state.settled_until is None else f"settled until {state.settled_until:%FT%RZ}"]
    parts += [f"{state.dirty:,} dirty"] if state.dirty else []
    parts += [f"{counted(state.resting, 'interval')} over dirty ones"] if state.resting else []
    return ", ".join(parts)


def in_mermaid(graph: FlowGraph) -> Iterator[str]:
    """Yield the lines of a Mermaid flowchart."""
    names = {node: f"n{number}" for number, node in enumerate(graph.nodes)}
    yield "flowchart LR"
    for node, name in names.items():
        yield f"  {_SHAPES[node.kind].format(id=name, name=node.name)}"
    for start, end in graph.edges:
        yield f"  {names[start]} --> {names[end]}"


def as_dict(graph: FlowGraph, states: States) -> dict[str, Any]:
    """Return a graph as JSON values."""
    return {
        "nodes": [_node(node, states) for node in graph.nodes],
        "edges": [{"from": _id(start), "to": _id(end)} for start, end in graph.edges],
    }


def _id(node: Node) -> str:
    return f"{node.kind}:{node.name}"


def _node(node: Node, states: States) -> dict[str, Any]:
    written = {"id": _id(node), "kind": node.kind, "name": node.name}
    state = states.get(node.name) if node.kind is NodeKind.PIPELINE else None
    if state is None:
        return written
    until = state.settled_until and state.settled_until.isoformat()
    return {**written, "settled_until": until, "dirty": state.dirty, "over_dirty": state.resting, "why": state.why}
