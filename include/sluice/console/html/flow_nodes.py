"""What flows where in a project, as a picture and as a list: each node with its state in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sluice.console.html.graph_layout import GraphLayout, laid_out
from sluice.specs.catalog.graph import FlowGraph, Node, NodeKind
from sluice.streams.health.verdict import Verdict
from sluice.wording import counted

PART_NODES = 60
"""So many nodes make a page, unless more hang together."""
_NAME, _BOLD, _PLAIN = 23, 26, 30
"""Characters that fit into a node: of its name, and of lines below it in bold and in plain letters."""
_ROUND = 4
"""How many fewer into a topic, whose ends are round."""


@dataclass(frozen=True)
class FlowNode:
    """A node as it is shown.

    Attributes:
        node: what it is.
        path: of its page, below the console; empty if it has none that the visitor may see.
        tone: the class of its colour; empty where nothing is known, `quiet` where nothing is wanted.
        word: its state in one word; empty the same.
        lines: what else is to be said, a few words each.
    """

    node: Node
    path: str = ""
    tone: str = ""
    word: str = ""
    lines: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """Its name, as far as it fits into the picture: the ends of names tell more than their middles."""
        most, name = _NAME - self._round, self.node.name
        kept = (most - 1) // 2
        return name if len(name) <= most else f"{name[: most - 1 - kept]}…{name[-kept:]}"

    @property
    def drawn(self) -> tuple[tuple[str, bool], tuple[str, bool]]:
        """What is in the picture below its name: two lines, and whether each bears the colour."""
        if self.node.kind is NodeKind.TABLE:
            settled, counts = (*self.lines, "", "")[:2]
            return self._cut(settled, bold=False), self._cut(counts, bold=True)
        return self._cut(self.word, bold=True), self._cut(", ".join(self.lines), bold=False)

    def _cut(self, text: str, *, bold: bool) -> tuple[str, bool]:
        most = (_BOLD if bold else _PLAIN) - self._round
        return text if len(text) <= most else f"{text[: most - 1]}…", bold

    @property
    def _round(self) -> int:
        return _ROUND if self.node.kind is NodeKind.TOPIC else 0

    @property
    def words(self) -> str:
        """All of it as a sentence without its end."""
        return ", ".join(filter(None, [f"{self.node.kind} {self.node.name}", self.word, *self.lines]))


@dataclass(frozen=True)
class FlowPicture:
    """A page of the graph.

    Attributes:
        layout: where the nodes lie.
        nodes: as they are shown, in the order in which rows reach them.
        takers: of each node, the nodes that take its rows.
    """

    layout: GraphLayout[Node]
    nodes: Sequence[FlowNode]
    takers: Mapping[Node, Sequence[FlowNode]]


def flow_picture(parts: Iterable[FlowGraph], shown: Mapping[Node, FlowNode]) -> FlowPicture:
    """Return a picture of parts of the graph, one below the other."""
    parts = list(parts)
    takers = {node: [shown[end] for end in part.after(node)] for part in parts for node in part.nodes}
    layout = laid_out((part.nodes, part.edges) for part in parts)
    return FlowPicture(layout, [shown[node] for part in parts for node in part.nodes], takers)


def in_pages(parts: Iterable[FlowGraph]) -> list[list[FlowGraph]]:
    """Return the parts of a graph in pages: what hangs together stays together; one page at least."""
    pages: list[list[FlowGraph]] = [[]]
    for part in parts:
        if pages[-1] and sum(len(each.nodes) for each in pages[-1]) + len(part.nodes) > PART_NODES:
            pages.append([])
        pages[-1].append(part)
    return pages


def table_node(
    node: Node, path: str, until: datetime | None, counts: Mapping[str, int], over: Mapping[str, int]
) -> FlowNode:
    """Return an interval table as it is shown.

    Args:
        node: the table.
        path: of its page.
        until: end of the last settled interval; None before the first.
        counts: how many intervals are `dirty`, known to be incomplete, and `stale`, of other code than today's.
        over: the tables that its pipeline reads, with how many intervals are dirty there.
    """
    settled = "nothing settled yet" if until is None else f"settled until {until:%Y-%m-%d %H:%M}"
    own = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count)
    reads = [f"over {count:,} dirty of {table}" for table, count in over.items() if count]
    if counts.get("dirty"):
        return FlowNode(node, path, "bad", "dirty", (settled, own, *reads))
    if own or reads:
        word = "stale" if own else "over dirty"
        return FlowNode(node, path, "warning", word, (settled, *filter(None, [own]), *reads))
    return FlowNode(node, path, *(("", "") if until is None else ("good", "settled")), (settled,))


def pipeline_lines(verdict: Verdict, stream: str = "") -> tuple[str, ...]:
    """Return what a stream's verdict says beside its word, a few words each.

    Args:
        verdict: of the stream.
        stream: its name, where that is not told by the node.
    """
    lines = [f"by {stream}"] if stream else []
    if verdict.lag_records:
        lines.append(f"{counted(verdict.lag_records, 'record')} unread")
    if verdict.settling is not None and verdict.settling.due:
        lines.append(f"{counted(verdict.settling.due, 'interval')} due")
    if verdict.settling is not None and verdict.settling.advance is not None:
        lines.append("an advance of times to confirm")
    return tuple(lines)
