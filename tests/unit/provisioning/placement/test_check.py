"""The checker finds whatever is planted into a good plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.provisioning.placement.check import Report, check_placement
from sluice.provisioning.placement.explanation import explain_infeasible
from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.planner import plan_placement
from sluice.provisioning.placement.topology import Broker, Topology
from tests.unit.provisioning.placement.brute_force import valid_sets
from tests.unit.provisioning.placement.cases import placements

TOPOLOGY = Topology(Broker(id_, {"fault": str(id_ % 3), "update": str(id_ // 3)}) for id_ in range(9))
GOOD = (Partition("t", 0, (0, 4, 8), 3), Partition("t", 1, (1, 5, 6), 3), Partition("t", 2, (2, 3, 7), 3))


def checked(*replicas: tuple[int, ...]) -> Report:
    after = [partition.on(planned) for partition, planned in zip(GOOD, replicas, strict=True)]
    return check_placement(TOPOLOGY, GOOD, after)


def test_a_good_plan_has_no_violation() -> None:
    assert check_placement(TOPOLOGY, GOOD, GOOD) == Report((), (), 0, 1, 0)


@pytest.mark.parametrize(
    ("planted", "rule", "found"),
    [
        ((0, 3, 8), "fault", "2 of 3 distinct values: 0, 2"),
        ((0, 1, 8), "update", "2 of 3 distinct values: 0, 2"),
        ((0, 4), "replicas", "2 of 3"),
        ((0, 4, 8, 2), "replicas", "4 of 3"),
        ((0, 4, 4), "replicas", "[0, 4, 4] names a broker twice"),
        ((0, 4, 9), "brokers", "[9] are not in the topology"),
    ],
)
def test_a_planted_fault_is_found(planted: tuple[int, ...], rule: str, found: str) -> None:
    report = checked(planted, (1, 5, 6), (2, 3, 7))
    assert (rule, found) in {(violation.rule, violation.found) for violation in report.violations}
    assert {violation.partition for violation in report.violations} == {0}


@given(placements(), st.data())
def test_a_replica_that_is_put_elsewhere_is_a_violation_if_no_such_set_is_valid(
    case: tuple[Topology, tuple[Partition, ...]], data: st.DataObject
) -> None:
    topology, before = case
    good = plan_placement(topology, before)
    number = data.draw(st.integers(0, len(good) - 1))
    replicas = list(good[number].replicas)
    broker = data.draw(st.sampled_from(topology.brokers)).id
    if replicas:
        replicas[data.draw(st.integers(0, len(replicas) - 1))] = broker
    after = [*good[:number], good[number].on(tuple(replicas)), *good[number + 1 :]]
    report = check_placement(topology, before, after)
    sets = valid_sets(topology, good[number].replication)
    sound = frozenset(replicas) in sets if sets else tuple(replicas) == good[number].replicas
    assert {(violation.topic, violation.partition) for violation in report.violations} == (
        set() if sound else {good[number].key}
    )
    assert report.moves == sum(
        len(set(new.replicas) - set(old.replicas))
        for old, new in zip(sorted(before, key=lambda partition: partition.key), after, strict=True)
    )


def test_a_partition_too_few_and_one_too_many_are_found() -> None:
    report = check_placement(TOPOLOGY, GOOD, [*GOOD[1:], Partition("u", 7, (0, 4, 8), 3)])
    assert [(v.topic, v.partition, v.rule) for v in report.violations] == [
        ("t", 0, "partitions"),
        ("u", 7, "partitions"),
    ]


def test_moves_are_new_replicas_and_no_reordering() -> None:
    assert checked((8, 0, 4), (6, 5, 1), (7, 3, 2)).moves == 0
    assert checked((0, 4, 8), (0, 5, 7), (2, 3, 7)).moves == 2


def test_skews_are_of_the_brokers_that_can_be_used() -> None:
    topology = Topology(
        [
            *(Broker(number, {"fault": str(number), "update": str(number)}) for number in range(3)),
            Broker(3, {"fault": "0", "update": "1"}),
        ]
    )
    before = [Partition("t", number, (0, 1, 2), 3) for number in range(3)]
    report = check_placement(topology, before, before)
    assert (report.leader_skew, report.replica_skew, report.violations) == (3, 0, ())


def infeasible() -> Topology:
    """Three values of each domain, and never three of both at once."""
    places = [("0", "0"), ("0", "1"), ("0", "2"), ("1", "0"), ("2", "0")]
    return Topology(
        Broker(number, {"fault": fault, "update": update, "zone": "a"}) for number, (fault, update) in enumerate(places)
    )


def test_an_infeasible_partition_is_named_and_must_stay() -> None:
    before = [Partition("t", 0, (0, 1, 2), 3)]
    kept = check_placement(infeasible(), before, before)
    assert (kept.violations, kept.infeasible, kept.leader_skew) == ((), tuple(before), 0)
    moved = check_placement(infeasible(), before, [before[0].on((0, 1, 3))])
    assert [violation.rule for violation in moved.violations] == ["kept"]


def test_the_explanation_names_the_domains_that_exclude_each_other_and_the_remedy() -> None:
    assert explain_infeasible(infeasible(), 3) == (
        "no 3 brokers lie on 3 values of fault and 3 values of update at once; "
        "one more broker in fault 1, update 1 would allow it as far as these domains go"
    )
    assert explain_infeasible(infeasible(), 6) == "6 replicas need as many brokers, and there are 5"
