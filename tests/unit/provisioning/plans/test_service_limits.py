"""What a service does not do is in the plan, with what to do instead, and nobody tries it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.changes import Unable
from sluice.provisioning.plans.declared import Declared
from sluice.provisioning.plans.plan import Plan, as_dict
from sluice.specs.deployments.services import APACHE, CONFLUENT_CLOUD, EVENT_HUBS, SERVICES, KafkaService
from sluice.specs.model.model import TopicSpec
from sluice.topics.administration import TopicCreation, TopicState
from sluice.topics.identity import identity
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.unit.provisioning.plans.topic_plans import spec, specs


class ServiceTwin(InMemoryKafkaAdministration):
    """A cluster that fails on everything that its service does not offer, as one does that lacks the request."""

    def __init__(self, service: KafkaService, brokers: int = 3) -> None:
        super().__init__(brokers, ids=service is not EVENT_HUBS)
        self.service = service

    def create(self, creations: Sequence[TopicCreation]) -> None:
        if creations and self.service.topics is not None:
            self._unsupported("CreateTopics")
        for creation in creations:
            assert all(map(self.service.sets, creation.configs))
            assert self.service.replication in (None, creation.replication)
            assert not (creation.assignment and self.service.placement)
        super().create(creations)

    def grow(self, topic: str, partitions: int, assignment: Sequence[tuple[int, ...]] = ()) -> None:
        if self.service.topics is not None or (assignment and self.service.placement):
            self._unsupported("CreatePartitions")
        super().grow(topic, partitions, assignment)

    def set_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        if not all(map(self.service.sets, configs)):
            self._unsupported("IncrementalAlterConfigs")
        super().set_configs(topic, configs)

    def delete(self, topics: Collection[str]) -> None:
        if topics and self.service.topics is not None:
            self._unsupported("DeleteTopics")
        super().delete(topics)

    def moving(self) -> Any:  # noqa: ANN401 - as the twin's
        self._refuse_placement("ListPartitionReassignments")
        return super().moving()

    def sizes(self, topics: Collection[str]) -> Any:  # noqa: ANN401 - as the twin's
        self._refuse_placement("DescribeLogDirs")
        return super().sizes(topics)

    def reassign(self, targets: Any) -> None:  # noqa: ANN401 - as the twin's
        self._refuse_placement("AlterPartitionReassignments")
        super().reassign(targets)

    def elect(self, partitions: Collection[Any]) -> None:
        if partitions:
            self._refuse_placement("ElectLeaders")
        super().elect(partitions)

    def _refuse_placement(self, request: str) -> None:
        if self.service.placement is not None:
            self._unsupported(request)

    def _unsupported(self, request: str) -> NoReturn:
        raise AssertionError(f"{request} was sent to {self.service.title}")


def planned(service: KafkaService, cluster: InMemoryKafkaAdministration, **topics: TopicSpec) -> Plan:
    return current_plan(Declared(topics, service.replication or 1, service=service), cluster)


def said(plan: Plan) -> list[str]:
    return [f"{each}: {each.why}; {each.fix}" for each in plan.unable]


def test_apache_kafka_does_all_of_it() -> None:
    assert planned(APACHE, InMemoryKafkaAdministration(), flights=spec()).unable == ()
    assert SERVICES["apache"] is APACHE


def test_event_hubs_creates_no_topic_and_the_plan_says_where_that_is_done() -> None:
    plan = planned(EVENT_HUBS, ServiceTwin(EVENT_HUBS), flights=spec())
    assert not plan
    (line,) = said(plan)
    assert line.startswith(
        "flights: topic is absent, declared 4 partitions, replication 1, retention.ms=-1: Event Hubs does not manage"
    )
    assert "`az eventhubs eventhub`" in line


def test_event_hubs_sets_no_configuration_grows_nothing_and_deletes_nothing() -> None:
    cluster = ServiceTwin(EVENT_HUBS)
    state = TopicState(
        "flights", identity("flights", None), ((1,), (1,)), {"retention.ms": "1000"}, (1, 1), ((1,), (1,))
    )
    cluster.topics = {"flights": state, "old": replace(state, name="old")}
    declared = Declared({"flights": spec(protected=True)}, absent=frozenset({"old"}), service=EVENT_HUBS)
    done, _ = apply(declared, cluster)
    assert not done
    assert [(each.subject, each.value, each.current, each.wanted) for each in done.unable] == [
        ("flights", "partitions", "2", "4"),
        ("flights", "retention.ms", "1000", "-1"),
        ("old", "topic", "2 partitions", "absent"),
    ]
    assert cluster.topics.keys() == {"flights", "old"}


def test_a_protected_topic_whose_retention_the_service_keeps_is_not_refused() -> None:
    cluster = ServiceTwin(EVENT_HUBS)
    cluster.topics = {
        "flights": TopicState("flights", "id", ((1,),) * 4, {"retention.ms": "-1"}, (1,) * 4, ((1,),) * 4)
    }
    plan = planned(EVENT_HUBS, cluster, flights=spec(protected=True, retention=timedelta(days=1)))
    assert plan.refused == ()
    assert [each.value for each in plan.unable] == ["retention.ms"]


def test_confluent_cloud_creates_with_its_replicas_and_without_what_it_does_not_set() -> None:
    cluster = ServiceTwin(CONFLUENT_CLOUD)
    declared = Declared(
        {"flights": spec(replication=2, placement="balanced-leaders", configs={"preallocate": "true"})},
        1,
        service=CONFLUENT_CLOUD,
    )
    done, topics = apply(declared, cluster)
    assert [change.detail for change in done.changes] == [TopicCreation("flights", 4, 3, {"retention.ms": "-1"})]
    assert [(each.value, each.current, each.wanted) for each in done.unable] == [
        ("placement", "the service's own", "balanced-leaders"),
        ("preallocate", "unset", "true"),
        ("replication", "3", "2"),
    ]
    assert len(topics["flights"].replicas[0]) == 3
    again, _ = apply(declared, cluster)
    assert not again
    assert again.unable != ()


def test_more_replicas_than_brokers_are_no_refusal_where_the_service_keeps_them() -> None:
    plan = planned(EVENT_HUBS, ServiceTwin(EVENT_HUBS, brokers=1), flights=spec(replication=3))
    assert plan.refused == ()


def test_fewer_partitions_stay_refused_everywhere() -> None:
    cluster = ServiceTwin(EVENT_HUBS)
    cluster.topics = {
        "flights": TopicState("flights", "id", ((1,),) * 8, {"retention.ms": "-1"}, (1,) * 8, ((1,),) * 8)
    }
    plan = planned(EVENT_HUBS, cluster, flights=spec())
    assert [each.value for each in plan.refused] == ["partitions"]


def test_a_topic_without_an_id_is_named_with_what_that_means() -> None:
    cluster = InMemoryKafkaAdministration(ids=False)
    apply(Declared({"flights": spec()}), cluster)
    (kept,) = planned(APACHE, cluster, flights=spec()).kept
    assert str(kept).startswith("flights: id=none because the cluster gives topics none: one that is deleted")
    assert "reset them after" in str(kept)


def test_what_is_not_done_is_no_difference_and_part_of_the_plans_id() -> None:
    plan = planned(EVENT_HUBS, ServiceTwin(EVENT_HUBS), flights=spec())
    assert plan.differences == ()
    assert plan.id != replace(plan, unable=()).id
    assert as_dict(plan)["unable"] == [
        {
            "subject": "flights",
            "value": "topic",
            "current": "absent",
            "wanted": "4 partitions, replication 1, retention.ms=-1",
            "why": plan.unable[0].why,
            "fix": plan.unable[0].fix,
        }
    ]


@settings(max_examples=60)
@given(specs, specs, st.sampled_from([EVENT_HUBS, CONFLUENT_CLOUD]))
def test_no_plan_sends_a_service_what_it_does_not_do(
    before: Mapping[str, TopicSpec], after: Mapping[str, TopicSpec], service: KafkaService
) -> None:
    cluster = ServiceTwin(service)
    made = InMemoryKafkaAdministration(brokers=3)
    apply(Declared(before, service.replication or 1), made)
    cluster.topics, cluster.offsets = made.topics, made.offsets
    shrunk = {n: replace_partitions(s, cluster) for n, s in after.items()}
    declared = Declared(shrunk, service.replication or 1, service=service)
    plan = current_plan(declared, cluster)
    done, _ = apply(declared, cluster, approval=Approval(plan.id, frozenset(plan.losing)))
    assert done.id == plan.id
    left = current_plan(declared, cluster)
    assert not left
    assert {*left.unable} <= {*plan.unable}
    assert all(each.fix and each.why for each in plan.unable)


def replace_partitions(wanted: TopicSpec, cluster: InMemoryKafkaAdministration) -> TopicSpec:
    """Return a spec that takes no partition away, which is refused everywhere."""
    there = cluster.topics.get(wanted.name)
    return (
        wanted if there is None else wanted.model_copy(update={"partitions": max(wanted.partitions, there.partitions)})
    )


@pytest.mark.parametrize("service", SERVICES.values(), ids=lambda service: service.title)
def test_every_limit_says_why_and_what_to_do(service: KafkaService) -> None:
    limits = [service.topics, service.placement, service.rights, service.passwords]
    if service.configs is not None:
        limits.append(service.other_configs)
    for limit in filter(None, limits):
        assert limit.why
        assert limit.fix
        assert not limit.why.endswith(".")
        assert not limit.fix.endswith(".")


def test_the_order_of_what_is_not_done_is_that_of_subjects_and_values() -> None:
    plan = planned(EVENT_HUBS, ServiceTwin(EVENT_HUBS), b=spec("b"), a=spec("a"))
    assert [each.subject for each in plan.unable] == ["a", "b"]
    assert all(isinstance(each, Unable) for each in plan.unable)
