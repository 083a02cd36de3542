"""The adapter against a real broker with an authorizer, and against one without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import NotReadyError, RefusedError, UnreachableError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.client.connection import client_arguments
from sluice.provisioning.access.administration import Credential
from sluice.specs.model.access import Mechanism
from tests.integration.secured import SecuredBroker
from tests.suites.access_suite import AccessAdministrationSuite, LogsIn, acl


class TestKafkaPythonAccess(AccessAdministrationSuite):
    @pytest.fixture
    def administration(self, secured: SecuredBroker) -> Iterator[KafkaPythonAccess]:
        with KafkaPythonAccess([secured.everything]) as administration:
            yield administration

    @pytest.fixture
    def elsewhere(self) -> KafkaPythonAccess:
        return KafkaPythonAccess(["127.0.0.1:1"])

    @pytest.fixture
    def logs_in(self, secured: SecuredBroker) -> LogsIn:
        def connect(user: str, password: str) -> bool:
            arguments = client_arguments(secured.client(user, password))
            try:
                KafkaAdminClient(bootstrap_servers=secured.bootstrap, bootstrap_timeout_ms=3_000, **arguments).close()
            except KafkaError:
                return False
            return True

        return connect


def test_a_cluster_without_an_authorizer_says_that_it_is_open_to_all(broker: BrokerProcess) -> None:
    with KafkaPythonAccess([broker.bootstrap]) as access:
        for ask in (access.acls, lambda: access.grant([acl("u")]), lambda: access.revoke([acl("u")])):
            with pytest.raises(NotReadyError, match="it has no authorizer"):
                ask()


def test_whoever_has_no_right_to_it_is_refused_and_told_so(secured: SecuredBroker) -> None:
    with KafkaPythonAccess([secured.everything]) as access:
        access.set_password(Credential("nobody", Mechanism.SHA_512, 4096), "correct horse")
    with KafkaPythonAccess([secured.bootstrap], secured.client("nobody", "correct horse")) as nobody:
        with pytest.raises(UnreachableError, match=r"does not allow us to list who may do what \(ClusterAuth"):
            nobody.acls()
        with pytest.raises(UnreachableError, match="does not allow us to list the users"):
            nobody.credentials()
        with pytest.raises(RefusedError, match=r"refused to grant User:nobody: read topic orders .*ClusterAuth"):
            nobody.grant([acl("nobody")])
        with pytest.raises(RefusedError, match=r"refused to revoke User:nobody: read topic orders .*ClusterAuth"):
            nobody.revoke([acl("nobody")])
        with pytest.raises(RefusedError, match="refused to set the password of nobody"):
            nobody.set_password(Credential("nobody", Mechanism.SHA_512, 8192), "battery staple")
