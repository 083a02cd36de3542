"""Access control lists and SCRAM users through kafka-python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka.errors import NoError, SecurityDisabledError, for_code
from kafka.protocol.admin import DescribeAclsRequest

from sluice.errors import NotReadyError, RefusedError
from sluice.kafka.client.session import AdminSession
from sluice.provisioning.access.acl import Acl, Resource, Right
from sluice.provisioning.access.administration import Credential, UnknownRight
from sluice.specs.model.access import Mechanism, Operation, Pattern, ResourceKind

_MECHANISMS: Mapping[Mechanism, ScramMechanism] = {
    Mechanism.SHA_256: ScramMechanism.SCRAM_SHA_256,
    Mechanism.SHA_512: ScramMechanism.SCRAM_SHA_512,
}
_CLOSED = (
    "start the embedded cluster by `sluice up --secure`, another one with an authorizer (`authorizer.class.name`), or "
    "declare no principals for this deployment."
)


class KafkaPythonAccess(AdminSession):
    """One cluster; see `AdminSession`."""

    def acls(self) -> frozenset[Acl]:
        """Return all entries of all principals, but for those of a kind that is not known here."""
        return frozenset(right for right in self.rights() if isinstance(right, Acl))

    def rights(self) -> frozenset[Acl | UnknownRight]:
        """Return all entries of all principals."""
        return frozenset(_read(*entry) for entry in self._ask("list who may do what", _listed))

    def grant(self, acls: Collection[Acl]) -> None:
        """Add entries, and return when the cluster shows them."""
        if not acls:
            return
        wanted = {acl: _written(acl) for acl in sorted(acls)}
        answer = self._ask("grant rights", _secured(lambda client: client.create_acls(list(wanted.values()))))
        done = set(map(id, answer["succeeded"]))
        failed = [acl for acl, written in wanted.items() if id(written) not in done]
        if added := wanted.keys() - set(failed):
            self._until(lambda: self.acls() >= added)
        why = dict(zip(failed, answer["failed"], strict=True))
        _refuse("grant", [f"{acl.principal}: {acl} ({error.__name__})" for acl, error in why.items()])

    def revoke(self, acls: Collection[Acl]) -> None:
        """Remove exactly these entries, and return when the cluster no longer shows them."""
        if not acls:
            return
        wanted = sorted(acls)
        # Each passes one entry: a pattern of the type `match` would take its neighbours, too.
        filters = [_written(acl, ACLFilter, ResourcePatternFilter) for acl in wanted]
        answers = self._ask("revoke rights", _secured(lambda client: client.delete_acls(filters)))
        why = {acl: error for acl, (_, _, error) in zip(wanted, answers, strict=True) if error is not NoError}
        if removed := set(wanted) - why.keys():
            self._until(lambda: self.acls().isdisjoint(removed))
        _refuse("revoke", [f"{acl.principal}: {acl} ({error.__name__})" for acl, error in why.items()])

    def credentials(self) -> frozenset[Credential]:
        """Return of which users the cluster has a password."""
        # An empty list is all users, as none at all is. To the latter a broker that does not allow it gives no answer.
        descriptions = self._ask("list the users", lambda client: client.describe_user_scram_credentials([]))
        names = {theirs: ours for ours, theirs in _MECHANISMS.items()}
        return frozenset(
            Credential(user, names[info["mechanism"]], int(info["iterations"]))
            for user, description in descriptions.items()
            for info in description["credential_infos"]
            if info["mechanism"] in names
        )

    def set_password(self, credential: Credential, password: str) -> None:
        """Add a user, or give it another password, and return when the cluster shows it."""
        mechanism = _MECHANISMS[credential.mechanism]
        self._alter(
            f"set the password of {credential.user}",
            credential.user,
            UserScramCredentialUpsertion(credential.user, mechanism, password, credential.iterations),
        )
        self._until(lambda: credential in self.credentials())

    def drop_password(self, user: str, mechanism: Mechanism) -> None:
        """Remove a user's password, and return when the cluster no longer shows it."""
        self._alter(f"remove the password of {user}", user, UserScramCredentialDeletion(user, _MECHANISMS[mechanism]))
        self._until(lambda: not any((c.user, c.mechanism) == (user, mechanism) for c in self.credentials()))

    def _alter(self, purpose: str, user: str, change: object) -> None:
        # Asked once: the second answer to a removal that succeeded unheard would be "there is none".
        answer = self._ask(purpose, lambda client: client.alter_user_scram_credentials([change]), repeatable=False)
        if why := answer[user]:
            raise RefusedError(
                f"The cluster refused to {purpose} ({str(why).rstrip('.')}).", fix="see what it says, and plan again."
            )


def _secured(question: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a change that a cluster without access control does not answer entry by entry."""

    def ask(client: Any) -> Any:  # noqa: ANN401  untyped client
        answer = question(client)
        refusals = answer["failed"] if isinstance(answer, dict) else [each[-1] for each in answer]
        if SecurityDisabledError in refusals:
            raise _open_to_all()
        return answer

    return ask


def _listed(client: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401  untyped client
    """Return each entry with its resource as the broker sends it: the client's own method fails at an unknown kind."""
    everything = DescribeAclsRequest(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=ACLResourcePatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
    )
    manager = client._manager  # noqa: SLF001  there is no public way
    answer = manager.run(manager.send, everything)
    error = for_code(answer.error_code)
    if error is SecurityDisabledError:
        raise _open_to_all()
    if error is not NoError:
        raise error(answer.error_message)
    return [(resource, entry) for resource in answer.resources for entry in resource.acls]


def _open_to_all() -> NotReadyError:
    return NotReadyError("The cluster lets every client do everything: it has no authorizer.", fix=_CLOSED)


def _read(resource: Any, entry: Any) -> Acl | UnknownRight:  # noqa: ANN401  untyped client
    try:
        kind = ResourceKind(ResourceType(resource.resource_type).name.lower())
        pattern = Pattern(ACLResourcePatternType(resource.pattern_type).name.lower())
        right = Right(
            Resource(kind, resource.resource_name, pattern), Operation(ACLOperation(entry.operation).name.lower())
        )
    except ValueError:
        numbers = f"operation {entry.operation}, resource type {resource.resource_type}"
        return UnknownRight(entry.principal, f"{resource.resource_name} from {entry.host} ({numbers})")
    return Acl(entry.principal, right, entry.host, denied=entry.permission_type == ACLPermissionType.DENY)


def _written(acl: Acl, entry: type = ACL, pattern: type = ResourcePattern) -> Any:  # noqa: ANN401  untyped client
    resource, permission = acl.right.resource, ACLPermissionType.DENY if acl.denied else ACLPermissionType.ALLOW
    where = pattern(ResourceType[resource.kind.name], resource.name, ACLResourcePatternType[resource.pattern.name])
    return entry(acl.principal, acl.host, ACLOperation[acl.right.operation.name], permission, where)


def _refuse(verb: str, refusals: Sequence[str]) -> None:
    if refusals:
        raise RefusedError(
            f"The cluster refused to {verb} {'; '.join(refusals)}.",
            fix="use a principal that may change the cluster (the role planner with the duty access), and plan again.",
        )
