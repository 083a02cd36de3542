"""How a plan is applied: growths on record, retentions in steps."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.errors import RefusedError
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.execution import ApplyOptions
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.declared import Declared
from sluice.provisioning.replicas.moving import MoveOptions
from sluice.specs.model.topic_shape import TopicShape
from sluice.topics.administration import TopicCreation
from tests.twins.ageing_kafka import AgeingKafka
from tests.twins.clock import START, ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.order_breaks import InMemoryOrderBreaks


def shape(**values: object) -> TopicShape:
    return TopicShape.model_validate({"partitions": 2, "replication": 1} | values)


def approve(wanted: Declared, kafka: InMemoryKafkaAdministration, options: ApplyOptions) -> None:
    todo = current_plan(wanted, kafka)
    apply(wanted, kafka, approval=Approval(todo.id, frozenset(todo.losing)), options=options)


class TestGrowth:
    @pytest.fixture
    def kafka(self) -> InMemoryKafkaAdministration:
        kafka = InMemoryKafkaAdministration()
        kafka.create([TopicCreation("flights", 2, 1, {"retention.ms": "-1"})])
        kafka.append("flights", 0, [START] * 3)
        return kafka

    def test_where_the_order_of_keys_breaks_is_told_and_kept(self, kafka: InMemoryKafkaAdministration) -> None:
        breaks, told = InMemoryOrderBreaks(), list[str]()
        options = ApplyOptions(MoveOptions(clock=ManualClock()), breaks, notify=told.append)
        approve(Declared({"flights": shape(partitions=4)}), kafka, options)
        (found,) = breaks.of("flights")
        assert (found.before, found.after, dict(found.offsets)) == (2, 4, {0: 3, 1: 0})
        assert told == [str(found)]

    def test_of_a_topic_without_keys_there_is_nothing_to_tell(self, kafka: InMemoryKafkaAdministration) -> None:
        breaks = InMemoryOrderBreaks()
        approve(Declared({"flights": shape(partitions=4, keyed=False)}), kafka, ApplyOptions(breaks=breaks))
        assert kafka.topics["flights"].partitions == 4
        assert breaks.of("flights") == ()

    def test_one_that_is_to_be_drained_waits_for_its_streams(self, kafka: InMemoryKafkaAdministration) -> None:
        breaks, read = InMemoryOrderBreaks(), {"flights/0": 2, "flights/1": 0}
        options = ApplyOptions(
            MoveOptions(clock=ManualClock()), breaks, lambda _topic: {"raw_flights": read}, drain_seconds=300
        )
        wanted = Declared({"flights": shape(partitions=4)})
        with pytest.raises(RefusedError, match="raw_flights has yet to read 1 record of partition 0"):
            approve(wanted, kafka, options)
        assert kafka.topics["flights"].partitions == 2
        read["flights/0"] = 3
        approve(wanted, kafka, options)
        assert breaks.of("flights")[-1].drained


def test_a_shorter_retention_is_reached_in_steps_that_are_told() -> None:
    clock = ManualClock()
    kafka, told = AgeingKafka(clock), list[str]()
    kafka.create([TopicCreation("flights", 1, 1, {"retention.ms": "-1"})])
    kafka.append("flights", 0, [START - timedelta(days=day) for day in range(64, 0, -1)])
    wanted = Declared({"flights": shape(partitions=1, retention="1 days")})
    approve(wanted, kafka, ApplyOptions(MoveOptions(clock=clock), notify=told.append))
    assert kafka.topics["flights"].configs["retention.ms"] == "86400000"
    assert not current_plan(wanted, kafka)
    assert len(told) > 3, told
    assert all(said.startswith("flights: retention.ms=") for said in told)


@pytest.mark.parametrize("policy", ["compact", "delete"])
def test_a_retention_by_which_nothing_is_deleted_is_lowered_at_once(policy: str) -> None:
    clock, told = ManualClock(), list[str]()
    kafka = AgeingKafka(clock, check_seconds=10**9)
    ages = [START - timedelta(days=age) for age in range(40, 0, -1)]
    kafka.fill("flights", [ages, []], **{"cleanup.policy": policy})
    wanted = Declared({"flights": shape(retention="1 day")})
    approve(wanted, kafka, ApplyOptions(MoveOptions(clock=clock), notify=told.append))
    assert kafka.topics["flights"].configs["retention.ms"] == "86400000"
    waited = clock.monotonic() > 0
    assert (waited, bool(told)) == ((False, False) if policy == "compact" else (True, True))
