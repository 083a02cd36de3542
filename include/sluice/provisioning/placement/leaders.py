"""Leaders: as even as can be, at the fewest moves.

A minimum-cost flow from partitions to brokers. Partitions need no nodes of their own: the arc from broker a to broker b
costs what it costs to let b lead one of the partitions that a leads, the cheapest of them. One more node, the
*exchange*, stands for the loads between the bounds: who leads less than the most may take one there, who leads more
than the least may give one.

It begins with every partition at a leader of least cost, which is optimal for the loads that come out, and moves
partitions along shortest paths from brokers with too many to brokers with too few. Shortest paths keep it optimal
(successive shortest paths; Ahuja, Magnanti, Orlin, *Network Flows*, 9.7). Prices on the nodes make the paths of a
phase free; within a phase they are taken level by level, as Dinic does, many partitions at a time.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sluice.provisioning.placement.moves import NEVER, Costs

_FAR = 1 << 20
"""Longer than any path."""

Numbers = npt.NDArray[np.int64]


def balanced_leaders(costs: Costs, present: Numbers, bounds: range, fixed: Numbers, counted: Numbers) -> Numbers:
    """Return the leader of every partition: loads within the bounds, with the least sum of costs.

    Args:
        costs: per partition and broker.
        present: today's leader of each partition, -1 for none; it stays where that costs nothing.
        bounds: least and most leaders of a counted broker.
        fixed: per broker, what it leads in any case.
        counted: the brokers that can lead.
    """
    least, most = np.maximum(bounds.start - fixed, 0)[counted], (bounds.stop - 1 - fixed)[counted]
    place = np.full(costs.shape[1] + 1, -1, dtype=np.int64)
    place[counted] = np.arange(len(counted))
    flow = _Flow(np.ascontiguousarray(costs[:, counted]), place[present], least, most)
    flow.run()
    return counted[flow.leader]


def _cheapest_leaders(costs: Costs, present: Numbers, most: Numbers) -> Numbers:
    """Return a leader of least cost for every partition: today's if it has capacity, else the one with the most."""
    leader = np.empty(len(costs), dtype=np.int64)
    cheapest = costs.min(axis=1)
    capacity = most.copy()
    for number, (row, now) in enumerate(zip(costs, present.tolist(), strict=True)):
        choice = now
        if now < 0 or row[now] > cheapest[number] or capacity[now] <= 0:
            brokers = np.flatnonzero(row == cheapest[number])
            choice = int(brokers[capacity[brokers].argmax()])
        leader[number] = choice
        capacity[choice] -= 1
    return leader


class _Flow:
    """The flow while it is improved; the exchange is the last node."""

    def __init__(self, costs: Costs, present: Numbers, least: Numbers, most: Numbers) -> None:
        self._costs, self._present, self._least, self._most = costs, present, least, most
        brokers = costs.shape[1]
        self._exchange = brokers
        self.leader = _cheapest_leaders(costs, present, most)
        self._loads = np.bincount(self.leader, minlength=brokers)
        self._arcs = np.full((brokers + 1, brokers + 1), _FAR, dtype=np.int32)
        self._price = np.zeros(brokers + 1, dtype=np.int32)
        for broker in range(brokers):
            self._renew(broker)

    def run(self) -> None:
        """Move partitions until all loads are within their bounds."""
        while self._surplus().any():
            distance = self._distances()
            nearest = int(distance[self._deficit() > 0].min())
            if nearest >= _FAR:
                raise AssertionError("the bounds of the leaders' loads cannot be met")
            self._price += np.minimum(distance, nearest).astype(np.int32)
            while self._take_shortest_paths():
                pass

    def _surplus(self) -> Numbers:
        """Return how much must leave each node."""
        return np.append(np.maximum(self._loads - self._most, 0), max(self._balance(), 0))

    def _deficit(self) -> Numbers:
        """Return how much must come to each node."""
        return np.append(np.maximum(self._least - self._loads, 0), max(-self._balance(), 0))

    def _balance(self) -> int:
        """Return the leaders missing at brokers with too few, less the excess at others: what the exchange gives."""
        return int(np.clip(self._loads, self._least, self._most).sum() - self._loads.sum())

    def _renew(self, broker: int) -> None:
        """Find the arcs of a broker again, from what it leads now."""
        led = np.flatnonzero(self.leader == broker)
        arcs = self._arcs[broker, :-1]
        arcs[:] = _FAR
        now = self._costs[led, broker]
        for cost in np.unique(now).tolist():
            least = self._costs[led[now == cost]].min(axis=0)
            np.minimum(arcs, np.where(least == NEVER, _FAR, least.astype(np.int32) - cost), out=arcs)
        load = self._loads[broker]
        self._arcs[broker, self._exchange] = 0 if load < self._most[broker] else _FAR
        self._arcs[self._exchange, broker] = 0 if load > self._least[broker] else _FAR

    def _distances(self) -> Numbers:
        """Return the length of the shortest path to each node from any with a surplus, at today's prices."""
        reduced = self._arcs + self._price[:, None] - self._price[None, :]
        distance = np.where(self._surplus() > 0, 0, _FAR)
        changed = np.flatnonzero(distance == 0)
        while changed.size:
            nearer = np.minimum(distance, (distance[changed, None] + reduced[changed]).min(axis=0))
            changed = np.flatnonzero(nearer < distance)
            distance = nearer
        return distance

    def _free(self, node: int) -> npt.NDArray[np.bool_]:
        """Return where an arc leads from a node that costs nothing at today's prices."""
        free: npt.NDArray[np.bool_] = self._arcs[node] + self._price[node] == self._price
        return free

    def _take_shortest_paths(self) -> bool:
        """Take free paths of the fewest arcs until none is left; return whether there was one."""
        level = self._levels()
        dead = level >= _FAR
        taken = False
        for source in np.flatnonzero(self._surplus()).tolist():
            while self._surplus()[source] and (path := self._path(source, level, dead)):
                self._move_along(path)
                taken = True
        return taken

    def _levels(self) -> Numbers:
        """Return for each node how many free arcs lie between it and the nearest that lacks something."""
        free = self._arcs + self._price[:, None] == self._price[None, :]
        level = np.where(self._deficit() > 0, 0, _FAR)
        reached = np.flatnonzero(level == 0)
        count = 0
        while reached.size:
            count += 1
            reached = np.flatnonzero(free[:, reached].any(axis=1) & (level == _FAR))
            level[reached] = count
        return level

    def _path(self, source: int, level: Numbers, dead: npt.NDArray[np.bool_]) -> list[int]:
        """Return a free path that descends level by level, or nothing; nodes that lead nowhere become dead."""
        path = [source]
        deficit = self._deficit()
        while path:
            node = path[-1]
            if deficit[node] and len(path) > 1:
                return path
            ahead = np.flatnonzero(self._free(node) & ~dead & (level == level[node] - 1))
            if ahead.size:
                path.append(int(ahead[deficit[ahead].argmax()]))
            else:
                dead[node] = True
                path.pop()
        return []

    def _move_along(self, path: list[int]) -> None:
        """Move as many partitions along a path as all of its arcs carry."""
        steps = list(pairwise(path))
        amount = int(min(self._surplus()[path[0]], self._deficit()[path[-1]]))
        moving = {}
        for giver, taker in steps:
            if taker == self._exchange:
                amount = min(amount, int(self._most[giver] - self._loads[giver]))
            elif giver == self._exchange:
                amount = min(amount, int(min(self._loads[taker], self._most[taker]) - self._least[taker]))
            else:
                moving[giver, taker] = self._cheapest(giver, taker)
                amount = min(amount, len(moving[giver, taker]))
        for (giver, taker), partitions in moving.items():
            self.leader[partitions[:amount]] = taker
            self._loads[giver] -= amount
            self._loads[taker] += amount
        for broker in path:
            if broker != self._exchange:
                self._renew(broker)

    def _cheapest(self, giver: int, taker: int) -> Numbers:
        """Return the partitions that may move at the arc's cost; first who goes home, last who leaves home."""
        led = np.flatnonzero(self.leader == giver)
        extra = self._costs[led, taker].astype(np.int32) - self._costs[led, giver]
        led = led[(extra == self._arcs[giver, taker]) & (self._costs[led, taker] != NEVER)]
        home = self._present[led]
        order = np.argsort((home == giver).astype(np.int8) - (home == taker), kind="stable")
        ordered: Numbers = led[order]
        return ordered
