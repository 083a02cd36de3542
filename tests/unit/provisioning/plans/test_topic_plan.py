from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.errors import CorruptionError, RefusedError, SpecError
from sluice.provisioning.apply import SETTLING_SECONDS, apply, current_plan
from sluice.provisioning.execution import ApplyOptions
from sluice.provisioning.plans.approval import Approval, PlanCommands
from sluice.provisioning.plans.changes import Kept, Risk
from sluice.provisioning.plans.declared import ActualCluster, Declared
from sluice.provisioning.plans.plan import Plan, as_dict
from sluice.provisioning.plans.topic_changes import grow, set_config
from sluice.provisioning.plans.topic_plan import plan_topics
from sluice.provisioning.replicas.moving import MoveOptions
from sluice.specs.model.model import FieldType, RawTableSpec, TopicSpec, TopicValue, ValueField
from sluice.topics.administration import TopicCreation, TopicState
from sluice.topics.replica_administration import BrokerState, PartitionKey, Throttle
from tests.twins.clock import ManualClock
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


def test_what_is_refused_is_told_with_all_values_and_nothing_is_created() -> None:
    cluster = InMemoryKafkaAdministration(brokers=2)
    cluster.create([TopicCreation("flights", 5, 1, {"retention.ms": "-1"})])
    with pytest.raises(RefusedError, match=r"partitions is 5, declared 4 .*; new: replication is absent, declared 3"):
        apply(Declared({"flights": spec(), "new": spec("new", replication=3)}, 1), cluster)
    assert set(cluster.topics) == {"flights"}


class TestApproval:
    @pytest.fixture
    def cluster(self) -> InMemoryKafkaAdministration:
        cluster = InMemoryKafkaAdministration()
        cluster.create([TopicCreation("flights", 2, 1, {"retention.ms": "-1"})])
        return cluster

    def refusal(
        self, declared: dict[str, TopicSpec], cluster: InMemoryKafkaAdministration, approval: Approval | None
    ) -> RefusedError:
        was = dict(cluster.topics)
        with pytest.raises(RefusedError) as refused:
            apply(Declared(declared, 1), cluster, approval=approval)
        assert cluster.topics == was, "nothing was applied"
        return refused.value

    def test_without_it_only_what_is_safe_is_applied(self, cluster: InMemoryKafkaAdministration) -> None:
        safe = {"flights": spec(partitions=2, configs={"segment.bytes": "1048576"})}
        done, _ = apply(Declared(safe, 1), cluster)
        assert done.changes == (set_config("flights", "segment.bytes", None, "1048576"),)
        assert done.changes[0].risk is Risk.SAFE
        grown = {"flights": spec(), "new": spec("new")}
        todo = planned(grown, cluster.topics, 1)
        refused = self.refusal(grown, cluster, None)
        assert "partitions is 2, declared 4 (partitions can never be taken away again, and 50% of all keys" in str(
            refused
        )
        assert f"`sluice topics apply --plan {todo.id}`" in str(refused.fix)

    def test_it_holds_for_the_plan_that_was_read(self, cluster: InMemoryKafkaAdministration) -> None:
        grown = {"flights": spec()}
        read = planned(grown, cluster.topics, 1)
        cluster.set_configs("flights", {"segment.bytes": "1048576"})
        refused = self.refusal(grown, cluster, Approval(read.id))
        now = planned(grown, cluster.topics, 1)
        assert now.changes == read.changes
        assert f"The plan {read.id} is out of date" in str(refused)
        assert f"the plan is {now.id} now" in str(refused)
        apply(Declared(grown, 1), cluster, approval=Approval(now.id))
        assert cluster.topics["flights"].partitions == 4

    def test_a_topic_that_was_made_again_is_another_state(self, cluster: InMemoryKafkaAdministration) -> None:
        grown = {"flights": spec()}
        read = planned(grown, cluster.topics, 1)
        cluster.forget("flights")
        cluster.create([TopicCreation("flights", 2, 1, {"retention.ms": "-1"})])
        assert "out of date" in str(self.refusal(grown, cluster, Approval(read.id)))

    def test_somebody_may_name_the_topics_that_are_meant(self, cluster: InMemoryKafkaAdministration) -> None:
        declared = Declared({"flights": spec(), "weather": spec().model_copy(update={"name": "weather"})}, 1)
        only = declared.only(["weather"])
        done, there = apply(only, cluster)
        assert ([item.subject for item in done.changes], set(there)) == (["weather"], {"weather"})
        assert not current_plan(only, cluster)
        assert declared.only([]) is declared
        with pytest.raises(SpecError, match="no spec declares the topic wether; they declare flights, weather"):
            declared.only(["wether", "weather"])

    def test_what_is_said_to_apply_has_the_names_that_were_given(self, cluster: InMemoryKafkaAdministration) -> None:
        grown = Declared({"flights": spec()}, 1).only(["flights"])
        with pytest.raises(RefusedError) as refused:
            apply(grown, cluster)
        todo = current_plan(grown, cluster)
        assert refused.value.fix == (
            f"read `sluice topics plan flights`, then run `sluice topics apply flights --plan {todo.id}`."
        )

    def test_whoever_loses_records_names_the_topic(self, cluster: InMemoryKafkaAdministration) -> None:
        cut = {"flights": spec(partitions=2, retention=timedelta(days=1))}
        todo = planned(cut, cluster.topics, 1)
        assert PlanCommands().apply(todo) == f"`sluice topics apply --plan {todo.id} --losing flights`"
        assert "may delete records of flights" in str(self.refusal(cut, cluster, Approval(todo.id)))
        assert "may delete records of flights" in str(
            self.refusal(cut, cluster, Approval(todo.id, frozenset({"other"})))
        )
        apply(Declared(cut, 1), cluster, approval=Approval(todo.id, frozenset({"flights"})))
        assert cluster.topics["flights"].configs == {"retention.ms": "86400000"}

    def test_a_plan_with_nothing_to_do_needs_none(self, cluster: InMemoryKafkaAdministration) -> None:
        done, _ = apply(Declared({"flights": spec(partitions=2)}, 1), cluster)
        assert not done


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


def test_a_topic_that_is_not_there_after_its_creation_is_noticed() -> None:
    class Forgetful(InMemoryKafkaAdministration):
        def create(self, creations: object) -> None:
            pass

    clock = ManualClock()
    with pytest.raises(CorruptionError, match="still differs: flights: create"):
        apply(Declared({"flights": spec()}, 1), Forgetful(), options=ApplyOptions(MoveOptions(clock=clock)))
    assert clock.monotonic() >= SETTLING_SECONDS


def test_a_broker_that_hears_of_a_change_a_moment_later_is_waited_for() -> None:
    class Slow(InMemoryKafkaAdministration):
        looks = 0

        def describe(self, names: Iterable[str]) -> Mapping[str, TopicState]:
            found = super().describe(names)
            self.looks += bool(found)
            return found if self.looks > 3 else {n: replace(s, configs={}) for n, s in found.items()}

    cluster = Slow()
    wanted = Declared({"flights": spec(configs={"cleanup.policy": "compact"})}, 1)
    apply(wanted, cluster, options=ApplyOptions(MoveOptions(clock=ManualClock())))
    assert cluster.looks == 4
