"""Replicas: where they shall lie, how they get there, and what is left when that is cut off."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.errors import RefusedError, UnreachableError
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.execution import ApplyOptions
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.changes import ChangeKind, Kept, LeaderElection, Reassignment, Risk
from sluice.provisioning.plans.declared import Declared
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.plans.topic_changes import delete
from sluice.provisioning.replicas.moving import MoveOptions, MoveProgress, cancel, move
from sluice.specs.model.topic_shape import TopicShape
from sluice.topics.administration import TopicCreation
from sluice.topics.replica_administration import THROTTLED, PartitionKey, Throttle
from tests.twins.clock import ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration

RACKS = {1: "0/0", 2: "1/1", 3: "2/2", 4: "0/1", 5: "1/2"}
DOMAINS = ("fault", "update")


def shape(**values: object) -> TopicShape:
    return TopicShape.model_validate({"partitions": 4, "replication": 3} | values)


SPREAD = {"failure-domains": list(DOMAINS)}


def declared(absent: Collection[str] = (), **topics: TopicShape) -> Declared:
    return Declared(topics, absent=frozenset(absent), domains=DOMAINS)


def pace(**values: object) -> MoveOptions:
    return MoveOptions(clock=ManualClock(), **values)  # type: ignore[arg-type]


@pytest.fixture
def kafka() -> InMemoryKafkaAdministration:
    return InMemoryKafkaAdministration(4, RACKS)


def approve(wanted: Declared, kafka: InMemoryKafkaAdministration, **values: object) -> Plan:
    todo = current_plan(wanted, kafka)
    done, _ = apply(
        wanted, kafka, approval=Approval(todo.id, frozenset(todo.losing)), options=ApplyOptions(pace(**values))
    )
    return done


def is_spread(replicas: tuple[int, ...]) -> bool:
    """The rule, for three replicas over three fault and three update domains: no two share a value."""
    return all(
        one.split("/")[part] != other.split("/")[part]
        for one, other in combinations((RACKS[broker] for broker in replicas), 2)
        for part in (0, 1)
    )


PLACEMENTS = st.sampled_from(["any", "balanced-leaders", SPREAD])
SHAPES = st.builds(
    lambda partitions, replication, placement: TopicShape.model_validate(
        {"partitions": partitions, "replication": replication, "placement": placement}
    ),
    st.integers(1, 6),
    st.integers(1, 3),
    PLACEMENTS,
)
CATALOGS = st.dictionaries(st.sampled_from(["a", "b", "c"]), SHAPES, max_size=3)


class CutError(Exception):
    """The process was killed."""


class Mortal(InMemoryKafkaAdministration):
    """Dies before one of its calls, counted from 0, whether it asks or changes."""

    left = 10**9

    def _reach(self) -> None:
        if self.left <= 0:
            raise CutError
        self.left -= 1
        super()._reach()


@settings(max_examples=max(50, settings().max_examples), deadline=None)
@given(CATALOGS, CATALOGS, st.integers(0, 3))
def test_what_is_approved_is_done_and_lies_by_its_rule(
    before: dict[str, TopicShape], after: dict[str, TopicShape], polls: int
) -> None:
    kafka = InMemoryKafkaAdministration(4, RACKS)
    approve(declared(**before), kafka)
    kafka.polls_per_move = polls
    wanted = declared(before.keys() - after.keys(), **after)
    if current_plan(wanted, kafka).refused:
        return
    approve(wanted, kafka)
    assert not current_plan(wanted, kafka)
    assert set(kafka.topics) == set(after)
    assert kafka.rates == {}
    assert not any(set(THROTTLED) & state.configs.keys() for state in kafka.topics.values())
    for name, spec in after.items():
        assert {len(replicas) for replicas in kafka.topics[name].replicas} == {spec.replication}
        if spec.placement != "any":
            assert [replicas[0] for replicas in kafka.topics[name].replicas] == list(kafka.topics[name].leaders)
        if spec.placement == shape(placement=SPREAD).placement and spec.replication == 3:
            assert all(map(is_spread, kafka.topics[name].replicas))


@settings(max_examples=max(60, settings().max_examples), deadline=None)
@given(CATALOGS, CATALOGS, st.integers(0, 3), st.integers(0, 80), st.integers(1, 3))
@example({"b": shape(partitions=1, replication=2)}, {"b": shape(partitions=2, replication=1)}, 2, 14, 1)
def test_whatever_call_it_dies_at_the_next_plan_leads_to_the_end(
    before: dict[str, TopicShape], after: dict[str, TopicShape], polls: int, calls: int, batch: int
) -> None:
    kafka = Mortal(4, RACKS)
    approve(declared(**before), kafka)
    kafka.polls_per_move = polls
    wanted = declared(before.keys() - after.keys(), **after)
    todo = current_plan(wanted, kafka)
    if todo.refused:
        return
    kafka.left = calls
    approval = Approval(todo.id, frozenset(todo.losing))
    try:
        apply(wanted, kafka, approval=approval, options=ApplyOptions(pace(batch=batch)))
    except CutError:
        kafka.left = 10**9
        approve(wanted, kafka)
    kafka.left = 10**9
    assert not current_plan(wanted, kafka)
    assert not kafka.moving()
    assert kafka.rates == {}


class TestPlan:
    def test_a_new_topic_is_created_where_its_rule_wants_it(self, kafka: InMemoryKafkaAdministration) -> None:
        (item,) = current_plan(declared(flights=shape(placement=SPREAD)), kafka).changes
        assert isinstance(item.detail, TopicCreation)
        assert len(item.detail.assignment) == 4
        assert all(map(is_spread, item.detail.assignment))

    def test_what_no_brokers_can_meet_is_refused_with_the_reason_and_nothing_is_done(self) -> None:
        crowded = InMemoryKafkaAdministration(5, {1: "0/0", 2: "1/0", 3: "2/0", 4: "0/1", 5: "0/2"})
        wanted = declared(flights=shape(placement=SPREAD), pairs=shape(replication=2, placement=SPREAD))
        found = current_plan(wanted, crowded)
        (refused,) = found.refused
        assert (refused.subject, refused.value, refused.current) == ("flights", "placement", "absent")
        assert refused.why.startswith("no 3 brokers lie on 3 values of fault and 3 values of update at once")
        assert refused.fix == "add such a broker, or declare fewer replicas or domains"
        with pytest.raises(RefusedError, match="no 3 brokers"):
            apply(wanted, crowded, approval=Approval(found.id, frozenset()))
        assert not crowded.topics

    def test_one_without_a_rule_is_left_to_the_cluster(self, kafka: InMemoryKafkaAdministration) -> None:
        (item,) = current_plan(declared(flights=shape()), kafka).changes
        assert isinstance(item.detail, TopicCreation)
        assert item.detail.assignment == ()

    def test_more_replicas_need_approval_and_say_what_is_copied(self, kafka: InMemoryKafkaAdministration) -> None:
        kafka.create([TopicCreation("flights", 2, 1, {"retention.ms": "-1"})])
        (item,) = current_plan(declared(flights=shape(partitions=2)), kafka).changes
        assert isinstance(item.detail, Reassignment)
        assert (item.value, item.current, item.wanted, item.risk) == ("replication", "1", "3", Risk.APPROVAL)
        assert item.why == "4 replicas are copied (0.0 MB)"
        assert [after[:1] for after in item.detail.after] == list(item.detail.before), (
            "those that are there stay, and lead"
        )

    def test_another_order_copies_nothing_and_is_safe(self, kafka: InMemoryKafkaAdministration) -> None:
        crowded = ((1, 2, 3),) * 3
        kafka.create([TopicCreation("flights", 3, 3, {"retention.ms": "-1"}, crowded)])
        (item,) = current_plan(declared(flights=shape(partitions=3, placement=SPREAD)), kafka).changes
        assert isinstance(item.detail, Reassignment)
        assert (item.risk, item.detail.copies) == (Risk.SAFE, 0)
        assert sorted(replicas[0] for replicas in item.detail.after) == [1, 2, 3]
        apply(declared(flights=shape(partitions=3, placement=SPREAD)), kafka)
        assert sorted(kafka.topics["flights"].leaders) == [1, 2, 3]

    def test_a_leader_that_is_not_the_preferred_one_is_elected_again(self, kafka: InMemoryKafkaAdministration) -> None:
        wanted = declared(flights=shape(placement=SPREAD))
        approve(wanted, kafka)
        kafka.fail(1)
        kafka.recover(1)
        (item,) = current_plan(wanted, kafka).changes
        assert isinstance(item.detail, LeaderElection)
        assert item.risk is Risk.SAFE
        assert {to for _, to in item.detail.leaders.values()} == {1}
        apply(wanted, kafka)
        assert not current_plan(wanted, kafka)

    def test_a_replica_out_of_sync_is_never_lost(self, kafka: InMemoryKafkaAdministration) -> None:
        wanted = declared(flights=shape(placement=SPREAD))
        approve(wanted, kafka)
        was = kafka.topics["flights"].replicas
        kafka.fail(1)
        found = current_plan(wanted, kafka)
        assert not found, "what is down is no difference"
        assert found.kept == (
            Kept(
                "flights", "placement", "broker 1 holds replicas and cannot be seen", "so it is not judged, and stays"
            ),
        )
        grown = declared(flights=shape(partitions=6, placement=SPREAD))
        (refused,) = current_plan(grown, kafka).refused
        assert "a move could take the last copy" in refused.why
        with pytest.raises(RefusedError, match="broker 1 holds replicas"):
            approve(grown, kafka)
        assert kafka.topics["flights"].replicas == was
        other = declared(flights=shape(placement=SPREAD), more=shape(replication=1))
        approve(other, kafka)
        assert "more" in kafka.topics, "what else there is to do does not wait for the broker"
        kafka.recover(1)
        approve(grown, kafka)
        assert kafka.topics["flights"].replicas[:4] == was

    def test_leaders_and_records_make_no_other_plan_and_replicas_do(self, kafka: InMemoryKafkaAdministration) -> None:
        wanted = declared(flights=shape(placement=SPREAD, partitions=5))
        approve(declared(flights=shape(placement=SPREAD)), kafka)
        read = current_plan(wanted, kafka).id
        kafka.fail(2)
        kafka.recover(2)
        assert current_plan(wanted, kafka).id == read
        was = kafka.topics["flights"].replicas[0]
        kafka.reassign({("flights", 0): (was[1], was[0], was[2])})
        assert current_plan(wanted, kafka).id != read

    @pytest.mark.parametrize(
        ("racks", "replication", "domains", "said"),
        [
            pytest.param({}, 3, DOMAINS, "broker.rack has not the form fault/update at brokers 1, 2, 3 and 1 more"),
            pytest.param({**RACKS, 3: "2"}, 3, DOMAINS, "broker.rack has not the form fault/update at broker 3"),
            pytest.param({**RACKS, 3: "2/"}, 3, DOMAINS, "broker.rack has not the form fault/update at broker 3"),
            pytest.param(RACKS, 3, ("rack",), "knows the failure domains rack, and not fault, update"),
            pytest.param(RACKS, 5, DOMAINS, "each replica needs a broker of its own, and there are 4"),
            pytest.param(
                {1: "0/0", 2: "1/0", 3: "2/0", 4: "0/1"},
                3,
                DOMAINS,
                "no 3 brokers lie on",
                id="no valid set of brokers",
            ),
        ],
    )
    def test_what_cannot_be_placed_is_refused_with_why(
        self, racks: dict[int, str], replication: int, domains: tuple[str, ...], said: str
    ) -> None:
        kafka = InMemoryKafkaAdministration(4, racks)
        wanted = Declared({"flights": shape(placement=SPREAD, replication=replication)}, domains=domains)
        found = current_plan(wanted, kafka)
        if said.startswith("no 3"):  # over two values of update, three replicas have to share one
            assert not found.refused
            return
        (refused,) = found.refused
        assert said in refused.why
        assert refused.fix
        with pytest.raises(RefusedError, match="nothing was applied"):
            approve(wanted, kafka)
        assert kafka.topics == {}

    def test_an_absent_topic_is_deleted_only_by_name(self, kafka: InMemoryKafkaAdministration) -> None:
        kafka.create([TopicCreation("old", 2, 1)])
        wanted = declared(["old", "never"])
        todo = current_plan(wanted, kafka)
        assert todo.changes == (delete("old", 2),)
        with pytest.raises(RefusedError, match="may delete records of old, which the approval does not name"):
            apply(wanted, kafka, approval=Approval(todo.id))
        approve(wanted, kafka)
        assert kafka.topics == {}


class TestMove:
    def targets(self, kafka: InMemoryKafkaAdministration, partitions: int = 4) -> dict[PartitionKey, tuple[int, ...]]:
        kafka.create([TopicCreation("flights", partitions, 2, {}, ((1, 2),) * partitions)])
        return {("flights", partition): (3, 4) for partition in range(partitions)}

    def test_moves_go_in_batches_and_are_told_of(self, kafka: InMemoryKafkaAdministration) -> None:
        targets = self.targets(kafka)
        kafka.polls_per_move = 3
        told: list[MoveProgress] = []
        move(kafka, targets, pace(batch=2, on_progress=told.append))
        assert kafka.topics["flights"].replicas == ((3, 4),) * 4
        assert kafka.most_at_once == 2
        assert [progress.moved for progress in told] == sorted(progress.moved for progress in told)
        assert (told[-1].moved, told[-1].partitions) == (4, 4)
        assert str(told[-1]).startswith("4 of 4 partitions moved")

    def test_they_are_throttled_and_no_longer(self, kafka: InMemoryKafkaAdministration) -> None:
        targets = self.targets(kafka, 1)
        kafka.polls_per_move = 3
        seen: list[tuple[dict[int, int], Mapping[str, str]]] = []
        move(
            kafka,
            targets,
            pace(throttle=7, on_progress=lambda _: seen.append((kafka.rates, kafka.topics["flights"].configs))),
        )
        rates, configs = seen[0]
        assert set(rates.values()) == {7}
        assert [configs[name] for name in THROTTLED] == ["0:1,0:2", "0:3,0:4"]
        assert (kafka.rates, kafka.topics["flights"].configs) == ({}, {})

    def test_whoever_interrupts_gets_the_batch_back_and_keeps_what_arrived(
        self, kafka: InMemoryKafkaAdministration
    ) -> None:
        targets = self.targets(kafka)
        kafka.polls_per_move = 3

        def interrupt(progress: MoveProgress) -> None:
            if progress.moved == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            move(kafka, targets, pace(batch=1, on_progress=interrupt))
        assert kafka.topics["flights"].replicas == ((3, 4), (3, 4), (1, 2), (1, 2))
        assert not kafka.moving()
        assert (kafka.rates, kafka.topics["flights"].configs) == ({}, {})

    def test_a_cluster_that_goes_away_leaves_a_throttle_that_the_next_plan_removes(
        self, kafka: InMemoryKafkaAdministration
    ) -> None:
        targets = self.targets(kafka, 1)
        kafka.polls_per_move = 3

        def unplug(_progress: MoveProgress) -> None:
            kafka.reachable = False

        with pytest.raises(UnreachableError):
            move(kafka, targets, pace(on_progress=unplug))
        kafka.reachable = True
        assert kafka.rates
        wanted = Declared({"flights": shape(partitions=1, replication=2, retention="forever")})
        todo = current_plan(wanted, kafka)
        under_way = next(item for item in todo.changes if isinstance(item.detail, Reassignment))
        assert isinstance(under_way.detail, Reassignment)
        assert (under_way.detail.under_way, under_way.why) == (True, "it has begun, and its end was not observed")
        assert any(item.kind is ChangeKind.UNTHROTTLE for item in todo.changes)
        apply(wanted, kafka, options=ApplyOptions(pace()))
        assert not kafka.moving()
        assert kafka.rates == {}
        assert not current_plan(wanted, kafka)

    def test_it_says_which_broker_it_waits_for(self, kafka: InMemoryKafkaAdministration) -> None:
        targets = self.targets(kafka, 1)
        kafka.polls_per_move = 1
        told: list[MoveProgress] = []

        def notice(progress: MoveProgress) -> None:
            told.append(progress)
            if len(told) == 1:
                kafka.down.add(4)
            elif progress.waiting_for:
                kafka.down.discard(4)

        move(kafka, targets, pace(on_progress=notice))
        assert any(progress.waiting_for == (4,) and "waits for broker 4" in str(progress) for progress in told)

    def test_cancel_turns_back_what_moves_and_leaves_no_throttle(self, kafka: InMemoryKafkaAdministration) -> None:
        targets = self.targets(kafka, 2)
        kafka.polls_per_move = 10**6
        kafka.throttle(Throttle(7, dict.fromkeys(targets, (1, 2)), targets))
        kafka.reassign(targets)
        assert cancel(kafka, ["flights"]) == tuple(targets)
        assert kafka.topics["flights"].replicas == ((1, 2), (1, 2))
        assert (kafka.moving(), kafka.rates, kafka.topics["flights"].configs) == ({}, {}, {})
        assert cancel(kafka, ["flights"]) == ()

    def test_min_insync_rises_after_the_replicas_are_there_and_falls_before_they_go(self) -> None:
        class Watching(InMemoryKafkaAdministration):
            said: tuple[str, ...] = ()

            def set_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
                self.said = (*self.said, "configs")
                super().set_configs(topic, configs)

            def reassign(self, targets: Mapping[PartitionKey, tuple[int, ...] | None]) -> None:
                self.said = (*self.said, "replicas")
                super().reassign(targets)

        kafka = Watching(4, RACKS)
        kafka.create([TopicCreation("flights", 1, 1, {"retention.ms": "-1"})])
        approve(declared(flights=shape(partitions=1, configs={"min.insync.replicas": "2"})), kafka)
        assert kafka.said == ("replicas", "configs")
        kafka.said = ()
        approve(declared(flights=shape(partitions=1, replication=1, configs={"min.insync.replicas": "1"})), kafka)
        assert kafka.said == ("configs", "replicas")
