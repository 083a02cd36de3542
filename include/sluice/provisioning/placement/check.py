"""The proof of a plan: what it violates, what it costs, how even it is.

It shares nothing with the planner but the records of brokers and partitions, works with sets and counts, and searches
by itself for what is possible at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.topology import Broker, Topology

Values = tuple[str, ...]
"""A broker's value in each domain, in the order of the domains."""


@dataclass(frozen=True, order=True)
class Violation:
    """One way in which a partition's replicas break the rule.

    Attributes:
        rule: a domain, or `replicas`, `brokers`, `partitions`, `kept`.
        found: what there is, in words.
    """

    topic: str
    partition: int
    rule: str
    found: str

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}: {self.rule}: {self.found}"


@dataclass(frozen=True)
class Report:
    """The result of a check: violations, moves and balance.

    Attributes:
        violations: of partitions that could be valid, or that no longer are what they were.
        infeasible: partitions for which no valid set of brokers exists.
        moves: new replicas over all partitions.
        leader_skew: most minus least leaders, over the brokers that occur in some valid set.
        replica_skew: the same of replicas.
    """

    violations: tuple[Violation, ...]
    infeasible: tuple[Partition, ...]
    moves: int
    leader_skew: int
    replica_skew: int


def check_placement(topology: Topology, before: Iterable[Partition], after: Iterable[Partition]) -> Report:
    """Compare a plan with what it began from, and with the rule."""
    wanted = {partition.key: partition for partition in before}
    planned = {partition.key: partition for partition in after}
    factors = sorted({partition.replication for partition in wanted.values()})
    usable = {factor: usable_brokers(topology, factor) for factor in factors}
    required = {factor: topology.required(factor) if usable[factor] else None for factor in factors}
    violations: list[Violation] = [
        Violation(*key, "partitions", "is in one of plan and present, and not in both")
        for key in wanted.keys() ^ planned.keys()
    ]
    for key in wanted.keys() & planned.keys():
        rule = required[wanted[key].replication]
        violations += _violations(topology, wanted[key], planned[key].replicas, rule)
    counted = sorted(frozenset().union(*usable.values()))
    return Report(
        violations=tuple(sorted(violations)),
        infeasible=tuple(wanted[key] for key in sorted(wanted) if not usable[wanted[key].replication]),
        moves=sum(
            len(set(planned[key].replicas) - set(wanted[key].replicas)) for key in wanted.keys() & planned.keys()
        ),
        leader_skew=_skew(Counter(p.replicas[0] for p in planned.values() if p.replicas), counted),
        replica_skew=_skew(Counter(broker for p in planned.values() for broker in p.replicas), counted),
    )


def _violations(
    topology: Topology, wanted: Partition, replicas: tuple[int, ...], required: Mapping[str, int] | None
) -> Iterator[Violation]:
    """Yield what is wrong with a partition; without a rule, none can hold and it must stay."""
    key = wanted.key
    if required is None:
        if replicas != wanted.replicas:
            yield Violation(
                *key, "kept", f"{list(replicas)}, although no valid set exists; it was {list(wanted.replicas)}"
            )
        return
    if len(replicas) != wanted.replication:
        yield Violation(*key, "replicas", f"{len(replicas)} of {wanted.replication}")
    if len(set(replicas)) < len(replicas):
        yield Violation(*key, "replicas", f"{list(replicas)} names a broker twice")
    if unknown := sorted(set(replicas) - topology.by_id.keys()):
        yield Violation(*key, "brokers", f"{unknown} are not in the topology")
        return
    for domain, count in required.items():
        values = {topology.by_id[broker].domains[domain] for broker in replicas}
        if len(values) < count:
            yield Violation(*key, domain, f"{len(values)} of {count} distinct values: {', '.join(sorted(values))}")


def _skew(loads: Mapping[int, int], counted: Sequence[int]) -> int:
    counts = [loads.get(broker, 0) for broker in counted]
    return max(counts) - min(counts) if counts else 0


def usable_brokers(topology: Topology, replication: int) -> frozenset[int]:
    """Return the ids of the brokers that occur in some valid set of so many; empty if there is no valid set."""
    search = _Search(topology, replication)
    alike: dict[Values, list[Broker]] = {}
    for broker in topology.brokers:
        alike.setdefault(tuple(broker.domains[name] for name in topology.domains), []).append(broker)
    candidates = list(alike)
    for values in list(alike):
        if not search.valid_set_with(values, candidates, alike):
            candidates.remove(values)
    return frozenset(broker.id for values in candidates for broker in alike[values])


class _Search:
    """Searches for a valid set, and prunes a branch when some domain cannot be satisfied any more."""

    def __init__(self, topology: Topology, replication: int) -> None:
        self._replication = replication
        required = topology.required(replication)
        self._required = [required[name] for name in topology.domains]

    def valid_set_with(self, first: Values, candidates: list[Values], alike: Mapping[Values, Sequence[Broker]]) -> bool:
        """Return whether a broker with these values can be part of a valid set of candidates."""
        capacity = {values: len(alike[values]) for values in candidates}
        capacity[first] -= 1
        return self._from([first], candidates, capacity)

    def _from(self, chosen: list[Values], candidates: list[Values], capacity: dict[Values, int]) -> bool:
        """Extend by candidates in their order, so that no set is tried twice."""
        left = self._replication - len(chosen)
        for domain, required in enumerate(self._required):
            seen = {values[domain] for values in chosen}
            if required - len(seen) > left:
                return False
            if required - len(seen) == left:  # every further broker needs a new value
                candidates = [values for values in candidates if values[domain] not in seen]
        if left <= 0:
            return left == 0
        for position, values in enumerate(candidates):
            if capacity[values]:
                capacity[values] -= 1
                complete = self._from([*chosen, values], candidates[position:], capacity)
                capacity[values] += 1
                if complete:
                    return True
        return False
