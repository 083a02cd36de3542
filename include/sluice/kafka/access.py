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
from kafka.errors import NoError, SecurityDisabledError

from sluice.errors import NotReadyError, RefusedError, UnreachableError
from sluice.kafka.client.session import AdminSession
from sluice.provisioning.access.acl import Acl, Resource, Right
from sluice.provisioning.access.administration import Credential
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
        """Return all entries of all principals."""
        entries = self._ask("list who may do what", _listed)
        try:
            return frozenset(map(_read, entries))
        except ValueError as error:
            raise UnreachableError(
                f"The cluster has a right of a kind that is not known here ({error}).",
                fix="inspect it with Kafka's own tool, kafka-acls.",
            ) from error

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


def _listed(client: Any) -> Any:  # noqa: ANN401  untyped client
    try:
        entries, _ = client.describe_acls(_ALL)
    except SecurityDisabledError as error:
        raise _open_to_all() from error
    return entries


def _open_to_all() -> NotReadyError:
    return NotReadyError("The cluster lets every client do everything: it has no authorizer.", fix=_CLOSED)


def _read(acl: Any) -> Acl:  # noqa: ANN401  untyped client
    pattern = acl.resource_pattern
    resource = Resource(
        ResourceKind(pattern.resource_type.name.lower()),
        pattern.resource_name,
        Pattern(pattern.pattern_type.name.lower()),
    )
    right = Right(resource, Operation(acl.operation.name.lower()))
    return Acl(acl.principal, right, acl.host, denied=acl.permission_type is ACLPermissionType.DENY)


def _written(acl: Acl, entry: type = ACL, pattern: type = ResourcePattern) -> Any:  # noqa: ANN401  untyped client
    resource, permission = acl.right.resource, ACLPermissionType.DENY if acl.denied else ACLPermissionType.ALLOW
    where = pattern(ResourceType[resource.kind.name], resource.name, ACLResourcePatternType[resource.pattern.name])
    return entry(acl.principal, acl.host, ACLOperation[acl.right.operation.name], permission, where)


_ALL = ACLFilter(
    None,
    None,
    ACLOperation.ANY,
    ACLPermissionType.ANY,
    ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
)


def _refuse(verb: str, refusals: Sequence[str]) -> None:
    if refusals:
        raise RefusedError(
            f"The cluster refused to {verb} {'; '.join(refusals)}.",
            fix="use a principal that may change the cluster (the role planner with the duty access), and plan again.",
        )
