"""The adapter against a real broker with an authorizer, and against one without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACLPermissionType, ACLResourcePatternType, ResourceType
from kafka.errors import KafkaError
from kafka.protocol.admin import CreateAclsRequest

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import NotReadyError, RefusedError, UnreachableError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.client.connection import client_arguments
from sluice.launch.processes import wait_until
from sluice.provisioning.access.administration import Credential, UnknownRight
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


def unknown(access: KafkaPythonAccess) -> list[UnknownRight]:
    return [right for right in access.rights() if isinstance(right, UnknownRight)]


def test_a_right_that_only_newer_clients_know_disturbs_no_other(secured: SecuredBroker) -> None:
    two_phase_commit = CreateAclsRequest.AclCreation(
        resource_type=ResourceType.TRANSACTIONAL_ID,
        resource_name="sender",
        resource_pattern_type=ACLResourcePatternType.LITERAL,
        principal="User:newer",
        host="*",
        operation=15,
        permission_type=ACLPermissionType.ALLOW,
    )
    with KafkaPythonAccess([secured.everything]) as access:
        access.grant([acl("older")])
        manager = access._connected._manager
        answer = manager.run(manager.send, CreateAclsRequest(creations=[two_phase_commit], min_version=0))
        assert [result.error_code for result in answer.results] == [0]
        assert wait_until(lambda: bool(unknown(access)), SystemClock(), deadline_seconds=60)
        assert [each.principal for each in unknown(access)] == ["User:newer"]
        assert acl("older") in access.acls()
        access.revoke([acl("older")])
        assert acl("older") not in access.acls()
