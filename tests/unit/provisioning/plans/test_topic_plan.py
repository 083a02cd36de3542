"""How a topic's spec and its state on the cluster are compared: each difference with its risk, or refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.provisioning.apply import apply
from sluice.provisioning.plans.changes import Kept, Risk
from sluice.provisioning.plans.declared import Declared
from sluice.provisioning.plans.plan import as_dict
from sluice.provisioning.plans.topic_changes import grow
from sluice.specs.model.model import TopicSpec
from sluice.topics.administration import TopicCreation, TopicState
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.unit.provisioning.plans.topic_plans import planned, spec, specs, state


@settings(max_examples=40)
@given(specs, specs, st.randoms())
def test_the_order_of_specs_and_topics_does_not_matter(declared: dict, other: dict, random: object) -> None:  # type: ignore[type-arg]
    cluster = InMemoryKafkaAdministration(brokers=3)
    apply(Declared(other, 1), cluster)
    shuffled = list(declared.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    reversed_topics = dict(reversed(cluster.topics.items()))
    one = planned(declared, cluster.topics, 1)
    other_one = planned(dict(shuffled), reversed_topics, 1)
    assert one == other_one
    assert one.id == other_one.id


def test_a_missing_topic_is_created_with_the_deployments_replication() -> None:
    (item,) = planned({"flights": spec(configs={"segment.bytes": None})}, {}, 3).changes
    assert item.detail == TopicCreation("flights", 4, 3, {"retention.ms": "-1"})
    assert item.risk is Risk.SAFE
    assert str(item) == "flights: create with 4 partitions, replication 3, retention.ms=-1"


def test_a_spec_that_names_its_replication_keeps_it() -> None:
    (item,) = planned({"flights": spec(replication=2)}, {}, 3).changes
    assert item.detail.replication == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("declared", "there", "said", "risk"),
    [
        pytest.param(spec(), state(partitions=3), "partitions is 3, declared 4", Risk.APPROVAL, id="partitions"),
        pytest.param(
            spec(retention=timedelta(days=1)),
            state(),
            "retention.ms is -1, declared 86400000",
            Risk.LOSS,
            id="another value of a configuration",
        ),
        pytest.param(
            spec(configs={"segment.bytes": "1048576"}),
            state(),
            "segment.bytes is unset, declared 1048576",
            Risk.SAFE,
            id="a configuration that is not set",
        ),
        pytest.param(
            spec(configs={"max.message.bytes": None}),
            state(**{"max.message.bytes": "5"}),
            "max.message.bytes is 5, declared unset",
            Risk.APPROVAL,
            id="a configuration that shall be the broker's default",
        ),
        pytest.param(
            spec(retention="default"),
            state(),
            "retention.ms is -1, declared unset",
            Risk.LOSS,
            id="a retention that shall be the broker's default",
        ),
    ],
)
def test_every_differing_value_is_told_with_both_sides_and_its_risk(
    declared: TopicSpec, there: TopicState, said: str, risk: Risk
) -> None:
    found = planned({"flights": declared}, {"flights": there}, 1)
    assert [(str(item), item.risk) for item in found.changes] == [(f"flights: {said}", risk)]
    assert not found.refused


@pytest.mark.parametrize(
    ("declared", "there", "said", "fix"),
    [
        pytest.param(spec(), state(partitions=5), "partitions is 5, declared 4", "declare 5", id="shrinking"),
        pytest.param(
            spec(replication=4), state(), "replication is 1, declared 4", "start brokers", id="too many replicas"
        ),
        pytest.param(
            spec(configs={"min.insync.replicas": "2"}),
            TopicState("flights", "id", ((1, 2),) * 4, {"retention.ms": "-1", "min.insync.replicas": "2"}),
            "replication is 2, declared 1",
            "lower it first",
            id="fewer replicas than have to be in sync",
        ),
        pytest.param(
            spec(protected=True, retention=timedelta(days=1)),
            state(),
            "retention.ms is -1, declared 86400000",
            "take `protected` from its spec",
            id="a cut of a protected topic",
        ),
    ],
)
def test_what_no_plan_changes_is_refused_with_what_to_do(
    declared: TopicSpec, there: TopicState, said: str, fix: str
) -> None:
    (refused,) = planned({"flights": declared}, {"flights": there}, 1).refused
    assert str(refused) == f"flights: {said}"
    assert fix in refused.fix


def test_a_configuration_that_the_spec_does_not_name_stays_and_is_told() -> None:
    there = state(**{"max.message.bytes": "1"})
    found = planned({"flights": spec()}, {"flights": there}, 1)
    assert not found
    assert found.kept == (Kept("flights", "max.message.bytes", "1"),)


def test_a_topic_without_a_spec_is_no_difference() -> None:
    assert not planned({}, {"flights": state()}, 1)


@given(st.integers(1, 60), st.integers(1, 60))
@example(4, 8)
@example(4, 6)
def test_growth_says_how_many_keys_move(one: int, other: int) -> None:
    few, many = sorted((one, one + other))
    hashes = range(few * many)  # every pair of remainders, as often as another
    moved = sum(key % few != key % many for key in hashes) / len(hashes)
    assert f"and {moved:.0%} of all keys" in grow("flights", few, many).why
    assert "keys" not in grow("flights", few, many, keyed=False).why


def test_a_plan_for_machines_has_everything() -> None:
    there = TopicState("flights", "id", ((1,),) * 5, {"retention.ms": "-1", "max.message.bytes": "1"})
    found = planned({"flights": spec(retention=timedelta(days=1))}, {"flights": there}, 1)
    told = as_dict(found)
    assert told["id"] == found.id
    assert [(i["change"], i["topic"], i["value"], i["current"], i["wanted"], i["risk"]) for i in told["items"]] == [
        ("set", "flights", "retention.ms", "-1", "86400000", "loss")
    ]
    assert [(r["value"], r["current"], r["wanted"]) for r in told["refused"]] == [("partitions", "5", "4")]
    kept = {"topic": "flights", "value": "max.message.bytes", "current": "1", "why": "is in no spec, and stays"}
    assert told["kept"] == [kept]
