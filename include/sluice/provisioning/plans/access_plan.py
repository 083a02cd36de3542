"""The difference between declared and actual access. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

from sluice.errors import SpecError
from sluice.provisioning.access.acl import CLUSTER, Acl
from sluice.provisioning.access.administration import AccessAdministration, Credential, UnknownRight
from sluice.provisioning.access.roles import declared, needed
from sluice.provisioning.plans.changes import ChangeKind, Kept, PasswordUpdate, PlannedChange, Risk
from sluice.provisioning.plans.plan import Plan
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.services import APACHE, KafkaService
from sluice.specs.model.access import Operation, PrincipalSpec, Widening

ABSENT, ALLOWED = "absent", "allowed"
_UNKNOWN = "is of a kind that is not known here, and stays: see what `kafka-acls` says of it"
_WHY_WIDE: Mapping[Widening, str] = {
    Widening.PRINCIPAL: "everybody who can reach the cluster gets it",
    Widening.HOST: "it holds from every host",
    Widening.RESOURCE: "it is about everything of its kind, also what is made later",
}
_HARMLESS_ON_CLUSTER = frozenset({Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.IDEMPOTENT_WRITE})


@dataclass(frozen=True)
class ActualAccess:
    """Who may do what, as the cluster has it."""

    acls: frozenset[Acl] = frozenset()
    credentials: frozenset[Credential] = frozenset()
    unknown: frozenset[UnknownRight] = frozenset()

    @classmethod
    def of(cls, administration: AccessAdministration, service: KafkaService = APACHE) -> Self:
        """Ask the cluster for what its service lets clients see."""
        found = cls()
        if service.rights is None:
            rights = administration.rights()
            acls = frozenset(right for right in rights if isinstance(right, Acl))
            unknown = frozenset(right for right in rights if isinstance(right, UnknownRight))
            found = replace(found, acls=acls, unknown=unknown)
        if service.passwords is None:
            found = replace(found, credentials=administration.credentials())
        return found


def plan_access(catalog: Catalog, actual: ActualAccess, *, rotate: Collection[str] = ()) -> Plan:
    """Return what differs, and what stays.

    Principals without a spec belong to others, and so do rights that are denied: taking these away would give.

    Args:
        catalog: what is declared, in one deployment.
        actual: what the cluster has.
        rotate: the users whose password is set again, although nothing differs that the cluster shows.

    Raises:
        SpecError: a user to rotate has no password by a spec.
    """
    _refuse_unknown(rotate, catalog.access.values())
    specs = {spec.principal: spec for spec in catalog.access.values()}
    changes: list[PlannedChange] = []
    for principal, spec in specs.items():
        own = frozenset(acl for acl in actual.acls if acl.principal == principal and not acl.denied)
        changes += _rights(spec, catalog, own)
        changes += _passwords(spec, actual.credentials, rotated=spec.user in rotate)
    kept = [
        *(
            Kept(acl.principal, str(acl), "denied" if acl.denied else ALLOWED)
            for acl in actual.acls
            if acl.denied or acl.principal not in specs
        ),
        *(Kept(each.principal, each.what, ALLOWED, _UNKNOWN) for each in actual.unknown),
        *(Kept(f"User:{c.user}", "password", str(c)) for c in actual.credentials if not _is_declared(c, specs)),
    ]
    return Plan(
        tuple(sorted(changes, key=lambda each: (each.subject, each.value, each.kind))),
        kept=tuple(sorted(kept, key=lambda each: (each.subject, each.value, each.current))),
        access=(
            *sorted(acl for acl in actual.acls if acl.principal in specs),
            *sorted(each for each in actual.credentials if f"User:{each.user}" in specs),
        ),
    )


def revoke(acl: Acl) -> PlannedChange:
    """Take a right from a declared principal that its spec does not give."""
    why = "neither its role nor its spec requires it: clients that use it are refused from then on"
    return PlannedChange(ChangeKind.REVOKE, acl.principal, str(acl), ALLOWED, ABSENT, Risk.APPROVAL, why, acl)


def _rights(spec: PrincipalSpec, catalog: Catalog, actual: frozenset[Acl]) -> Iterator[PlannedChange]:
    wanted, of_role = declared(spec, catalog), needed(spec, catalog)
    for acl in wanted - actual:
        risk, why = _risk(acl, spec, in_role=acl in of_role)
        yield PlannedChange(ChangeKind.GRANT, acl.principal, str(acl), ABSENT, ALLOWED, risk, why, acl)
    for acl in actual - wanted:
        yield revoke(acl)


def _risk(acl: Acl, spec: PrincipalSpec, *, in_role: bool) -> tuple[Risk, str]:
    """Return what a right risks that is given, and why as a clause."""
    if acl.widenings:
        return Risk.WIDENING, " and ".join(_WHY_WIDE[widening] for widening in acl.widenings)
    if acl.right.resource == CLUSTER and acl.right.operation not in _HARMLESS_ON_CLUSTER:
        return Risk.APPROVAL, "who has it can change the cluster for everybody, and with `alter` give itself any right"
    if not in_role:
        return Risk.APPROVAL, f"its spec requires it, and its role ({spec.role}) does not need it"
    return Risk.SAFE, f"its role ({spec.role}) needs it"


def _passwords(spec: PrincipalSpec, actual: Iterable[Credential], *, rotated: bool) -> Iterator[PlannedChange]:
    known = {credential.mechanism: credential for credential in actual if credential.user == spec.user}
    wanted, subject = None if spec.state == "absent" else spec.scram, f"User:{spec.user}"
    if wanted is not None:
        credential = Credential(spec.user, wanted.mechanism, wanted.iterations)
        before = known.pop(wanted.mechanism, None)
        risk, why = Risk.SAFE, "it is declared and has none"
        if before is not None:
            risk, why = Risk.APPROVAL, "it is set again: clients that connect with another one are refused from then on"
        if rotated or credential != before:
            detail = PasswordUpdate(credential, wanted.password_variable)
            old, new = str(before or ABSENT), f"{credential}, from {detail.variable}"
            yield PlannedChange(ChangeKind.SET_PASSWORD, subject, "password", old, new, risk, why, detail)
    if wanted is not None or spec.state == "absent":
        why = "its spec does not name it: clients that connect with it are refused from then on"
        for credential in known.values():
            kind, value = ChangeKind.DROP_PASSWORD, f"password by {credential.mechanism}"
            yield PlannedChange(kind, subject, value, str(credential), ABSENT, Risk.APPROVAL, why, credential)


def _is_declared(credential: Credential, specs: Mapping[str, PrincipalSpec]) -> bool:
    """Whether a spec decides about a password."""
    spec = specs.get(f"User:{credential.user}")
    return spec is not None and (spec.scram is not None or spec.state == "absent")


def _refuse_unknown(rotate: Collection[str], specs: Iterable[PrincipalSpec]) -> None:
    known = {spec.user for spec in specs if spec.scram is not None and spec.state == "present"}
    if unknown := sorted(set(rotate) - known):
        raise SpecError(
            f"A password is to be set again for {', '.join(unknown)}, and no spec says where it comes from.",
            fix=f"name users with `scram` in include/access: {', '.join(sorted(known)) or 'there are none'}.",
        )
