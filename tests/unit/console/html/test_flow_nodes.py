"""Nodes of the graph in a few words, and pages of what hangs together."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from sluice.console.html.flow_nodes import PART_NODES, FlowNode, flow_picture, in_pages, pipeline_lines, table_node
from sluice.specs.catalog.graph import FlowGraph, Node, NodeKind
from sluice.streams.health.health import Health
from sluice.streams.health.verdict import Verdict

UNTIL = datetime(2013, 1, 20, 23, tzinfo=UTC)
SALES = Node(NodeKind.TABLE, "sales")


def part(name: str, count: int) -> FlowGraph:
    nodes = tuple(Node(NodeKind.TOPIC, f"{name}{number}") for number in range(count))
    return FlowGraph(nodes, tuple(pairwise(nodes)))


@pytest.mark.parametrize(
    ("until", "counts", "over", "tone", "words"),
    [
        (None, {}, {}, "", "table sales, nothing settled yet"),
        (UNTIL, {}, {"a": 0}, "good", "table sales, settled, settled until 2013-01-20 23:00"),
        (
            UNTIL,
            {"dirty": 1200, "stale": 3},
            {"a": 2},
            "bad",
            "table sales, dirty, settled until 2013-01-20 23:00, 1,200 dirty, 3 stale, over 2 dirty of a",
        ),
        (UNTIL, {"dirty": 0, "stale": 3}, {}, "warning", "table sales, stale, settled until 2013-01-20 23:00, 3 stale"),
        (
            UNTIL,
            {},
            {"a": 2},
            "warning",
            "table sales, over dirty, settled until 2013-01-20 23:00, over 2 dirty of a",
        ),
    ],
)
def test_a_table_says_how_far_it_is_and_what_is_wrong(
    until: datetime | None, counts: dict[str, int], over: dict[str, int], tone: str, words: str
) -> None:
    found = table_node(SALES, "", until, counts, over)
    assert (found.tone, found.words) == (tone, words)
    assert found.drawn[0][0] == found.lines[0]


def test_long_texts_are_cut_in_the_picture_and_whole_in_words() -> None:
    name = "orders_of_the_northern_shops_by_the_hour"
    node = FlowNode(Node(NodeKind.PIPELINE, name), word="LAGGING", lines=("12,345,678,901 records unread", "2 due"))
    assert node.short == "orders_of_t…by_the_hour"
    assert node.drawn == (("LAGGING", True), ("12,345,678,901 records unread…", False))
    assert node.words == f"pipeline {name}, LAGGING, 12,345,678,901 records unread, 2 due"


def test_a_stream_says_what_is_unread_and_whose_it_is() -> None:
    assert pipeline_lines(Verdict(Health.OK, "", "")) == ()
    assert pipeline_lines(Verdict(Health.LAGGING, "", "", lag_records=1), "x_live") == ("by x_live", "1 record unread")


def test_what_hangs_together_stays_on_one_page() -> None:
    sizes = [10, 40, 20, PART_NODES + 30, 1, 1]
    pages = in_pages(part(f"p{number}_", size) for number, size in enumerate(sizes))
    assert [[len(each.nodes) for each in page] for page in pages] == [[10, 40], [20], [PART_NODES + 30], [1, 1]]
    assert in_pages([]) == [[]]


def test_a_picture_has_each_node_and_what_takes_its_rows() -> None:
    parts = [part("a", 3), part("b", 1)]
    shown = {node: FlowNode(node) for each in parts for node in each.nodes}
    picture = flow_picture(parts, shown)
    assert [each.node.name for each in picture.nodes] == ["a0", "a1", "a2", "b0"]
    assert {node.name: [t.node.name for t in takers] for node, takers in picture.takers.items()} == {
        "a0": ["a1"],
        "a1": ["a2"],
        "a2": [],
        "b0": [],
    }
    assert picture.layout.corners.keys() == shown.keys()
