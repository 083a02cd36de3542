"""Topics that differ in what a plan compares, and their plan on three brokers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from hypothesis import strategies as st

from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.declared import ActualCluster, Declared
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.plans.topic_plan import plan_topics
from sluice.specs.model.model import FieldType, RawTableSpec, TopicSpec, TopicValue, ValueField
from sluice.topics.administration import TopicState
from sluice.topics.replica_administration import BrokerState
from tests.twins.kafka_administration import InMemoryKafkaAdministration

VALUE = TopicValue(fields={"at": ValueField(type=FieldType.TIMESTAMP)}, event_time="at", arrival_time="broker")


def spec(name: str = "flights", partitions: int = 4, **changes: object) -> TopicSpec:
    return TopicSpec.model_validate(
        {"name": name, "partitions": partitions, "value": VALUE, "raw": RawTableSpec(table=f"{name}_raw", driver=name)}
        | changes
    )


def state(name: str = "flights", partitions: int = 4, **configs: str) -> TopicState:
    return TopicState(name, "id", ((1,),) * partitions, {"retention.ms": "-1"} | configs)


CONFIGS = st.dictionaries(
    st.sampled_from(["cleanup.policy", "segment.bytes", "max.message.bytes"]), st.sampled_from(["1", "2"]) | st.none()
)


specs = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True),
    st.tuples(
        st.integers(1, 6),
        st.none() | st.integers(1, 3),
        st.just("forever") | st.integers(1, 10**6).map(lambda s: timedelta(seconds=s)),
        CONFIGS,
    ),
    max_size=5,
).map(
    lambda found: {
        name: spec(name, partitions, replication=replication, retention=retention, configs=configs)
        for name, (partitions, replication, retention, configs) in found.items()
    }
)


def planned(topics: Mapping[str, TopicSpec], actual: Mapping[str, TopicState], replication: int) -> Plan:
    """Plan for three brokers that have no racks."""
    return plan_topics(Declared(topics, replication), ActualCluster(actual, tuple(BrokerState(i) for i in (1, 2, 3))))


def approved(specs: dict[str, TopicSpec], cluster: InMemoryKafkaAdministration) -> tuple[Plan, object]:
    """Apply what there is to do on the word of somebody who approves all of it."""
    todo = current_plan(Declared(specs, 2), cluster)
    return apply(Declared(specs, 2), cluster, approval=Approval(todo.id, frozenset(todo.losing)))
