"""The planner against an optimum that was found without it."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.provisioning.placement.check import check_placement, usable_brokers
from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.planner import plan_placement
from sluice.provisioning.placement.topology import Broker, Topology
from tests.unit.provisioning.placement.brute_force import optimum, valid_sets
from tests.unit.provisioning.placement.cases import placements, topologies

# Examples cost a millisecond or few, and a wrong flow shows in one of a hundred.
MANY = settings(max_examples=max(60, settings().max_examples))
MORE = settings(max_examples=max(30, settings().max_examples))


@MANY
@given(placements())
def test_a_plan_is_valid_even_and_moves_as_little_as_can_be(case: tuple[Topology, tuple[Partition, ...]]) -> None:
    topology, before = case
    best = optimum(topology, before)
    report = check_placement(topology, before, plan_placement(topology, before))
    assert report.violations == ()
    assert {partition.key for partition in report.infeasible} == best.infeasible
    if len(best.infeasible) < len(before):
        assert (report.leader_skew, report.moves) == (best.leader_skew, best.moves)


@MORE
@given(placements(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_makes_no_difference(
    case: tuple[Topology, tuple[Partition, ...]], chance: Random
) -> None:
    topology, before = case
    shuffled = list(before)
    chance.shuffle(shuffled)
    brokers = [Broker(broker.id, dict(reversed(broker.domains.items()))) for broker in topology.brokers]
    chance.shuffle(brokers)
    assert plan_placement(topology, before) == plan_placement(Topology(brokers), shuffled)


@MORE
@given(placements())
def test_a_plan_that_is_planned_again_stays(case: tuple[Topology, tuple[Partition, ...]]) -> None:
    topology, before = case
    after = plan_placement(topology, before)
    assert plan_placement(topology, after) == after


@given(topologies(), st.integers(1, 4))
def test_the_checker_finds_the_brokers_of_valid_sets(topology: Topology, replication: int) -> None:
    assert usable_brokers(topology, replication) == frozenset().union(*valid_sets(topology, replication))


def grid(faults: int, updates: int) -> Topology:
    places = [(fault, update) for fault in range(faults) for update in range(updates)]
    return Topology(
        Broker(number, {"fault": str(fault), "update": str(update)}) for number, (fault, update) in enumerate(places)
    )


def test_new_partitions_are_spread_evenly() -> None:
    topology = grid(3, 3)
    before = [Partition("t", number, (), 3) for number in range(90)]
    report = check_placement(topology, before, plan_placement(topology, before))
    assert (report.violations, report.moves, report.leader_skew) == ((), 270, 0)
    assert report.replica_skew <= 2


def test_an_even_valid_assignment_stays_as_it_is() -> None:
    topology = grid(3, 3)
    before = tuple(Partition("t", number, (number, (number + 4) % 9, (number + 8) % 9), 3) for number in (0, 3, 6))
    assert check_placement(topology, before, before).violations == ()
    assert plan_placement(topology, before) == before


def test_what_stays_keeps_its_order_behind_the_leader() -> None:
    topology = grid(1, 4)
    before = (Partition("t", 0, (3, 2, 1), 3), Partition("t", 1, (3, 2, 1), 3))
    first, second = plan_placement(topology, before)
    assert first.replicas == (3, 2, 1)
    assert second.replicas in {(2, 3, 1), (1, 3, 2)}


def test_many_partitions_of_few_brokers_are_led_by_all() -> None:
    topology = grid(4, 5)
    before = [Partition("t", number, (0, 6, 12), 3) for number in range(200)]
    report = check_placement(topology, before, plan_placement(topology, before))
    assert (report.violations, report.leader_skew) == ((), 0)
    # Ten partitions each keep one of the three as their leader. Six brokers share the fault domain of one and the
    # update domain of another, so that two must go where one of these leads; elsewhere one must.
    assert report.moves == 6 * 10 * 2 + 11 * 10


def test_without_partitions_there_is_nothing_to_plan() -> None:
    assert plan_placement(grid(2, 2), []) == ()


def test_bytes_are_balanced_where_that_costs_nothing_else() -> None:
    topology = Topology(Broker(number, {"rack": str(number % 2)}) for number in range(4))
    before = [Partition("t", number, (), 2, size=100 if number < 2 else 1) for number in range(4)]
    after = plan_placement(topology, before)
    stored = {broker.id: 0 for broker in topology.brokers}
    for partition in after:
        for broker in partition.replicas:
            stored[broker] += partition.size
    assert max(stored.values()) == 101
