"""Placement over failure domains: against brute force, a solver and HDInsight's published algorithm, and at size.

300 random topologies each of 4 to 12 brokers with gaps in the grid of fault and update domains, 48 partitions, RF 3.
All sets of brokers are enumerated and a solver finds the optimum, without the planner's code; `moves_over_optimum` is
the sum of what we move beyond it. `hdinsight_violations` counts the partitions that its diagonals make invalid although
a valid set exists. The two large clusters are planned in processes of their own; `peak_gib` is the larger one's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.placement.placement_hdinsight import hdinsight_plan
from benchmarks.placement.placement_solver import compare
from benchmarks.placement.placement_trial import cluster
from sluice.provisioning.placement.check import check_placement
from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.planner import plan_placement
from sluice.provisioning.placement.topology import Broker, Topology
from sluice.settings import settings
from tests.unit.provisioning.placement.brute_force import optimum

_FAULTS, _UPDATES, _PARTITIONS, _REPLICATION = 3, 5, 48, 3
_BROKERS = (4, 5, 6, 8, 12)


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        topologies: per number of brokers.
        clusters: brokers and partitions of the large ones, under their names.
        solver: the same of the comparisons with a solver.
        limit: seconds that the solver gets.
    """

    topologies: int
    clusters: dict[str, tuple[int, int]]
    solver: tuple[tuple[int, int], ...]
    limit: float = 60.0


_SIZES = {
    "full": Size(
        300,
        {"seconds_100_brokers": (100, 10_000), "seconds_1000_brokers": (1_000, 100_000)},
        ((12, 48), (50, 2_000), (100, 10_000)),
    ),
    "small": Size(5, {"seconds_100_brokers": (100, 1_000)}, ((12, 48),)),
}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return violations, moves beyond the optimum and leader skew on small topologies, and seconds on large ones."""
    chosen = _SIZES[size]
    figures, clusters = _random_topologies(chosen.topologies)
    trials = {name: _trial(*scale) for name, scale in chosen.clusters.items()}
    figures |= {name: trial["seconds"] for name, trial in trials.items()}
    figures["peak_gib"] = max(trial["peak_gib"] for trial in trials.values())
    solver = {f"{brokers}/{count}": compare(*cluster(brokers, count), chosen.limit) for brokers, count in chosen.solver}
    return figures, {"size": size, **clusters, "trials": trials, "solver": solver}


def _random_topologies(count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures over all topologies for which a valid set exists, and notes per number of brokers."""
    total: Counter[str] = Counter()
    feasible: Counter[int] = Counter()
    broken: Counter[int] = Counter()
    skews = [0]
    for brokers in _BROKERS:
        for seed in range(count):
            topology, before = gapped(brokers, seed)
            best = optimum(topology, before)
            after = plan_placement(topology, before)
            report = check_placement(topology, before, after)
            assert {partition.key for partition in report.infeasible} == best.infeasible
            if best.infeasible:
                continue
            theirs = check_placement(topology, before, hdinsight_plan(topology, before, seed))
            violated = len({(found.topic, found.partition) for found in theirs.violations})
            feasible[brokers] += 1
            broken[brokers] += violated > 0
            skews.append(report.leader_skew)
            total["violations"] += len(report.violations)
            total["moves_over_optimum"] += report.moves - best.moves
            total["skew_over_optimum"] += report.leader_skew - best.leader_skew
            total["hdinsight_violations"] += violated
            total["hdinsight_moves"] += theirs.moves
            total["moves"] += report.moves
        print(f"{brokers} brokers: {feasible[brokers]} of {count} feasible", file=sys.stderr, flush=True)
    figures = {
        name: total[name] for name in ("violations", "moves_over_optimum", "skew_over_optimum", "hdinsight_violations")
    }
    figures["leader_skew_max"] = max(skews)
    notes = {
        "feasible": feasible,
        "hdinsight_clusters": {brokers: round(broken[brokers] / max(1, feasible[brokers]), 2) for brokers in _BROKERS},
        "moves": total["moves"],
        "hdinsight_moves": total["hdinsight_moves"],
    }
    return figures, notes


def gapped(brokers: int, seed: int) -> tuple[Topology, list[Partition]]:
    """Return brokers on places by chance in a grid of fault and update domains, and partitions on brokers by chance."""
    chance = Random(brokers * 1_000_003 + seed)  # noqa: S311  a simulation
    places = [(str(fault), str(update)) for fault in range(_FAULTS) for update in range(_UPDATES)]
    topology = Topology(
        Broker(number, {"fault": fault, "update": update})
        for number, (fault, update) in enumerate(chance.choices(places, k=brokers), start=1)
    )
    ids = [broker.id for broker in topology.brokers]
    return topology, [
        Partition("topic", number, tuple(chance.sample(ids, _REPLICATION)), _REPLICATION, chance.randrange(1 << 30))
        for number in range(_PARTITIONS)
    ]


def _trial(brokers: int, partitions: int) -> dict[str, Any]:
    """Plan a large cluster in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.placement.placement_trial", str(brokers), str(partitions)]
    done = subprocess.run(command, cwd=settings().home, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{brokers} brokers, {partitions} partitions: {found}", file=sys.stderr, flush=True)
    return found
