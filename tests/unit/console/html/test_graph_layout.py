"""Where the nodes of a graph lie: none over another, arrows from left to right, the same each time."""

from __future__ import annotations

import random
import re
from itertools import combinations

import pytest

from sluice.console.html.graph_layout import BETWEEN_COLUMNS, BETWEEN_NODES, HEIGHT, WIDTH, GraphLayout, laid_out

Edges = list[tuple[int, int]]


def one(count: int, edges: Edges) -> GraphLayout[int]:
    return laid_out([(range(count), edges)])


def drawn_at_random(seed: int, count: int) -> Edges:
    draw = random.Random(seed)
    pairs = {tuple(sorted(draw.sample(range(count), 2))) for _ in range(int(count * 1.3))}
    return sorted((start, end) for start, end in pairs)


def overlapping(layout: GraphLayout[int]) -> list[tuple[int, int]]:
    return [
        (one, other)
        for (one, (x, y)), (other, (u, v)) in combinations(layout.corners.items(), 2)
        if abs(x - u) < WIDTH and abs(y - v) < HEIGHT
    ]


def ends_of(path: str) -> tuple[tuple[int, int], tuple[int, int]]:
    numbers = [int(number) for number in re.findall(r"-?\d+", path)]
    return (numbers[0], numbers[1]), (numbers[-2], numbers[-1])


def test_a_chain_is_one_line() -> None:
    layout = one(3, [(0, 1), (1, 2)])
    assert len({y for _, y in layout.corners.values()}) == 1
    assert layout.height < 2 * HEIGHT
    assert [x for x, _ in layout.corners.values()] == sorted(x for x, _ in layout.corners.values())


def test_a_node_lies_in_the_middle_of_what_flows_into_it() -> None:
    layout = one(4, [(0, 3), (1, 3), (2, 3)])
    heights = [y for _, y in layout.corners.values()]
    assert heights[3] == heights[1]
    assert heights[2] - heights[1] == heights[1] - heights[0] == HEIGHT + BETWEEN_NODES


def test_parts_lie_below_each_other() -> None:
    layout = laid_out([("ab", [("a", "b")]), ("c", [])])
    assert layout.corners["c"][1] > layout.corners["a"][1] + HEIGHT
    assert layout.corners["c"][0] == layout.corners["a"][0]
    assert layout.height >= layout.corners["c"][1] + HEIGHT
    assert layout.width >= layout.corners["b"][0] + WIDTH
    empty = laid_out([])
    assert (empty.corners, empty.paths) == ({}, {})


@pytest.mark.parametrize("seed", range(30))
def test_no_node_lies_over_another_and_arrows_go_right(seed: int) -> None:
    count = 3 + 2 * seed
    edges = drawn_at_random(seed, count)
    layout = one(count, edges)
    assert overlapping(layout) == []
    for (start, end), path in layout.paths.items():
        assert layout.corners[end][0] >= layout.corners[start][0] + WIDTH
        (x, y), (u, v) = ends_of(path)
        assert (x, y - HEIGHT // 2) == (layout.corners[start][0] + WIDTH, layout.corners[start][1])
        assert (u, v - HEIGHT // 2) == layout.corners[end]
    assert all(x + WIDTH <= layout.width and y + HEIGHT <= layout.height for x, y in layout.corners.values())
    assert all(x >= 0 and y >= 0 for x, y in layout.corners.values())


@pytest.mark.parametrize("seed", range(10))
def test_an_edge_that_passes_columns_runs_through_no_node(seed: int) -> None:
    edges = drawn_at_random(seed, 20)
    layout = one(20, edges)
    for (start, end), path in layout.paths.items():
        lanes = [(int(y), int(x)) for y, x in re.findall(r" (\d+)H(\d+)", path)]
        assert len(lanes) == (layout.corners[end][0] - layout.corners[start][0]) // (WIDTH + BETWEEN_COLUMNS) - 1
        for y, right in lanes:
            over = [n for n, (x, top) in layout.corners.items() if x + WIDTH == right and top <= y <= top + HEIGHT]
            assert over == [], (start, end)


def test_the_same_graph_gives_the_same_picture() -> None:
    edges = drawn_at_random(7, 60)
    assert one(60, edges) == one(60, edges)


def test_an_edge_that_leads_back_is_drawn() -> None:
    layout = one(3, [(0, 1), (1, 2), (2, 0)])
    assert overlapping(layout) == []
    assert len(layout.paths) == 3
