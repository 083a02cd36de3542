"""A Kafka that offers as little as Event Hubs: plans, positions and records work, and it is asked for nothing else."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import NotReadyError, UnreachableError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.stream_options import KAFKA_READ, KAFKA_SINK
from sluice.kafka.producer import KafkaPythonProducer
from sluice.kafka.records import KafkaPythonRecords
from sluice.provisioning.access_scope import AccessScope
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.plans.changes import Kept
from sluice.provisioning.plans.declared import Declared
from sluice.settings import settings
from sluice.spark.records.kafka_source import KafkaTopic
from sluice.specs.deployments.services import APACHE, EVENT_HUBS
from sluice.specs.model.access import Role
from sluice.topics.administration import TopicCreation
from sluice.topics.identity import is_by_name
from tests.integration.brokers import add_listeners, free_ports, running
from tests.integration.kafka import older_protocol as proxy
from tests.unit.provisioning.access.catalogs import catalog, with_password
from tests.unit.provisioning.plans.topic_plans import spec

pytestmark = pytest.mark.verify

FEATURES = dict(EVENT_HUBS.client) | {"security.protocol": "PLAINTEXT"}
"""What the profile sets, without the encryption and the login that this one does not ask for."""


@dataclass(frozen=True)
class _Hubs:
    """Where the service answers, and the broker behind it."""

    address: str
    behind: str
    seen: proxy.OlderProtocol


@pytest.fixture(scope="module")
def hubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Hubs]:
    port, controller, open_port, listening = free_ports(4)
    broker = BrokerProcess(tmp_path_factory.mktemp("hubs"), port, controller, settings().jars)
    broker.prepare()
    add_listeners(broker, {"PROXIED": (open_port, f"127.0.0.1:{listening}")})
    with running(broker), proxy.older_protocol(listening, open_port, proxy.EVENT_HUBS) as seen:
        yield _Hubs(f"127.0.0.1:{listening}", broker.bootstrap, seen)


@pytest.fixture
def topic(hubs: _Hubs) -> str:
    name = f"topic_{uuid.uuid4().hex[:12]}"
    with KafkaPythonAdministration([hubs.behind]) as administration:
        administration.create([TopicCreation(name, 2, 1, {"retention.ms": "1000000"})])
    return name


def test_a_topic_without_an_id_is_known_by_its_name(hubs: _Hubs, topic: str) -> None:
    with KafkaPythonAdministration([hubs.address], FEATURES) as administration:
        state, extent = administration.describe([topic])[topic], administration.extent(topic)
        assert is_by_name(state.topic_id)
        assert extent.topic_id == state.topic_id
        assert (state.partitions, extent.ends) == (2, {0: 0, 1: 0})
        assert [broker.id for broker in administration.cluster()] == [1]
        assert topic in administration.names()


def test_a_plan_lists_what_the_service_does_not_do_and_nobody_tries_it(hubs: _Hubs, topic: str) -> None:
    topics = {topic: spec(topic, 4), "missing": spec("missing", placement="balanced-leaders")}
    with KafkaPythonAdministration([hubs.address], FEATURES) as administration:
        done, _ = apply(Declared(topics, 1, service=EVENT_HUBS), administration)
    assert not done
    assert {(each.subject, each.value) for each in done.unable} == {
        ("missing", "placement"),
        ("missing", "topic"),
        (topic, "partitions"),
        (topic, "retention.ms"),
    }
    assert [each.value for each in done.kept if isinstance(each, Kept)] == ["id"]
    assert hubs.seen.asked <= proxy.EVENT_HUBS.keys()


def test_without_the_profile_the_plan_says_to_name_it(hubs: _Hubs, topic: str) -> None:
    declared = Declared({topic: spec(topic, 2, placement="balanced-leaders")}, 1, service=APACHE)
    with (
        KafkaPythonAdministration([hubs.address], FEATURES) as administration,
        pytest.raises(UnreachableError, match=r"does not offer what it takes to list the moves .*kafka\.profile"),
    ):
        current_plan(declared, administration)


def test_access_is_not_asked_for_and_without_the_profile_it_is_said_to_be_missing(hubs: _Hubs) -> None:
    def password(variable: str) -> str:
        raise NotReadyError(variable)

    with KafkaPythonAccess([hubs.address], FEATURES) as access:
        specs = catalog(with_password(Role.BACKFILL))
        done = AccessScope(specs, access, password, service=EVENT_HUBS).apply()
        assert [each.value for each in done.unable] == ["access", "password"]
        with pytest.raises(UnreachableError, match=r"does not offer what it takes to list who may do what"):
            AccessScope(specs, access, password).plan()
    assert hubs.seen.asked <= proxy.EVENT_HUBS.keys()


def test_records_are_sent_and_read_with_the_profiles_settings(hubs: _Hubs, topic: str) -> None:
    with KafkaPythonProducer([hubs.address], topic, FEATURES) as producer:
        for number in range(3):
            producer.send(b"key", str(number).encode(), partition=1).wait()
    reader = KafkaPythonRecords([hubs.address], FEATURES, patience_seconds=20)
    assert [record.value for record in reader.read(topic, {1: 0}, {1: 3})] == [b"0", b"1", b"2"]
    with KafkaPythonAdministration([hubs.address], FEATURES) as administration:
        assert administration.ends(topic) == {0: 0, 1: 3}


def test_spark_writes_and_reads_with_the_profiles_settings(hubs: _Hubs, topic: str, spark: SparkSession) -> None:
    place = KafkaTopic((hubs.address,), topic, "id", FEATURES)
    rows = spark.createDataFrame([("a", "1"), ("b", "2")], "key string, value string")
    rows.write.format("kafka").options(**place.spark_options, **KAFKA_SINK).option("topic", topic).save()
    read = spark.read.format("kafka").options(**place.spark_options, **KAFKA_READ).option("subscribe", topic).load()
    assert sorted(bytes(row["value"]) for row in read.collect()) == [b"1", b"2"]
    assert hubs.seen.asked <= proxy.EVENT_HUBS.keys()
