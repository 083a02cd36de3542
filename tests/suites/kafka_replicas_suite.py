"""What every cluster of four brokers does with replicas. Subclasses give it as `administration`, and `racks`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping

import pytest

from sluice.clock import SystemClock
from sluice.errors import RefusedError
from sluice.launch.processes import wait_until
from sluice.provisioning.replicas.moving import MoveOptions, MoveProgress, cancel, move
from sluice.topics.administration import KafkaAdministration, TopicCreation, TopicState
from sluice.topics.replica_administration import THROTTLED, BrokerState, Throttle
from tests.waiting import eventually


class KafkaReplicasSuite:
    @pytest.fixture
    def name(self, administration: KafkaAdministration) -> str:
        name = f"topic_{uuid.uuid4().hex[:12]}"
        administration.create([TopicCreation(name, 2, 3, {}, ((2, 1, 3), (3, 4, 1)))])
        return name

    def test_brokers_are_listed_with_their_racks(
        self, administration: KafkaAdministration, racks: Mapping[int, str]
    ) -> None:
        assert administration.cluster() == tuple(BrokerState(broker, rack) for broker, rack in sorted(racks.items()))

    def test_a_topic_is_created_and_grown_where_it_was_asked_for(
        self, administration: KafkaAdministration, name: str
    ) -> None:
        administration.grow(name, 3, [(4, 2, 1)])
        state = described(administration, name, lambda state: [len(each) for each in state.in_sync] == [3, 3, 3])
        assert state.replicas == ((2, 1, 3), (3, 4, 1), (4, 2, 1))
        assert state.leaders == (2, 3, 4)
        assert state.in_sync == ((1, 2, 3), (1, 3, 4), (1, 2, 4))

    def test_replicas_move_and_the_preferred_leader_leads_afterwards(
        self, administration: KafkaAdministration, name: str
    ) -> None:
        told: list[MoveProgress] = []
        move(administration, {(name, 0): (4, 2, 3), (name, 1): (1, 4, 3)}, MoveOptions(on_progress=told.append))
        state = described(administration, name, lambda state: state.leaders == (4, 1))
        assert state.leaders == (4, 1)
        assert state.replicas == ((4, 2, 3), (1, 4, 3))
        assert state.in_sync == ((2, 3, 4), (1, 3, 4))
        assert administration.moving() == {}
        assert not set(THROTTLED) & state.configs.keys()
        assert told[-1].moved == 2

    def test_the_number_of_replicas_changes(self, administration: KafkaAdministration, name: str) -> None:
        move(administration, {(name, 0): (2,), (name, 1): (3, 4, 1, 2)}, MoveOptions())
        assert administration.describe([name])[name].replicas == ((2,), (3, 4, 1, 2))

    def test_a_move_to_a_broker_that_there_is_not_is_refused(
        self, administration: KafkaAdministration, name: str
    ) -> None:
        with pytest.raises(RefusedError, match=f"{name}/0"):
            administration.reassign({(name, 0): (2, 1, 99)})
        assert administration.describe([name])[name].replicas[0] == (2, 1, 3)

    def test_what_does_not_move_need_not_turn_back(self, administration: KafkaAdministration, name: str) -> None:
        administration.reassign({(name, 0): None})
        assert cancel(administration, [name]) == ()

    def test_a_throttle_is_seen_and_goes(self, administration: KafkaAdministration, name: str) -> None:
        administration.throttle(Throttle(1_000_000, {(name, 0): (2, 1)}, {(name, 0): (4,)}))
        configs = until_shown(administration, name, shown=True)
        assert [configs[key] for key in THROTTLED] == ["0:2,0:1", "0:4"]
        administration.unthrottle([name])
        assert until_shown(administration, name, shown=False) == {}
        administration.unthrottle([name])

    def test_leaders_are_elected_where_they_are_not(self, administration: KafkaAdministration, name: str) -> None:
        administration.reassign({(name, 0): (1, 2, 3)})
        administration.elect([(name, 0), (name, 1)])
        assert described(administration, name, lambda state: state.leaders == (1, 3)).leaders == (1, 3)
        administration.elect([(name, 0)])
        administration.elect([])

    def test_sizes_are_told_per_broker(self, administration: KafkaAdministration, name: str) -> None:
        brokers = {(name, 0): {1, 2, 3}, (name, 1): {1, 3, 4}}

        def told() -> dict[tuple[str, int], set[int]]:
            return {key: set(sizes) for key, sizes in administration.sizes([name]).items()}

        # A broker makes its replica's folder some time after the topic is there.
        assert wait_until(lambda: told() == brokers, SystemClock(), deadline_seconds=120), told()
        assert administration.sizes([]) == {}

    def test_a_deleted_topic_is_gone_and_deleting_it_again_is_allowed(
        self, administration: KafkaAdministration, name: str
    ) -> None:
        administration.delete([name])
        # Each broker hears of it by itself.
        eventually(lambda: administration.describe([name]) == {})
        administration.delete([name])
        administration.delete([])


def described(
    administration: KafkaAdministration, name: str, expected: Callable[[TopicState], bool], deadline_seconds: float = 30
) -> TopicState:
    """Describe a topic until it is as expected, or the deadline has passed; return the last answer.

    Any broker may answer, and each learns of partitions, leaders and replicas in sync by itself, after a while.
    """
    clock = SystemClock()
    end = clock.monotonic() + deadline_seconds
    while not expected(state := administration.describe([name])[name]) and clock.monotonic() < end:
        clock.sleep(0.1)
    return state


def until_shown(administration: KafkaAdministration, name: str, *, shown: bool) -> Mapping[str, str]:
    """Wait until a topic shows a throttle, or none; brokers hear of configurations one after the other."""
    end = time.monotonic() + 15
    while (configs := administration.describe([name])[name].configs) is not None:
        if bool(set(THROTTLED) & configs.keys()) == shown or time.monotonic() > end:
            return configs
    raise AssertionError
