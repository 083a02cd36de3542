"""Why no valid set of brokers exists, in words that lead to a remedy."""

from __future__ import annotations

from itertools import combinations, islice, product

from sluice.provisioning.placement.check import usable_brokers
from sluice.provisioning.placement.topology import Broker, Topology

_TRIALS = 1000
"""So many places for a further broker are tried before the sentence goes without one."""


def explain_infeasible(topology: Topology, replication: int) -> str:
    """Return why so many replicas cannot be spread as the rule demands: the fewest domains that exclude each other."""
    if replication > len(topology.brokers):
        return f"{replication} replicas need as many brokers, and there are {len(topology.brokers)}"
    domains = _conflict(topology, replication)
    required = topology.required(replication)
    demands = " and ".join(f"{required[name]} values of {name}" for name in domains)
    return f"no {replication} brokers lie on {demands} at once{_remedy(topology, replication, domains)}"


def _conflict(topology: Topology, replication: int) -> tuple[str, ...]:
    for count in range(1, len(topology.domains)):
        for names in combinations(topology.domains, count):
            if not usable_brokers(_restricted(topology, names), replication):
                return names
    return topology.domains


def _restricted(topology: Topology, names: tuple[str, ...]) -> Topology:
    return Topology(Broker(broker.id, {name: broker.domains[name] for name in names}) for broker in topology.brokers)


def _remedy(topology: Topology, replication: int, domains: tuple[str, ...]) -> str:
    """Return where one more broker would make it possible, if that is so."""
    fresh = max(broker.id for broker in topology.brokers) + 1
    restricted = _restricted(topology, domains)
    places = product(*(sorted(topology.values(name)) for name in domains))
    for values in islice(places, _TRIALS):
        further = Broker(fresh, dict(zip(domains, values, strict=True)))
        if usable_brokers(Topology([*restricted.brokers, further]), replication):
            where = ", ".join(f"{name} {value}" for name, value in further.domains.items())
            return f"; one more broker in {where} would allow it" + (
                "" if domains == topology.domains else " as far as these domains go"
            )
    return ""
