"""What is not safe needs the id of the plan that was read, and what loses records the topic's name."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.errors import RefusedError, SpecError
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.plans.approval import Approval, PlanCommands
from sluice.provisioning.plans.changes import Risk
from sluice.provisioning.plans.declared import Declared
from sluice.provisioning.plans.topic_changes import set_config
from sluice.specs.model.model import TopicSpec
from sluice.topics.administration import TopicCreation
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.unit.provisioning.plans.topic_plans import planned, spec


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
