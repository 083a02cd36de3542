"""Applying a plan of topics: nothing is left to do, whatever was cut off or answers late."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.errors import CorruptionError, RefusedError
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.execution import ApplyOptions
from sluice.provisioning.plans.declared import Declared
from sluice.provisioning.replicas.moving import MoveOptions
from sluice.provisioning.spreading import SPREADING_SECONDS
from sluice.specs.model.model import TopicSpec
from sluice.topics.administration import TopicCreation, TopicState
from sluice.topics.replica_administration import PartitionKey, Throttle
from tests.twins.clock import ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.unit.provisioning.plans.topic_plans import approved, planned, spec, specs


def test_a_topic_with_the_brokers_retention_is_created_and_left_without_one() -> None:
    cluster = InMemoryKafkaAdministration()
    declared = Declared({"flights": spec(retention="default")})
    apply(declared, cluster)
    assert cluster.topics["flights"].configs == {}
    assert not current_plan(declared, cluster)


@settings(max_examples=40)
@given(specs)
def test_after_apply_nothing_is_left_to_do(declared: dict[str, TopicSpec]) -> None:
    cluster = InMemoryKafkaAdministration(brokers=3)
    done, there = apply(Declared(declared, 2), cluster)
    assert len(done.changes) == len(declared)
    assert not planned(declared, there, 2)
    again, still = apply(Declared(declared, 2), cluster)
    assert not again
    assert still == there


@settings(max_examples=100)
@given(specs, specs)
def test_whoever_approves_gets_what_is_declared_unless_something_is_refused(
    before: dict[str, TopicSpec], after: dict[str, TopicSpec]
) -> None:
    cluster = InMemoryKafkaAdministration(brokers=3)
    apply(Declared(before, 2), cluster)
    was = dict(cluster.topics)
    if planned(after, cluster.topics, 2).refused:
        with pytest.raises(RefusedError, match="no plan changes"):
            approved(after, cluster)
        assert cluster.topics == was
        return
    approved(after, cluster)
    assert not planned(after, cluster.topics, 2)
    assert all(was[name].topic_id == cluster.topics[name].topic_id for name in was), "none was deleted and made again"
    for name in was.keys() - after.keys():
        assert cluster.topics[name] == was[name], "it is in no spec"


class CutError(Exception):
    """The process was killed."""


class Dying(InMemoryKafkaAdministration):
    """Dies before one of its changes, counted from 0."""

    def __init__(self, brokers: int, left: int) -> None:
        super().__init__(brokers)
        self.left = left

    def _step(self) -> None:
        if not self.left:
            raise CutError
        self.left -= 1

    def create(self, creations: object) -> None:
        for creation in creations:  # type: ignore[attr-defined]
            self._step()
            super().create([creation])

    def grow(self, topic: str, partitions: int, assignment: Sequence[tuple[int, ...]] = ()) -> None:
        self._step()
        super().grow(topic, partitions, assignment)

    def reassign(self, targets: Mapping[PartitionKey, tuple[int, ...] | None]) -> None:
        for key, target in targets.items():
            self._step()
            super().reassign({key: target})

    def throttle(self, throttle: Throttle) -> None:
        self._step()
        super().throttle(throttle)

    def unthrottle(self, topics: Collection[str]) -> None:
        self._step()
        super().unthrottle(topics)

    def set_configs(self, topic: str, configs: object) -> None:
        self._step()
        super().set_configs(topic, configs)  # type: ignore[arg-type]


@example({"a": spec("a", 1, replication=1)}, {"a": spec("a", 1)}, 2)
@settings(max_examples=100)
@given(specs, specs, st.integers(0, 12))
def test_what_was_cut_off_anywhere_is_finished_by_the_next_apply(
    before: dict[str, TopicSpec], after: dict[str, TopicSpec], steps: int
) -> None:
    cluster = Dying(3, left=10**6)
    apply(Declared(before, 2), cluster)
    todo = planned(after, cluster.topics, 2)
    if todo.refused:
        return
    cluster.left = steps
    try:
        approved(after, cluster)
    except CutError:
        cluster.left = 10**6
        left = planned(after, cluster.topics, 2)
        was_to_do = {(item.subject, item.value) for item in todo.changes}
        # A process that is killed while replicas move cannot lift their throttle.
        stale_throttles = {(topic, "replication.throttled.replicas") for topic, _ in was_to_do}
        assert {(item.subject, item.value) for item in left.changes} <= was_to_do | stale_throttles
        approved(after, cluster)
    assert not planned(after, cluster.topics, 2)


def test_what_is_refused_is_told_with_all_values_and_nothing_is_created() -> None:
    cluster = InMemoryKafkaAdministration(brokers=2)
    cluster.create([TopicCreation("flights", 5, 1, {"retention.ms": "-1"})])
    with pytest.raises(RefusedError, match=r"partitions is 5, declared 4 .*; new: replication is absent, declared 3"):
        apply(Declared({"flights": spec(), "new": spec("new", replication=3)}, 1), cluster)
    assert set(cluster.topics) == {"flights"}


def test_a_topic_that_is_not_there_after_its_creation_is_noticed() -> None:
    class Forgetful(InMemoryKafkaAdministration):
        def create(self, creations: object) -> None:
            pass

    clock = ManualClock()
    with pytest.raises(CorruptionError, match="still differs: flights: create"):
        apply(Declared({"flights": spec()}, 1), Forgetful(), options=ApplyOptions(MoveOptions(clock=clock)))
    assert clock.monotonic() >= SPREADING_SECONDS


def test_a_broker_that_hears_of_a_change_a_moment_later_is_waited_for() -> None:
    class Slow(InMemoryKafkaAdministration):
        polls = 0

        def describe(self, names: Iterable[str]) -> Mapping[str, TopicState]:
            found = super().describe(names)
            self.polls += bool(found)
            return found if self.polls > 3 else {n: replace(s, configs={}) for n, s in found.items()}

    cluster = Slow()
    wanted = Declared({"flights": spec(configs={"cleanup.policy": "compact"})}, 1)
    apply(wanted, cluster, options=ApplyOptions(MoveOptions(clock=ManualClock())))
    assert cluster.polls == 4
