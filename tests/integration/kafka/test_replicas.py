"""Replicas on four real brokers: the suite of the twin, and moves while producers write and a broker dies."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Self

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from sluice.errors import RefusedError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.execution import ApplyOptions
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.changes import ChangeKind, Reassignment
from sluice.provisioning.plans.declared import Declared
from sluice.provisioning.replicas.moving import MoveOptions, MoveProgress, cancel, move
from sluice.specs.model.topic_shape import TopicShape
from sluice.topics.administration import TopicCreation
from sluice.topics.replica_administration import THROTTLED
from tests.integration.brokers import RunningCluster, running_cluster
from tests.suites.kafka_replicas_suite import KafkaReplicasSuite
from tests.waiting import eventually

SPREAD = {"failure-domains": ["fault", "update"]}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), 4) as found:
        yield found


@pytest.fixture
def administration(cluster: RunningCluster) -> Iterator[KafkaPythonAdministration]:
    with KafkaPythonAdministration(cluster.bootstrap) as found:
        yield found


class TestKafkaPythonReplicas(KafkaReplicasSuite):
    @pytest.fixture
    def racks(self) -> Mapping[int, str]:
        return {1: "0/0", 2: "1/1", 3: "2/2", 4: "0/1"}

    @pytest.fixture
    def administration(self, cluster: RunningCluster) -> Iterator[KafkaPythonAdministration]:  # type: ignore[override]
        with KafkaPythonAdministration(cluster.bootstrap) as found:
            yield found


def shape(**values: object) -> TopicShape:
    return TopicShape.model_validate({"partitions": 4, "replication": 3, "placement": SPREAD} | values)


def declared(**topics: TopicShape) -> Declared:
    return Declared(topics, domains=("fault", "update"))


def approve(wanted: Declared, administration: KafkaPythonAdministration, pace: MoveOptions | None = None) -> None:
    """Plan and apply, as often as the plan is out of date: brokers learn of a new topic one after the other."""
    options = ApplyOptions(pace or MoveOptions())
    eventually(lambda: approved(wanted, administration, options), seconds=60)


def approved(wanted: Declared, administration: KafkaPythonAdministration, options: ApplyOptions) -> bool:
    todo = current_plan(wanted, administration)
    try:
        apply(wanted, administration, approval=Approval(todo.id, frozenset(todo.losing)), options=options)
    except RefusedError as error:
        if "out of date" not in error.message:
            raise
        return False
    return True


def write(cluster: RunningCluster, topic: str, megabytes: int) -> None:
    with KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all", linger_ms=20) as producer:
        for number in range(megabytes * 10):
            producer.send(topic, bytes(100_000), partition=number % 4)


@pytest.mark.timeout(300)
def test_a_topic_is_created_spread_replicated_and_moved_by_plans(
    administration: KafkaPythonAdministration, topic_name: str
) -> None:
    approve(declared(**{topic_name: shape(replication=1, placement="any", partitions=2)}), administration)
    wanted = declared(**{topic_name: shape(configs={"min.insync.replicas": "2"})})
    approve(wanted, administration)
    state = administration.describe([topic_name])[topic_name]
    assert {len(replicas) for replicas in state.replicas} == {3}
    assert not any({1, 4} <= set(replicas) for replicas in state.replicas), "they share the fault domain 0"
    assert not any({2, 4} <= set(replicas) for replicas in state.replicas), "they share the update domain 1"
    assert state.configs["min.insync.replicas"] == "2"
    assert not current_plan(wanted, administration)


@pytest.mark.verify
@pytest.mark.timeout(300)
def test_an_interrupted_move_goes_back_and_leaves_no_throttle(
    cluster: RunningCluster, administration: KafkaPythonAdministration, topic_name: str
) -> None:
    administration.create([TopicCreation(topic_name, 4, 2, {}, ((1, 2),) * 4)])
    write(cluster, topic_name, 20)

    def interrupt(progress: MoveProgress) -> None:
        if progress.size:
            raise KeyboardInterrupt

    targets = {(topic_name, partition): (3, 4) for partition in range(4)}
    with pytest.raises(KeyboardInterrupt):
        move(administration, targets, MoveOptions(throttle=100_000, on_progress=interrupt))
    state = administration.describe([topic_name])[topic_name]
    assert state.replicas == ((1, 2),) * 4
    assert not set(THROTTLED) & state.configs.keys()
    assert administration.moving() == {}


@pytest.mark.verify
@pytest.mark.timeout(300)
def test_a_move_that_was_killed_is_found_ended_and_its_throttle_removed(
    cluster: RunningCluster, administration: KafkaPythonAdministration, topic_name: str
) -> None:
    administration.create([TopicCreation(topic_name, 4, 2, {"retention.ms": "-1"}, ((1, 2),) * 4)])
    write(cluster, topic_name, 20)

    class KilledError(BaseException):
        pass

    class Killed(KafkaPythonAdministration):
        """Is never heard of again after its first move has begun."""

        def reassign(self, targets: Mapping[tuple[str, int], tuple[int, ...] | None]) -> None:
            if None in targets.values():
                return
            super().reassign(targets)

        def unthrottle(self, topics: object) -> None:
            del topics

    def die(progress: MoveProgress) -> None:
        assert progress.size
        raise KilledError

    with Killed(cluster.bootstrap) as dying, pytest.raises(KilledError):
        move(
            dying, {(topic_name, p): (3, 4) for p in range(4)}, MoveOptions(throttle=100_000, batch=2, on_progress=die)
        )
    assert len(administration.moving()) == 2
    wanted = Declared({topic_name: shape(replication=2, placement="any")})
    found = current_plan(wanted, administration)
    assert {item.kind for item in found.changes} == {ChangeKind.MOVE, ChangeKind.UNTHROTTLE}
    assert not found.guarded, "it was approved once"
    apply(wanted, administration, options=ApplyOptions(MoveOptions(throttle=50_000_000)))
    state = administration.describe([topic_name])[topic_name]
    assert state.replicas == ((3, 4), (3, 4), (1, 2), (1, 2))
    assert not set(THROTTLED) & state.configs.keys()
    assert not current_plan(wanted, administration)


class Writing:
    """Writes numbers with acks=all until it is told to stop, and knows which were acknowledged."""

    def __init__(self, bootstrap: list[str], topic: str) -> None:
        self.acknowledged: list[int] = []
        self._end = threading.Event()
        self._bootstrap, self._topic = bootstrap, topic
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(120)
        assert not self._thread.is_alive()

    def _write(self) -> None:
        number = 0
        with closing(
            KafkaProducer(bootstrap_servers=self._bootstrap, acks="all", retries=10**6, delivery_timeout_ms=100_000)
        ) as producer:
            while not self._end.is_set():
                sent = [(n, producer.send(self._topic, str(n).encode())) for n in range(number, number + 50)]
                number += 50
                for one, future in sent:
                    try:
                        future.get(100)
                    except KafkaError:
                        continue
                    self.acknowledged.append(one)


def read_numbers(bootstrap: list[str], topic: str) -> set[int]:
    with closing(KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)) as consumer:
        partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        found: set[int] = set()
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            for records in consumer.poll(1000).values():
                found.update(int(record.value) for record in records)
    return found


@pytest.mark.timeout(400)
@pytest.mark.verify
def test_what_was_acknowledged_survives_a_move_during_which_a_broker_dies(
    cluster: RunningCluster, administration: KafkaPythonAdministration, topic_name: str
) -> None:
    approve(declared(**{topic_name: shape(configs={"min.insync.replicas": "2"})}), administration)
    state = administration.describe([topic_name])[topic_name]
    # Each partition goes to other brokers than the rule wants, so that the plan has something to move.
    crowded = {
        (topic_name, number): (replicas[0], *sorted({1, 2, 4} - {replicas[0]}))[:3]
        for number, replicas in enumerate(state.replicas)
    }
    move(administration, crowded, MoveOptions())
    fired: list[int] = []

    def kill(progress: MoveProgress) -> None:
        if not fired and progress.moved:
            cluster.kill(4)
            fired.append(progress.moved)
        elif fired and progress.waiting_for:
            cluster.start(4)

    with Writing(cluster.bootstrap, topic_name) as writing:
        try:
            todo = current_plan(declared(**{topic_name: shape(configs={"min.insync.replicas": "2"})}), administration)
            assert any(isinstance(item.detail, Reassignment) and item.detail.copies for item in todo.changes)
            approve(
                declared(**{topic_name: shape(configs={"min.insync.replicas": "2"})}),
                administration,
                MoveOptions(batch=1, on_progress=kill),
            )
        finally:
            if 4 not in cluster.processes:
                cluster.start(4)
    assert fired, "no broker was killed"
    assert len(writing.acknowledged) > 100
    assert set(writing.acknowledged) <= read_numbers(cluster.bootstrap, topic_name)


@pytest.mark.verify
@pytest.mark.timeout(300)
def test_a_replica_that_is_out_of_sync_stays_in_the_list(
    cluster: RunningCluster, administration: KafkaPythonAdministration, topic_name: str
) -> None:
    wanted = declared(**{topic_name: shape()})
    approve(wanted, administration)
    was = administration.describe([topic_name])[topic_name].replicas
    cluster.kill(3)
    try:
        eventually(lambda: 3 not in administration.brokers())
        found = current_plan(wanted, administration)
        assert not found.refused
        assert not any(isinstance(item.detail, Reassignment) for item in found.changes)
        assert [kept.value for kept in found.kept] == ["placement"]
        apply(wanted, administration)
        assert administration.describe([topic_name])[topic_name].replicas == was
    finally:
        cluster.start(3)
    assert cancel(administration, [topic_name]) == ()
