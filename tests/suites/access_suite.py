"""What every AccessAdministration does. Subclasses give it, one that reaches no broker, and `logs_in`."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TypeAlias

import pytest

from sluice.errors import RefusedError, UnreachableError
from sluice.provisioning.access.acl import CLUSTER, Acl, Resource, Right
from sluice.provisioning.access.administration import AccessAdministration, Credential
from sluice.specs.model.access import Mechanism, Operation, Pattern, ResourceKind

LogsIn: TypeAlias = Callable[[str, str], bool]
"""Whether a user can connect with a password by SCRAM-SHA-512."""


def acl(user: str, operation: Operation = Operation.READ, host: str = "127.0.0.1", **resource: object) -> Acl:
    named = {"kind": ResourceKind.TOPIC, "name": "orders"} | resource
    return Acl(f"User:{user}", Right(Resource(**named), operation), host)  # type: ignore[arg-type]


class AccessAdministrationSuite:
    @pytest.fixture
    def user(self) -> str:
        return f"user-{uuid.uuid4().hex[:12]}"

    @staticmethod
    def own(administration: AccessAdministration, user: str) -> set[Acl]:
        return {acl for acl in administration.acls() if acl.principal == f"User:{user}"}

    def test_what_is_granted_is_listed_as_it_was_asked_for(
        self, administration: AccessAdministration, user: str
    ) -> None:
        wanted = {
            acl(user),
            acl(user, Operation.WRITE, "*"),
            acl(user, name="*"),
            acl(user, name="or", pattern=Pattern.PREFIXED),
            acl(user, kind=ResourceKind.GROUP, name="readers"),
            acl(user, Operation.WRITE, kind=ResourceKind.TRANSACTIONAL_ID, name="sender"),
            acl(user, host="0:0:0:0:0:0:0:1"),
            Acl(f"User:{user}", Right(CLUSTER, Operation.ALTER), "127.0.0.1"),
            Acl(f"User:{user}", Right(Resource(ResourceKind.TOPIC, "orders"), Operation.DELETE), "*", denied=True),
        }
        administration.grant(wanted)
        assert self.own(administration, user) == wanted

    @pytest.mark.parametrize("operation", [o for o in Operation if o is not Operation.CLUSTER_ACTION])
    def test_every_operation_has_the_same_name_on_both_sides(
        self, administration: AccessAdministration, user: str, operation: Operation
    ) -> None:
        administration.grant([acl(user, operation)])
        assert self.own(administration, user) == {acl(user, operation)}

    def test_granting_twice_is_granting_once(self, administration: AccessAdministration, user: str) -> None:
        administration.grant([acl(user)])
        administration.grant([acl(user), acl(user, Operation.WRITE)])
        assert self.own(administration, user) == {acl(user), acl(user, Operation.WRITE)}

    def test_exactly_what_is_named_is_revoked(self, administration: AccessAdministration, user: str) -> None:
        named = acl(user)
        neighbours = {
            acl(user, Operation.WRITE),
            acl(user, host="*"),
            acl(user, name="*"),
            acl(user, name="orders", pattern=Pattern.PREFIXED),
            acl(user, kind=ResourceKind.GROUP),
            acl(f"{user}2"),
            Acl(named.principal, named.right, named.host, denied=True),
        }
        administration.grant({named, *neighbours})
        administration.revoke([named])
        assert self.own(administration, user) | self.own(administration, f"{user}2") == neighbours

    def test_revoking_what_is_gone_changes_nothing(self, administration: AccessAdministration, user: str) -> None:
        administration.grant([acl(user)])
        administration.revoke([acl(user, Operation.WRITE)])
        assert self.own(administration, user) == {acl(user)}

    def test_granting_and_revoking_nothing_is_allowed(self, administration: AccessAdministration) -> None:
        before = administration.acls()
        administration.grant([])
        administration.revoke([])
        assert administration.acls() == before

    def test_of_many_entries_only_the_wrong_one_is_refused(
        self, administration: AccessAdministration, user: str
    ) -> None:
        nobody = Acl(user, acl(user).right, "*")
        with pytest.raises(RefusedError, match=r"refused to grant .*read topic orders from any host"):
            administration.grant([nobody, acl(user)])
        assert self.own(administration, user) == {acl(user)}
        assert nobody not in administration.acls()

    def test_a_user_logs_in_with_its_password_and_no_other(
        self, administration: AccessAdministration, user: str, logs_in: LogsIn
    ) -> None:
        credential = Credential(user, Mechanism.SHA_512, 4096)
        administration.set_password(credential, "correct horse")
        assert credential in administration.credentials()
        assert logs_in(user, "correct horse")
        assert not logs_in(user, "battery staple")

    def test_another_password_replaces_the_first(
        self, administration: AccessAdministration, user: str, logs_in: LogsIn
    ) -> None:
        administration.set_password(Credential(user, Mechanism.SHA_512, 4096), "correct horse")
        administration.set_password(Credential(user, Mechanism.SHA_512, 8192), "battery staple ü")
        assert {c for c in administration.credentials() if c.user == user} == {
            Credential(user, Mechanism.SHA_512, 8192)
        }
        assert logs_in(user, "battery staple ü")
        assert not logs_in(user, "correct horse")

    def test_a_password_goes_and_that_of_another_mechanism_stays(
        self, administration: AccessAdministration, user: str
    ) -> None:
        weak, strong = Credential(user, Mechanism.SHA_256, 4096), Credential(user, Mechanism.SHA_512, 4096)
        administration.set_password(weak, "correct horse")
        administration.set_password(strong, "correct horse")
        administration.drop_password(user, Mechanism.SHA_256)
        assert {c for c in administration.credentials() if c.user == user} == {strong}

    def test_a_password_that_is_not_there_is_not_removed(self, administration: AccessAdministration, user: str) -> None:
        with pytest.raises(RefusedError, match=f"refused to remove the password of {user}"):
            administration.drop_password(user, Mechanism.SHA_512)

    def test_a_refused_password_is_not_told(self, administration: AccessAdministration, user: str) -> None:
        with pytest.raises(RefusedError, match=f"refused to set the password of {user}") as refused:
            administration.set_password(Credential(user, Mechanism.SHA_512, 100), "correct horse")
        assert "horse" not in str(refused.value)

    def test_a_dead_cluster_is_unreachable_and_not_empty(self, elsewhere: AccessAdministration) -> None:
        with pytest.raises(UnreachableError, match="could be reached"):
            elsewhere.acls()
        with pytest.raises(UnreachableError, match="could be reached"):
            elsewhere.credentials()
