"""What every KafkaAdministration does. Subclasses give it, one that reaches no broker (`elsewhere`), and `send`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import pytest

from sluice.errors import RefusedError, UnreachableError
from sluice.topics.administration import KafkaAdministration, TopicCreation

Send: TypeAlias = Callable[[str, int, Sequence[datetime]], None]
"""Appends records with these timestamps to a partition of a topic."""

ReadGroup: TypeAlias = Callable[[str], Mapping[str, int]]
"""Returns the offsets of a consumer group, per `topic/partition`."""

Consuming: TypeAlias = Callable[[str, str], AbstractContextManager[None]]
"""Consumes a topic with a group while the block lasts."""


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

    def test_every_topic_is_listed(self, administration: KafkaAdministration, name: str) -> None:
        assert name not in administration.names()
        administration.create([TopicCreation(name, 1, 1), TopicCreation(f"{name}.B-2", 1, 1)])
        listed = administration.names()
        assert {name, f"{name}.B-2"} <= set(listed)
        assert list(listed) == sorted(listed)

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

    def test_a_topic_gets_partitions_and_keeps_what_it_has(
        self, administration: KafkaAdministration, name: str, send: Send
    ) -> None:
        administration.create([TopicCreation(name, 2, 1)])
        send(name, 1, [datetime(2013, 1, 7, tzinfo=UTC)])
        before = administration.describe([name])[name]
        administration.grow(name, 5)
        after = administration.describe([name])[name]
        assert (after.topic_id, after.partitions, after.replicas[:2]) == (before.topic_id, 5, before.replicas)
        assert administration.ends(name) == {0: 0, 1: 1, 2: 0, 3: 0, 4: 0}

    @pytest.mark.parametrize("partitions", [1, 2])
    def test_no_partition_is_taken_away(self, administration: KafkaAdministration, name: str, partitions: int) -> None:
        administration.create([TopicCreation(name, 2, 1)])
        with pytest.raises(RefusedError, match=f"refused to give {name} {partitions} partitions"):
            administration.grow(name, partitions)
        assert administration.describe([name])[name].partitions == 2

    def test_configurations_are_set_and_reset_and_others_stay(
        self, administration: KafkaAdministration, name: str
    ) -> None:
        set_before = {"retention.ms": "-1", "segment.bytes": "1048576", "max.message.bytes": "2000000"}
        administration.create([TopicCreation(name, 1, 1, set_before)])
        administration.set_configs(name, {"retention.ms": "86400000", "segment.bytes": None})
        there = administration.describe([name])[name].configs
        assert there == {"retention.ms": "86400000", "max.message.bytes": "2000000"}

    def test_with_an_unknown_configuration_none_is_set(self, administration: KafkaAdministration, name: str) -> None:
        administration.create([TopicCreation(name, 1, 1, {"retention.ms": "-1"})])
        with pytest.raises(RefusedError, match=r"retention\.msec"):
            administration.set_configs(name, {"retention.ms": "1", "retention.msec": "1"})
        assert administration.describe([name])[name].configs == {"retention.ms": "-1"}

    def test_a_topic_that_is_not_there_is_not_changed(self, administration: KafkaAdministration, name: str) -> None:
        with pytest.raises(RefusedError):
            administration.grow(name, 2)
        with pytest.raises(RefusedError):
            administration.set_configs(name, {"retention.ms": "1"})

    def test_an_empty_topic_begins_and_ends_at_zero(self, administration: KafkaAdministration, name: str) -> None:
        administration.create([TopicCreation(name, 3, 1)])
        assert administration.beginnings(name) == administration.ends(name) == {0: 0, 1: 0, 2: 0}

    def test_an_extent_is_id_beginnings_and_ends_at_once(self, administration: KafkaAdministration, name: str) -> None:
        administration.create([TopicCreation(name, 2, 1)])
        extent = administration.extent(name)
        assert extent.topic_id == administration.describe([name])[name].topic_id
        assert (extent.beginnings, extent.ends) == ({0: 0, 1: 0}, {0: 0, 1: 0})

    def test_extents_of_many_topics_are_those_of_each_and_a_missing_one_disturbs_no_other(
        self, administration: KafkaAdministration, name: str, send: Send
    ) -> None:
        names = [f"{name}_{n}" for n in range(4)]
        administration.create([TopicCreation(each, n + 1, 1) for n, each in enumerate(names)])
        send(names[3], 2, [datetime(2013, 1, 7, tzinfo=UTC)] * 3)
        found = administration.extents([*names, name])
        assert {each: found[each] for each in names} == {each: administration.extent(each) for each in names}
        assert administration.extent(names[3]).ends == {0: 0, 1: 0, 2: 3, 3: 0}
        missing = found[name]
        assert isinstance(missing, RefusedError)
        assert name in missing.message
        assert administration.extents([]) == {}

    def test_the_configurations_in_force_are_those_of_the_topic_and_for_the_rest_the_brokers(
        self, administration: KafkaAdministration, name: str
    ) -> None:
        stamped, other = f"{name}_stamped", f"{name}_other"
        administration.create(
            [TopicCreation(stamped, 1, 1, {"message.timestamp.type": "LogAppendTime"}), TopicCreation(other, 1, 1)]
        )
        administration.set_configs(other, {"message.timestamp.after.max.ms": "1000"})
        found = administration.configs_in_force([stamped, other, name])
        assert set(found) == {stamped, other}
        assert found[stamped]["message.timestamp.type"] == "LogAppendTime"
        assert found[other]["message.timestamp.type"] == "CreateTime"
        assert found[other]["message.timestamp.after.max.ms"] == "1000"
        assert found[stamped]["message.timestamp.after.max.ms"] == "3600000"  # Kafka's default since 4.0
        assert administration.configs_in_force([]) == {}

    def test_an_empty_partition_has_no_timestamp(self, administration: KafkaAdministration, name: str) -> None:
        administration.create([TopicCreation(name, 2, 1)])
        assert administration.stamps(name, {0: 0, 1: 0}) == {}
        assert administration.stamps(name, {}) == {}

    def test_extent_and_timestamps_of_a_missing_topic_are_refused(
        self, administration: KafkaAdministration, name: str
    ) -> None:
        with pytest.raises(RefusedError, match=name):
            administration.extent(name)
        with pytest.raises(RefusedError, match=name):
            administration.stamps(name, {0: 0})

    @pytest.mark.parametrize("appended", [True, False])
    def test_the_timestamp_is_that_of_the_first_record_at_or_after_an_offset(
        self, administration: KafkaAdministration, name: str, send: Send, appended: bool
    ) -> None:
        kind = "LogAppendTime" if appended else "CreateTime"
        administration.create([TopicCreation(name, 2, 1, {"message.timestamp.type": kind, "retention.ms": "-1"})])
        sent = [datetime(2013, 1, 7, 12, 0, second, tzinfo=UTC) for second in (1, 2, 3)]
        before = datetime.now(UTC)
        send(name, 1, sent)
        found = administration.stamps(name, {0: 0, 1: 1})
        assert list(found) == [1]
        assert found[1].appended is appended
        if appended:
            assert timedelta(seconds=-1) < found[1].at - before < timedelta(minutes=1)
        else:
            assert found[1].at == sent[1]

    def test_a_time_is_the_first_record_that_is_no_older_and_after_the_last_one_the_end(
        self, administration: KafkaAdministration, name: str, send: Send
    ) -> None:
        administration.create([TopicCreation(name, 2, 1, {"retention.ms": "-1"})])
        noon = datetime(2013, 1, 7, 12, tzinfo=UTC)
        send(name, 1, [noon + timedelta(seconds=second) for second in (1, 2, 3)])
        assert administration.offsets_at(name, noon) == {0: 0, 1: 0}
        assert administration.offsets_at(name, noon + timedelta(seconds=2)) == {0: 0, 1: 1}
        assert administration.offsets_at(name, noon + timedelta(seconds=2, microseconds=1)) == {0: 0, 1: 2}
        assert administration.offsets_at(name, noon + timedelta(days=1)) == {0: 0, 1: 3}

    def test_the_offsets_of_a_group_are_set_and_set_back_and_others_stay(
        self, administration: KafkaAdministration, name: str, send: Send, read_group: ReadGroup
    ) -> None:
        administration.create([TopicCreation(name, 2, 1, {"retention.ms": "-1"})])
        send(name, 1, [datetime(2013, 1, 7, 12, 0, second, tzinfo=UTC) for second in (1, 2, 3)])
        administration.set_group(f"{name}-mirror", {f"{name}/0": 0, f"{name}/1": 3})
        administration.set_group(f"{name}-mirror", {f"{name}/1": 1})
        assert read_group(f"{name}-mirror") == {f"{name}/0": 0, f"{name}/1": 1}

    def test_a_group_that_somebody_consumes_with_is_left_alone(
        self, administration: KafkaAdministration, name: str, consuming: Consuming
    ) -> None:
        administration.create([TopicCreation(name, 1, 1)])
        with consuming(name, f"{name}-mirror"), pytest.raises(RefusedError, match=r"-mirror \(UnknownMemberIdError"):
            administration.set_group(f"{name}-mirror", {f"{name}/0": 0})

    def test_offsets_of_a_missing_topic_are_refused(self, administration: KafkaAdministration, name: str) -> None:
        with pytest.raises(RefusedError, match=name):
            administration.ends(name)

    def test_a_dead_cluster_is_unreachable_and_not_empty(self, elsewhere: KafkaAdministration) -> None:
        with pytest.raises(UnreachableError, match="could be reached"):
            elsewhere.describe(["any"])
