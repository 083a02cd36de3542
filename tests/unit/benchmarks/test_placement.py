"""A small sample of `make bench NAME=placement`, and the peer against its description."""

from __future__ import annotations

from random import Random

from benchmarks.placement.placement import _random_topologies, gapped
from benchmarks.placement.placement_hdinsight import _Rebalancing, hdinsight_plan
from benchmarks.placement.placement_solver import compare
from benchmarks.placement.placement_trial import cluster
from sluice.provisioning.placement.check import check_placement
from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.topology import Broker, Topology


def grid(faults: int, updates: int) -> Topology:
    places = [(str(fault), str(update)) for fault in range(faults) for update in range(updates)]
    return Topology(Broker(number, {"fault": fault, "update": update}) for number, (fault, update) in enumerate(places))


def test_the_peer_walks_the_diagonals_and_shifts_where_they_would_repeat() -> None:
    assert [fault + update for fault, update in _Rebalancing(grid(3, 3), Random(1))._alternated] == (
        ["00", "11", "22", "01", "12", "20", "02", "10", "21"]
    )
    listed = _Rebalancing(grid(2, 3), Random(1))._alternated
    assert [fault + update for fault, update in listed] == ["00", "11", "02", "10", "01", "12"]


def test_the_peer_is_right_on_a_full_grid_if_it_begins_where_a_sweep_does() -> None:
    topology = grid(3, 3)
    before = [Partition("t", number, (0, 1, 2), 3) for number in range(18)]
    begins_with_a_sweep, begins_within_one = 3, 5
    assert check_placement(topology, before, hdinsight_plan(topology, before, begins_with_a_sweep)).violations == ()
    assert check_placement(topology, before, hdinsight_plan(topology, before, begins_within_one)).violations != ()


def test_a_topology_is_the_same_whenever_it_is_drawn() -> None:
    first, second = gapped(6, 3), gapped(6, 3)
    assert (first[0].brokers, first[1]) == (second[0].brokers, second[1])


def test_our_plans_are_optimal_and_the_peers_are_not() -> None:
    figures, _ = _random_topologies(2)
    assert (figures["violations"], figures["moves_over_optimum"], figures["skew_over_optimum"]) == (0, 0, 0)
    assert figures["hdinsight_violations"] > 0


def test_the_solver_agrees() -> None:
    found = compare(*cluster(12, 48), 20)
    assert found["moves"] == found["solver_moves"]
