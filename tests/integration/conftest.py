"""What integration tests share: one real broker in a private folder on free ports, and one Spark session."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.settings import settings
from sluice.spark.session.session import session
from sluice.specs.model.resources import Resources
from tests.integration.brokers import free_ports, running


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"), *free_ports(), settings().jars)
    broker.prepare()
    with running(broker):
        yield broker


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests that run inside this process."""
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it would speak after pytest has closed its output
    warehouse = tmp_path_factory.mktemp("warehouse")
    spark = session("tests", Resources(), jars=settings().jars / "spark", warehouse=warehouse)
    yield spark
    spark.stop()


@pytest.fixture
def topic_name() -> str:
    """A topic name that nobody else uses."""
    return f"topic_{uuid.uuid4().hex[:12]}"
