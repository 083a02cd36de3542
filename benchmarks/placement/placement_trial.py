"""One placement in a process of its own, so that its memory is its own.

Usage: python -m benchmarks.placement.placement_trial <brokers> <partitions>.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from random import Random

from sluice.provisioning.placement.check import check_placement
from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.planner import plan_placement
from sluice.provisioning.placement.topology import Broker, Topology

_KIB_PER_GIB = 1 << 20


def cluster(brokers: int, partitions: int, seed: int = 7) -> tuple[Topology, list[Partition]]:
    """Return a cluster after growth: gaps in the grid, a tenth of the brokers new and empty, replicas by chance."""
    chance = Random(seed)  # noqa: S311  a simulation
    faults, updates = (5, 20) if brokers > 100 else (3, 10)  # noqa: PLR2004
    places = [(str(fault), str(update)) for fault in range(faults) for update in range(updates)]
    used = chance.sample(places, len(places) * 4 // 5)
    topology = Topology(
        Broker(number, dict(zip(("fault", "update"), chance.choice(used), strict=True))) for number in range(brokers)
    )
    old = range(brokers * 9 // 10)
    return topology, [
        Partition(f"topic{number % 50}", number // 50, tuple(chance.sample(old, 3)), 3, chance.randrange(1 << 30))
        for number in range(partitions)
    ]


def _peak_kib() -> int:
    """Return the most memory that this program had; `getrusage` would include what its parent had before."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1])


def main(brokers: int, partitions: int) -> None:
    """Plan, check, and print what it took."""
    topology, before = cluster(brokers, partitions)
    begin = time.perf_counter()
    after = plan_placement(topology, before)
    planned = time.perf_counter() - begin
    peak = _peak_kib() / _KIB_PER_GIB
    begin = time.perf_counter()
    report = check_placement(topology, before, after)
    print(
        json.dumps(
            {
                "seconds": round(planned, 2),
                "check_seconds": round(time.perf_counter() - begin, 2),
                "peak_gib": round(peak, 3),
                "violations": len(report.violations),
                "infeasible": len(report.infeasible),
                "moves": report.moves,
                "leader_skew": report.leader_skew,
                "replica_skew": report.replica_skew,
            }
        )
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
