"""What every KafkaAdministration does. Subclasses give `administration`, and `elsewhere`, which reaches no broker."""

from __future__ import annotations

import uuid

import pytest

from sluice.errors import RefusedError, UnreachableError
from sluice.topics.administration import KafkaAdministration, TopicCreation


class KafkaAdministrationSuite:
    @pytest.fixture
    def name(self) -> str:
        return f"topic_{uuid.uuid4().hex[:12]}"

    def test_a_created_topic_is_described_as_it_was_asked_for(
        self, administration: KafkaAdministration, name: str
    ) -> None:
        administration.create([TopicCreation(name, 4, 1, {"retention.ms": "-1"})])
        state = administration.describe([name])[name]
        assert state.name == name
        assert state.partitions == 4
        assert state.replicas == ((1,),) * 4
        assert state.configs == {"retention.ms": "-1"}

    def test_each_topic_has_its_own_id(self, administration: KafkaAdministration, name: str) -> None:
        other = name + "_b"
        administration.create([TopicCreation(name, 1, 1), TopicCreation(other, 1, 1)])
        states = administration.describe([name, other])
        assert uuid.UUID(states[name].topic_id) != uuid.UUID(states[other].topic_id)
        assert administration.describe([name])[name].topic_id == states[name].topic_id

    def test_a_topic_that_does_not_exist_is_left_out(self, administration: KafkaAdministration, name: str) -> None:
        assert administration.describe([name]) == {}

    def test_describing_nothing_gives_nothing(self, administration: KafkaAdministration, name: str) -> None:
        administration.create([TopicCreation(name, 1, 1)])
        assert administration.describe([]) == {}

    def test_creating_nothing_is_allowed(self, administration: KafkaAdministration) -> None:
        administration.create([])

    def test_an_existing_topic_is_refused_and_the_others_are_created(
        self, administration: KafkaAdministration, name: str
    ) -> None:
        administration.create([TopicCreation(name, 1, 1)])
        with pytest.raises(RefusedError, match=rf"{name} \(it exists already\)"):
            administration.create([TopicCreation(name, 2, 1), TopicCreation(name + "_b", 1, 1)])
        states = administration.describe([name, name + "_b"])
        assert states[name].partitions == 1
        assert name + "_b" in states

    def test_more_replicas_than_brokers_are_refused(self, administration: KafkaAdministration, name: str) -> None:
        with pytest.raises(RefusedError, match=name):
            administration.create([TopicCreation(name, 1, 3)])
        assert administration.describe([name]) == {}

    def test_an_unknown_configuration_is_refused_by_name(self, administration: KafkaAdministration, name: str) -> None:
        with pytest.raises(RefusedError, match=r"no\.such\.config"):
            administration.create([TopicCreation(name, 1, 1, {"no.such.config": "1"})])

    def test_an_empty_topic_begins_and_ends_at_zero(self, administration: KafkaAdministration, name: str) -> None:
        administration.create([TopicCreation(name, 3, 1)])
        assert administration.beginnings(name) == administration.ends(name) == {0: 0, 1: 0, 2: 0}

    def test_offsets_of_a_missing_topic_are_refused(self, administration: KafkaAdministration, name: str) -> None:
        with pytest.raises(RefusedError, match=name):
            administration.ends(name)

    def test_a_dead_cluster_is_unreachable_and_not_empty(self, elsewhere: KafkaAdministration) -> None:
        with pytest.raises(UnreachableError, match="could be reached"):
            elsewhere.describe(["any"])
