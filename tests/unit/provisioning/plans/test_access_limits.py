"""A service that keeps users and rights itself is not asked for them; the plan says where to do what is declared."""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn

from sluice.provisioning.access.acl import Acl
from sluice.provisioning.access_scope import AccessScope
from sluice.provisioning.plans.changes import ChangeKind
from sluice.provisioning.plans.plan import Plan
from sluice.specs.deployments.services import CONFLUENT_CLOUD, EVENT_HUBS, KafkaService
from sluice.specs.model.access import PrincipalSpec, Role
from tests.twins.access import InMemoryAccess
from tests.unit.provisioning.access.catalogs import catalog, principal, with_password


class ServiceAccess(InMemoryAccess):
    """Fails on everything that a service does not offer."""

    def __init__(self, service: KafkaService) -> None:
        super().__init__()
        self.service = service

    def _reach(self) -> None:
        if self.service.passwords is not None and self.service.rights is not None:
            self._unsupported()

    def grant(self, acls: Collection[Acl]) -> None:
        if acls:
            super().grant(acls)

    def revoke(self, acls: Collection[Acl]) -> None:
        if acls:
            super().revoke(acls)

    def credentials(self) -> NoReturn:
        self._unsupported()

    def _unsupported(self) -> NoReturn:
        raise AssertionError(f"{self.service.title} was asked for what it does not do")


def password(variable: str) -> NoReturn:
    raise AssertionError(f"the password in {variable} was asked for")


def applied(service: KafkaService, *specs: PrincipalSpec, rotate: tuple[str, ...] = ()) -> tuple[Plan, InMemoryAccess]:
    cluster = ServiceAccess(service)
    return AccessScope(catalog(*specs), cluster, password, rotate, service).apply(), cluster


def test_event_hubs_is_not_asked_and_each_principal_is_listed_once_for_rights_and_once_for_its_password() -> None:
    done, _ = applied(EVENT_HUBS, with_password(Role.BACKFILL), rotate=("backfill",))
    assert not done
    assert done.access == ()
    assert [(each.subject, each.value, each.current) for each in done.unable] == [
        ("User:backfill", "access", "not seen"),
        ("User:backfill", "password", "not seen"),
    ]
    rights = done.unable[0]
    assert "read topic orders" in rights.wanted
    assert "assign Azure roles" in rights.fix


def test_confluent_cloud_gets_the_rights_and_the_plan_says_where_keys_are_made() -> None:
    done, cluster = applied(CONFLUENT_CLOUD, with_password(Role.BACKFILL))
    assert {change.kind for change in done.changes} == {ChangeKind.GRANT}
    assert {acl.principal for acl in cluster.entries} == {"User:backfill"}
    (unable,) = done.unable
    assert (unable.subject, unable.value) == ("User:backfill", "password")
    assert "confluent api-key create" in unable.fix


def test_a_principal_without_a_password_asks_for_nothing_more_at_confluent_cloud() -> None:
    done, _ = applied(CONFLUENT_CLOUD, principal(Role.BACKFILL))
    assert done.changes
    assert done.unable == ()
