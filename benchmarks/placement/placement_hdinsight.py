"""The published algorithm of HDInsight's rebalance tool, written from its description, as a peer.

A rack is a pair of fault domain and update domain. The racks are listed along the diagonals of their matrix, those
without a broker are left out, and a partition that is not balanced goes to as many consecutive racks of that list as it
has replicas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import gcd
from random import Random

from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.topology import Topology

Rack = tuple[str, str]


def hdinsight_plan(topology: Topology, partitions: Sequence[Partition], seed: int) -> tuple[Partition, ...]:
    """Return where the algorithm puts the partitions, the smallest first.

    Args:
        topology: with the domains `fault` and `update`.
        partitions: as they are.
        seed: of the place in the list at which it begins.
    """
    return _Rebalancing(topology, Random(seed)).planned(partitions)  # noqa: S311  a simulation


class _Rebalancing:
    def __init__(self, topology: Topology, chance: Random) -> None:
        self._racks: dict[Rack, list[int]] = {}
        for broker in topology.brokers:
            self._racks.setdefault((broker.domains["fault"], broker.domains["update"]), []).append(broker.id)
        self._faults, self._updates = (sorted(topology.values(name)) for name in ("fault", "update"))
        self._of_broker = {broker: rack for rack, brokers in self._racks.items() for broker in brokers}
        self._alternated = [rack for rack in self._diagonals() if rack in self._racks]
        self._start = chance.randrange(len(self._alternated))
        self._leaders: Counter[int] = Counter()
        self._followers: Counter[int] = Counter()

    def _diagonals(self) -> list[Rack]:
        """Return the places of the matrix in diagonal slices; a sweep that would repeat is shifted by one."""
        faults, updates = len(self._faults), len(self._updates)
        sweep = faults * updates // gcd(faults, updates)
        return [
            (self._faults[step % faults], self._updates[(step + step // sweep) % updates])
            for step in range(faults * updates)
        ]

    def planned(self, partitions: Sequence[Partition]) -> tuple[Partition, ...]:
        """Keep what is balanced, and place the rest."""
        placed = {}
        for partition in sorted(partitions, key=lambda partition: (partition.size, partition.key)):
            replicas = partition.replicas if self._balanced(partition) else self._placed(partition.replication)
            self._leaders[replicas[0]] += 1
            self._followers.update(replicas[1:])
            placed[partition.key] = partition.on(replicas)
        return tuple(placed[key] for key in sorted(placed))

    def _balanced(self, partition: Partition) -> bool:
        racks = [self._of_broker[broker] for broker in partition.replicas]
        faults, updates = ({rack[axis] for rack in racks} for axis in (0, 1))
        factor = partition.replication
        return len(faults) == min(len(self._faults), factor) and len(updates) == min(len(self._updates), factor)

    def _placed(self, factor: int) -> tuple[int, ...]:
        """Take the next racks of the list; the one with the fewest leaders for its brokers leads."""
        count = len(self._alternated)
        racks = [self._alternated[(self._start + step) % count] for step in range(factor)]
        self._start = (self._start + min(len(self._updates), factor)) % count
        leading = min(racks, key=self._leaders_per_broker)
        replicas = [min(self._racks[leading], key=lambda broker: (self._leaders[broker], broker))]
        racks.remove(leading)
        for rack in racks:
            free = [broker for broker in self._racks[rack] if broker not in replicas]
            replicas += [min(free, key=lambda broker: (self._followers[broker], broker))] if free else []
        return tuple(replicas)

    def _leaders_per_broker(self, rack: Rack) -> float:
        brokers = self._racks[rack]
        return sum(self._leaders[broker] for broker in brokers) / len(brokers)
