"""The twin passes the suite of the real adapter."""

from __future__ import annotations

import pytest

from sluice.specs.model.access import Mechanism
from tests.suites.access_suite import AccessAdministrationSuite, LogsIn
from tests.twins.access import InMemoryAccess


class TestInMemoryAccess(AccessAdministrationSuite):
    @pytest.fixture
    def administration(self) -> InMemoryAccess:
        return InMemoryAccess()

    @pytest.fixture
    def elsewhere(self) -> InMemoryAccess:
        dead = InMemoryAccess()
        dead.reachable = False
        return dead

    @pytest.fixture
    def logs_in(self, administration: InMemoryAccess) -> LogsIn:
        def connect(user: str, password: str) -> bool:
            _, known = administration.passwords.get((user, Mechanism.SHA_512), (0, None))
            return known == password

        return connect
