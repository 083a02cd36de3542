"""What integration tests share: one real broker for the whole session, in a private folder on free ports."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from sluice.local.broker import Broker
from sluice.settings import settings
from tests.integration.brokers import free_ports, running


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("broker"), *free_ports(), settings().jars)
    broker.prepare()
    with running(broker):
        yield broker


@pytest.fixture
def topic_name() -> str:
    """A topic name that nobody else uses."""
    return f"topic_{uuid.uuid4().hex[:12]}"
