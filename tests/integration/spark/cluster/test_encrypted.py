"""Executors of a standalone cluster, which make their connections by themselves, reach brokers that encrypt and ask."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from sluice.devstack.kafka.admin import administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.producer import KafkaPythonProducer
from sluice.settings import settings
from sluice.spark.records.kafka_source import KafkaTopic, read_between
from sluice.spark.session.session import session
from sluice.specs.model.resources import Resources
from tests.integration.brokers import free_ports, running
from tests.integration.clusters import running_cluster
from tests.integration.spark.connections.round_trip import new_topic

RECORDS = 20


def read_by_executors(master: str, topic: KafkaTopic, warehouse: Path) -> int:
    """Return how many records the executors of a cluster read; in a process whose only session it is."""
    spark = session("encrypted", Resources(cores=1), jars=settings().jars / "spark", warehouse=warehouse, master=master)
    try:
        return read_between(spark, topic, {f"{topic.name}/0": 0}, {f"{topic.name}/0": RECORDS}).count()
    finally:
        spark.stop()


@pytest.mark.verify
@pytest.mark.timeout(400)
def test_executors_read_from_brokers_that_encrypt(tmp_path: Path, topic_name: str) -> None:
    admin = administrator(tmp_path / "kafka")
    broker = BrokerProcess(tmp_path / "kafka", *free_ports(), settings().jars, admin=admin)
    broker.prepare()
    with running(broker), running_cluster(tmp_path / "cluster", 1) as cluster:
        topic = new_topic(broker.bootstrap, topic_name, broker.client)
        with KafkaPythonProducer([broker.bootstrap], topic_name, broker.client) as producer:
            sent = [producer.send(None, b"value") for _ in range(RECORDS)]
            assert [each.wait().offset for each in sent] == list(range(RECORDS))
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            reading = pool.submit(read_by_executors, cluster.cluster.master, topic, tmp_path / "warehouse")
            assert reading.result(240) == RECORDS
