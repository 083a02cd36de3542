"""What a Kafka cluster knows of its users, in memory. It passes the suite of the real adapter."""

from __future__ import annotations

from collections.abc import Collection

from sluice.errors import NotReadyError, RefusedError, UnreachableError
from sluice.provisioning.access.acl import Acl, Resource
from sluice.provisioning.access.administration import Credential, UnknownRight
from sluice.specs.model.access import Mechanism, Operation, Pattern

_IMPLIED_BY = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}


class InMemoryAccess:
    """`reachable = False` makes every call fail as a dead cluster does, `secured = False` as one without authorizer."""

    def __init__(self) -> None:
        self.reachable = True
        self.secured = True
        self.entries: set[Acl] = set()
        self.strange: set[UnknownRight] = set()
        self.passwords: dict[tuple[str, Mechanism], tuple[int, str]] = {}

    def acls(self) -> frozenset[Acl]:
        self._require_authorizer()
        return frozenset(self.entries)

    def rights(self) -> frozenset[Acl | UnknownRight]:
        return self.acls() | self.strange

    def grant(self, acls: Collection[Acl]) -> None:
        self._require_authorizer()
        refused = [acl for acl in acls if ":" not in acl.principal]
        self.entries |= set(acls) - set(refused)
        if refused:
            raise RefusedError(f"The cluster refused to grant {'; '.join(map(str, refused))} (InvalidRequestError).")

    def revoke(self, acls: Collection[Acl]) -> None:
        self._require_authorizer()
        self.entries -= set(acls)

    def credentials(self) -> frozenset[Credential]:
        self._reach()
        return frozenset(Credential(user, how, times) for (user, how), (times, _) in self.passwords.items())

    def set_password(self, credential: Credential, password: str) -> None:
        self._reach()
        if not 4096 <= credential.iterations <= 16384:
            raise RefusedError(f"The cluster refused to set the password of {credential.user} (too few iterations).")
        self.passwords[credential.user, credential.mechanism] = credential.iterations, password

    def drop_password(self, user: str, mechanism: Mechanism) -> None:
        self._reach()
        if (user, mechanism) not in self.passwords:
            raise RefusedError(f"The cluster refused to remove the password of {user} (there is none).")
        del self.passwords[user, mechanism]

    def _require_authorizer(self) -> None:
        self._reach()
        if not self.secured:
            raise NotReadyError("The cluster lets every client do everything: it has no authorizer.")

    def _reach(self) -> None:
        if not self.reachable:
            raise UnreachableError("No Kafka broker could be reached.", fix="start the stack.")


def allows(acls: Collection[Acl], principal: str, operation: Operation, resource: Resource, host: str) -> bool:
    """Judge as Kafka's authorizer does: a denial wins, and some operations imply others."""
    about = [acl for acl in acls if _about(acl, principal, resource, host)]
    if any(acl.denied and acl.right.operation in (operation, Operation.ALL) for acl in about):
        return False
    enough = {operation, Operation.ALL} | _IMPLIED_BY.get(operation, set())
    return any(not acl.denied and acl.right.operation in enough for acl in about)


def _about(acl: Acl, principal: str, resource: Resource, host: str) -> bool:
    named = acl.right.resource
    covered = (
        resource.name.startswith(named.name)
        if named.pattern is Pattern.PREFIXED
        else named.name in (resource.name, "*")
    )
    return (
        acl.principal in (principal, "User:*") and acl.host in (host, "*") and named.kind is resource.kind and covered
    )
