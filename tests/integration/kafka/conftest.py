"""What tests of Kafka share: the common broker's administration, and for each module that asks a broker of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.settings import settings
from tests.integration.secured import SecuredBroker, running_secured


@pytest.fixture
def administration(broker: BrokerProcess) -> Iterator[KafkaPythonAdministration]:
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        yield administration


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker with an authorizer: what is granted there is nobody else's affair."""
    with running_secured(tmp_path_factory.mktemp("secured"), settings().jars) as broker:
        yield broker
