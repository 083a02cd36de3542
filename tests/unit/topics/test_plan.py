from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.errors import CorruptionError, RefusedError
from sluice.specs.model import FieldType, RawTable, TopicSpec, TopicValue, ValueField
from sluice.topics.administration import TopicCreation, TopicState
from sluice.topics.apply import apply
from sluice.topics.plan import Plan, plan
from tests.twins.kafka_administration import InMemoryKafkaAdministration

VALUE = TopicValue(fields={"at": ValueField(type=FieldType.TIMESTAMP)}, event_time="at", arrival_time="broker")


def spec(name: str = "flights", partitions: int = 4, **changes: object) -> TopicSpec:
    return TopicSpec.model_validate(
        {"name": name, "partitions": partitions, "value": VALUE, "raw": RawTable(table=f"{name}_raw", driver=name)}
        | changes
    )


def state(name: str = "flights", partitions: int = 4, **configs: str) -> TopicState:
    return TopicState(name, "id", ((1,),) * partitions, {"retention.ms": "-1"} | configs)


specs = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True),
    st.tuples(
        st.integers(1, 6),
        st.none() | st.integers(1, 3),
        st.just("forever") | st.integers(1, 10**6).map(lambda s: timedelta(seconds=s)),
        st.dictionaries(st.sampled_from(["cleanup.policy", "segment.bytes"]), st.sampled_from(["a", "b"])),
    ),
    max_size=5,
).map(
    lambda found: {
        name: spec(name, partitions, replication=replication, retention=retention, configs=configs)
        for name, (partitions, replication, retention, configs) in found.items()
    }
)


@settings(max_examples=40)
@given(specs)
def test_after_apply_nothing_is_left_to_do(declared: dict[str, TopicSpec]) -> None:
    cluster = InMemoryKafkaAdministration(brokers=3)
    done, there = apply(declared, cluster, default_replication=2)
    assert len(done.creations) == len(declared)
    assert plan(declared, there, default_replication=2) == Plan()
    assert apply(declared, cluster, default_replication=2) == (Plan(), there)


@settings(max_examples=40)
@given(specs, specs, st.randoms())
def test_the_order_of_specs_and_topics_does_not_matter(declared: dict, other: dict, random: object) -> None:  # type: ignore[type-arg]
    cluster = InMemoryKafkaAdministration(brokers=3)
    apply(other, cluster, default_replication=1)
    shuffled = list(declared.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    reversed_topics = dict(reversed(cluster.topics.items()))
    assert plan(declared, cluster.topics, default_replication=1) == plan(
        dict(shuffled), reversed_topics, default_replication=1
    )


def test_a_missing_topic_is_created_with_the_deployments_replication() -> None:
    (item,) = plan({"flights": spec()}, {}, default_replication=3).creations
    assert item.creation == TopicCreation("flights", 4, 3, {"retention.ms": "-1"})
    assert str(item) == "flights: create with 4 partitions, replication 3, retention.ms=-1"


def test_a_spec_that_names_its_replication_keeps_it() -> None:
    (item,) = plan({"flights": spec(replication=2)}, {}, default_replication=3).creations
    assert item.creation.replication == 2


@pytest.mark.parametrize(
    ("declared", "there", "said"),
    [
        pytest.param(spec(), state(partitions=3), "flights: partitions is 3, declared 4", id="partitions"),
        pytest.param(spec(replication=2), state(), "flights: replication is 1, declared 2", id="replication"),
        pytest.param(
            spec(retention=timedelta(days=1)),
            state(),
            "flights: retention.ms is -1, declared 86400000",
            id="another value of a configuration",
        ),
        pytest.param(
            spec(configs={"cleanup.policy": "compact"}),
            state(),
            "flights: cleanup.policy is unset, declared compact",
            id="a configuration that is not set",
        ),
        pytest.param(
            spec(partitions=2),
            TopicState("flights", "id", ((1,), (1, 2)), {"retention.ms": "-1"}),
            "flights: replication is 1 on partition 0, 2 on partition 1, declared 1",
            id="uneven replication",
        ),
    ],
)
def test_every_differing_value_is_told_with_both_sides(declared: TopicSpec, there: TopicState, said: str) -> None:
    found = plan({"flights": declared}, {"flights": there}, default_replication=1)
    assert [str(difference) for difference in found.differences] == [said]


def test_a_configuration_that_the_spec_does_not_name_is_no_difference() -> None:
    there = state(**{"max.message.bytes": "1"})
    assert not plan({"flights": spec()}, {"flights": there}, default_replication=1)


def test_a_topic_without_a_spec_is_no_difference() -> None:
    assert not plan({}, {"flights": state()}, default_replication=1)


def test_a_difference_is_refused_with_all_values_and_nothing_is_created() -> None:
    cluster = InMemoryKafkaAdministration()
    cluster.create([TopicCreation("flights", 3, 1, {"retention.ms": "7"})])
    with pytest.raises(RefusedError, match=r"partitions is 3, declared 4; flights: retention\.ms is 7, declared -1"):
        apply({"flights": spec(), "new": spec("new")}, cluster, default_replication=1)
    assert set(cluster.topics) == {"flights"}


def test_a_topic_that_is_not_there_after_its_creation_is_noticed() -> None:
    class Forgetful(InMemoryKafkaAdministration):
        def create(self, creations: object) -> None:
            pass

    with pytest.raises(CorruptionError, match="still differs: flights: create"):
        apply({"flights": spec()}, Forgetful(), default_replication=1)
