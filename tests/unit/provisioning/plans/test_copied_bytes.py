"""How many bytes a move copies, as its plan says before anybody approves it."""

from __future__ import annotations

from sluice.provisioning.plans.changes import Reassignment
from sluice.provisioning.plans.declared import ActualCluster
from sluice.provisioning.plans.topic_plan import _copied_bytes

MOVE = Reassignment(before=((1, 2), (1, 2), (2, 3)), after=((1, 3), (3, 4), (3, 2)))
"""One new replica, two, and none."""


def test_each_new_replica_is_as_large_as_the_largest_of_its_partition() -> None:
    actual = ActualCluster({}, (), sizes={("t", 0): 5, ("t", 1): 7, ("t", 2): 11, ("other", 0): 100})
    assert _copied_bytes(actual, "t", MOVE) == 5 + 2 * 7


def test_a_partition_whose_size_is_not_known_counts_nothing() -> None:
    assert _copied_bytes(ActualCluster({}, (), sizes={("t", 1): 7}), "t", MOVE) == 2 * 7
    assert _copied_bytes(ActualCluster({}, ()), "t", MOVE) == 0
