"""Small placements with gaps, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.topology import Broker, Topology

NAMES = ("fault", "power", "rack", "update")


@st.composite
def topologies(draw: st.DrawFn, *, most: int = 7) -> Topology:
    """Draw brokers anywhere in a grid of one to four domains: most places of it are empty."""
    domains = NAMES[: draw(st.integers(1, 4))]
    widths = {name: draw(st.integers(1, 4)) for name in domains}
    ids = draw(st.lists(st.integers(0, 30), min_size=1, max_size=most, unique=True))
    return Topology(
        Broker(identity, {name: str(draw(st.integers(0, widths[name] - 1))) for name in domains}) for identity in ids
    )


@st.composite
def placements(draw: st.DrawFn, *, most: int = 14) -> tuple[Topology, tuple[Partition, ...]]:
    """Draw a topology and partitions on it: valid or not, uneven, new, of one or several replication factors."""
    topology = draw(topologies())
    ids = [broker.id for broker in topology.brokers]
    factors = draw(st.lists(st.integers(1, min(4, len(ids))), min_size=1, max_size=3))
    favourites = draw(st.lists(st.sampled_from(ids), min_size=1, max_size=4, unique=True))
    partitions = []
    for number in range(draw(st.integers(1, most))):
        factor = draw(st.sampled_from(factors))
        replicas = draw(
            st.permutations(ids).map(lambda order, factor=factor: tuple(order[:factor]))
            | st.just(tuple(favourites[:factor]))
        )
        if draw(st.integers(0, 5)) == 0:
            replicas = replicas[: draw(st.integers(0, len(replicas)))]
        size = draw(st.integers(0, 3))
        partitions.append(Partition(f"t{number % 2}", number, replicas, factor, size))
    return topology, tuple(partitions)
