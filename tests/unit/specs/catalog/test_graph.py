"""What flows where in a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.specs.catalog.graph import FlowGraph, Node, NodeKind, graph_of
from tests.unit.specs.bench import Bench
from tests.unit.specs.chain import DAYS, QUERY, chained_project

TOPIC, PIPELINE, TABLE = NodeKind.TOPIC, NodeKind.PIPELINE, NodeKind.TABLE


@pytest.fixture
def chained(tmp_path: Path) -> Bench:
    return chained_project(tmp_path / "project")


def words(graph: FlowGraph) -> list[str]:
    return [str(node) for node in graph.nodes]


def test_rows_flow_from_topics_over_tables_into_tables(chained: Bench) -> None:
    graph = graph_of(chained.scan().catalog)
    assert words(graph) == ["topic orders", "pipeline sales", "table sales", "pipeline days", "table days"]
    assert graph.roots == (Node(TOPIC, "orders"),)
    assert graph.after(Node(TABLE, "sales")) == (Node(PIPELINE, "days"),)


def test_around_a_pipeline_is_what_it_is_made_of_and_what_is_made_of_it(chained: Bench) -> None:
    chained.write(
        "include/topics/other.yaml", (chained.include / "topics" / "orders.yaml").read_text().replace("orders", "other")
    )
    chained.write("include/pipelines/weeks.yaml", DAYS.replace("days", "weeks"))
    chained.write("spark_jobs/transforms/weeks.sql", QUERY)
    whole = graph_of(chained.scan().catalog)
    assert {"topic other", "pipeline weeks"} <= {*words(whole)}
    assert words(whole.around("days")) == [
        "topic orders",
        "pipeline sales",
        "table sales",
        "pipeline days",
        "table days",
    ]
    assert "pipeline weeks" in words(whole.around("sales"))
    assert "topic other" not in words(whole.around("sales"))
    parts = whole.parts()
    assert [words(part)[0] for part in parts] == ["topic orders", "topic other"]
    assert len(parts[0].nodes) + len(parts[1].nodes) == len(whole.nodes)
    assert sum(len(part.edges) for part in parts) == len(whole.edges)
    assert whole.among({Node(TOPIC, "orders"), Node(TABLE, "sales")}).edges == ()
