"""A broker with an authorizer for each module that asks for one: what is granted there is nobody else's affair."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sluice.settings import settings
from tests.integration.secured import SecuredBroker, running_secured


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with running_secured(tmp_path_factory.mktemp("secured"), settings().jars) as broker:
        yield broker
