"""Spark reads from and writes to brokers that ask who connects, and shows the password to nobody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sluice.devstack.kafka.admin import administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.settings import settings
from tests.integration.brokers import free_ports, running
from tests.integration.spark.connections.round_trip import new_topic, write_and_read


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[BrokerProcess]:
    folder = tmp_path / "kafka"
    broker = BrokerProcess(folder, *free_ports(), settings().jars, admin=administrator(folder))
    broker.prepare()
    with running(broker):
        yield broker


@pytest.mark.timeout(300)
def test_records_go_out_and_come_back_and_nothing_tells_the_password(
    spark: SparkSession, secured: BrokerProcess, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plans = write_and_read(spark, new_topic(secured.bootstrap, "told", secured.client), tmp_path)
    assert secured.admin is not None
    password = secured.admin.password
    assert password not in plans
    assert not [
        path
        for folder in ("checkpoint", "table")
        for path in (tmp_path / folder).rglob("*")
        if path.is_file() and password.encode() in path.read_bytes()
    ]
    assert password not in "".join(capfd.readouterr())
