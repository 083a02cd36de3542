"""Where the nodes of a graph lie in a picture: in columns from left to right, without one over another.

A node's column is the longest way to it. An edge over several columns takes a lane in each between, so no line runs
through a node. In its column a node lies as near to the middle of its neighbours as the others let it, which least
squares decide; equal graphs give equal pictures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)

WIDTH, HEIGHT = 208, 66
"""Of a node, in pixels."""
BETWEEN_COLUMNS, BETWEEN_NODES, BETWEEN_PARTS = 56, 18, 30
_LANE = 6
"""The height that an edge takes where it passes a column."""
_MARGIN = 4
_SWEEPS = 6

_Slot = tuple[int, int]
"""A node (its number, -1) or a lane (number of the edge, column)."""


@dataclass(frozen=True)
class GraphLayout(Generic[Name]):
    """A picture.

    Attributes:
        width: in pixels.
        height: in pixels.
        corners: the upper left corner of each node.
        paths: the SVG path of each edge, from the right of a node to the left of the next.
    """

    width: int
    height: int
    corners: Mapping[Name, tuple[int, int]]
    paths: Mapping[tuple[Name, Name], str]


def laid_out(parts: Iterable[tuple[Sequence[Name], Sequence[tuple[Name, Name]]]]) -> GraphLayout[Name]:
    """Return a picture of several graphs, one below the other.

    Args:
        parts: nodes, each behind those before it, and edges; an edge that leads backwards is drawn so.
    """
    corners: dict[Name, tuple[int, int]] = {}
    paths: dict[tuple[Name, Name], str] = {}
    top, width = _MARGIN, 0
    for nodes, edges in parts:
        part = _Part.of(nodes, edges)
        middles = part.middles()
        for number, node in enumerate(nodes):
            corners[node] = _left(part.columns[number]), top + middles[number, -1] - HEIGHT // 2
        for number, edge in enumerate(edges):
            paths[edge] = part.path(number, middles, top)
        width = max([width, *(_left(column) + WIDTH for column in part.columns)])
        top += max(middle + part.height(slot) // 2 for slot, middle in middles.items()) + BETWEEN_PARTS
    return GraphLayout(width + _MARGIN, max(top - BETWEEN_PARTS, 0) + _MARGIN, corners, paths)


def _left(column: int) -> int:
    return _MARGIN + column * (WIDTH + BETWEEN_COLUMNS)


@dataclass(frozen=True)
class _Part:
    """One graph whose nodes and edges are numbers.

    Attributes:
        columns: of each node.
        edges: from and to which node.
        ways: the slots that each edge passes, its ends among them.
    """

    columns: Sequence[int]
    edges: Sequence[tuple[int, int]]
    ways: Sequence[Sequence[_Slot]]

    @classmethod
    def of(cls, nodes: Sequence[Name], edges: Sequence[tuple[Name, Name]]) -> _Part:
        numbers = {node: number for number, node in enumerate(nodes)}
        own = [(numbers[start], numbers[end]) for start, end in edges]
        columns = [0] * len(nodes)
        for start, end in sorted(own, key=lambda edge: edge[1]):
            if start < end:
                columns[end] = max(columns[end], columns[start] + 1)
        ways = [_way(number, *edge, columns) for number, edge in enumerate(own)]
        return cls(columns, own, ways)

    @staticmethod
    def height(slot: _Slot) -> int:
        return HEIGHT if slot[1] < 0 else _LANE

    def middles(self) -> dict[_Slot, int]:
        """Return how far below the top the middle of each slot lies."""
        layers = self._layers()
        beside = self._neighbours()
        at = {slot: float(place) for layer in layers for place, slot in enumerate(layer)}
        for sweep in range(_SWEEPS):  # the order within each column
            for layer in layers if sweep % 2 == 0 else reversed(layers):
                layer.sort(key=lambda slot: (_mean([at[each] for each in beside[slot][sweep % 2]], at[slot]), slot))
                at |= {slot: float(place) for place, slot in enumerate(layer)}
        at = {slot: where for layer in layers for slot, where in self._packed(layer, {}).items()}
        for sweep in range(_SWEEPS + 1):  # the distances
            for layer in layers if sweep % 2 == 0 else reversed(layers):
                near = {slot: _mean([at[each] for each in beside[slot][sweep % 2]], at[slot]) for slot in layer}
                at |= self._packed(layer, near)
        top = min(middle - self.height(slot) / 2 for slot, middle in at.items())
        return {slot: round(middle - top) for slot, middle in at.items()}

    def _layers(self) -> list[list[_Slot]]:
        layers: list[list[_Slot]] = [[] for _ in range(max(self.columns, default=0) + 1)]
        for number, column in enumerate(self.columns):
            layers[column].append((number, -1))
        for way in self.ways:
            for slot in way[1:-1]:
                layers[slot[1]].append(slot)
        return layers

    def _neighbours(self) -> Mapping[_Slot, tuple[list[_Slot], list[_Slot]]]:
        """Return what lies on an edge beside each slot, on the left and on the right."""
        beside = defaultdict[_Slot, tuple[list[_Slot], list[_Slot]]](lambda: ([], []))
        for way in self.ways:
            for before, after in pairwise(way):
                beside[after][0].append(before)
                beside[before][1].append(after)
        return beside

    def _packed(self, layer: Sequence[_Slot], wanted: Mapping[_Slot, float]) -> dict[_Slot, float]:
        """Return the places of a column, in its order and none over another, that lie nearest to those wanted.

        Neighbours that want the same place share the least squares (pool adjacent violators).
        """
        offsets, offset = list[float](), 0.0
        for before, slot in zip([None, *layer], layer, strict=False):
            if before is not None:
                offset += (self.height(before) + self.height(slot)) / 2 + BETWEEN_NODES
            offsets.append(offset)
        pools: list[tuple[float, int]] = []
        for slot, own in zip(layer, offsets, strict=True):
            mean, count = wanted.get(slot, own) - own, 1
            while pools and pools[-1][0] > mean:
                before_mean, before_count = pools.pop()
                mean = (before_mean * before_count + mean * count) / (before_count + count)
                count += before_count
            pools.append((mean, count))
        shifts = [mean for mean, count in pools for _ in range(count)]
        return {slot: own + shift for slot, own, shift in zip(layer, offsets, shifts, strict=True)}

    def path(self, number: int, middles: Mapping[_Slot, int], top: int) -> str:
        """Return the SVG path of an edge."""
        start, end = self.edges[number]
        x, y = _left(self.columns[start]) + WIDTH, top + middles[start, -1]
        parts = [f"M{x} {y}"]
        lanes = [(_left(slot[1]), top + middles[slot]) for slot in self.ways[number][1:-1]]
        for left, lane in lanes:
            parts.append(f"{_curve(x, y, left, lane)}H{left + WIDTH}")
            x, y = left + WIDTH, lane
        return " ".join([*parts, _curve(x, y, _left(self.columns[end]), top + middles[end, -1])])


def _way(number: int, start: int, end: int, columns: Sequence[int]) -> list[_Slot]:
    between = range(columns[start] + 1, columns[end])
    return [(start, -1), *((number, column) for column in between), (end, -1)]


def _curve(x: int, y: int, to_x: int, to_y: int) -> str:
    half = BETWEEN_COLUMNS // 2
    return f"C{x + half} {y} {to_x - half} {to_y} {to_x} {to_y}"


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
