"""The difference between declared and actual access, as data. Pure: it looks at nothing and changes nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from sluice.errors import SpecError
from sluice.provisioning.access.acl import CLUSTER, Acl
from sluice.provisioning.access.administration import Credential
from sluice.provisioning.access.changes import DropPassword, Grant, Item, Revoke, SetPassword
from sluice.provisioning.access.roles import declared, needed
from sluice.provisioning.topics.changes import Kept, Risk
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.access import Operation, PrincipalSpec, Widening

_ID_LENGTH = 12
_VERBS: Mapping[type[Item], str] = {
    Grant: "grant",
    Revoke: "revoke",
    SetPassword: "set password",
    DropPassword: "drop password",
}
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


@dataclass(frozen=True)
class AccessPlan:
    """What stands between the specs and the cluster, ordered by principal and value.

    Attributes:
        items: what would be done.
        kept: what of no spec is, or takes a right away: nobody touches it.
        seen: what the cluster has of the declared principals.
    """

    items: tuple[Item, ...] = ()
    kept: tuple[Kept, ...] = ()
    seen: tuple[Acl | Credential, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.items)

    @cached_property
    def id(self) -> str:
        """A name for exactly this plan of exactly this state."""
        content = json.dumps([asdict(self), [type(item).__name__ for item in self.items]], sort_keys=True, default=str)
        return hashlib.sha256(content.encode()).hexdigest()[:_ID_LENGTH]

    @property
    def guarded(self) -> tuple[Item, ...]:
        """The items that somebody has to approve."""
        return tuple(item for item in self.items if item.risk is not Risk.SAFE)

    @property
    def widening(self) -> tuple[str, ...]:
        """The principals by which something is opened."""
        return tuple(sorted({item.topic for item in self.items if item.risk is Risk.WIDENING}))


def plan(catalog: Catalog, actual: ActualAccess, *, rotate: Collection[str] = ()) -> AccessPlan:
    """Compare what is declared with what is there; see `access_items`."""
    items, kept = access_items(catalog, actual, rotate=rotate)
    users = {spec.user for spec in catalog.access.values()}
    acls = sorted(acl for acl in actual.acls if acl.principal.removeprefix("User:") in users)
    credentials = sorted(credential for credential in actual.credentials if credential.user in users)
    return AccessPlan(items, kept, (*acls, *credentials))


def access_items(
    catalog: Catalog, actual: ActualAccess, *, rotate: Collection[str] = ()
) -> tuple[tuple[Item, ...], tuple[Kept, ...]]:
    """Return what differs, and what is left alone.

    Principals without a spec belong to somebody else, and so do rights that are denied: taking these away would give.

    Args:
        catalog: what is declared, in one deployment.
        actual: what the cluster has.
        rotate: the users whose password is set anew, although nothing of it differs that the cluster tells.

    Raises:
        SpecError: a user to rotate has no password by a spec.
    """
    _refuse_unknown(rotate, catalog.access.values())
    specs = {spec.principal: spec for spec in catalog.access.values()}
    items: list[Item] = []
    for principal, spec in specs.items():
        own = frozenset(acl for acl in actual.acls if acl.principal == principal and not acl.denied)
        items += _rights(spec, catalog, own)
        items += _passwords(spec, actual.credentials, anew=spec.user in rotate)
    kept = [
        *(Kept(a.principal, str(a), _state(a)) for a in actual.acls if a.denied or a.principal not in specs),
        *(Kept(f"User:{c.user}", "password", str(c)) for c in actual.credentials if not _judged(c, specs)),
    ]
    by_place = sorted(items, key=lambda item: (item.topic, item.value, _VERBS[type(item)]))
    return tuple(by_place), tuple(sorted(kept, key=lambda each: (each.topic, each.value, each.current)))


def as_dict(found: AccessPlan) -> dict[str, Any]:
    """Return a plan as JSON values, for machines."""
    return {
        "id": found.id,
        "items": [
            {
                "change": _VERBS[type(item)],
                "principal": item.topic,
                **{name: getattr(item, name) for name in ("value", "current", "wanted", "why")},
                "risk": item.risk.value,
            }
            for item in found.items
        ],
        "kept": [{"principal": each.topic, "value": each.value, "current": each.current} for each in found.kept],
    }


def _rights(spec: PrincipalSpec, catalog: Catalog, actual: frozenset[Acl]) -> Iterator[Grant | Revoke]:
    wanted, of_role = declared(spec, catalog), needed(spec, catalog)
    for acl in wanted - actual:
        yield Grant(acl, *_judge(acl, spec, in_role=acl in of_role))
    for acl in actual - wanted:
        yield Revoke(acl)


def _judge(acl: Acl, spec: PrincipalSpec, *, in_role: bool) -> tuple[Risk, str]:
    """Say what a right risks that is given: the risk, and why as a clause."""
    if acl.widenings:
        return Risk.WIDENING, " and ".join(_WHY_WIDE[widening] for widening in acl.widenings)
    if acl.right.resource == CLUSTER and acl.right.operation not in _HARMLESS_ON_CLUSTER:
        return Risk.APPROVAL, "who has it can change the cluster for everybody, and with `alter` give itself any right"
    if not in_role:
        return Risk.APPROVAL, f"its spec asks for it, and its role ({spec.role}) does not need it"
    return Risk.SAFE, f"its role ({spec.role}) needs it"


def _passwords(
    spec: PrincipalSpec, actual: Iterable[Credential], *, anew: bool
) -> Iterator[SetPassword | DropPassword]:
    there = {credential.mechanism: credential for credential in actual if credential.user == spec.user}
    wanted = None if spec.state == "absent" else spec.scram
    if wanted is not None:
        credential, before = (
            Credential(spec.user, wanted.mechanism, wanted.iterations),
            there.pop(wanted.mechanism, None),
        )
        if anew or credential != before:
            yield SetPassword(credential, before, wanted.password_variable)
    if wanted is not None or spec.state == "absent":
        yield from map(DropPassword, there.values())


def _judged(credential: Credential, specs: Mapping[str, PrincipalSpec]) -> bool:
    """Whether a spec says what becomes of a password."""
    spec = specs.get(f"User:{credential.user}")
    return spec is not None and (spec.scram is not None or spec.state == "absent")


def _state(acl: Acl) -> str:
    return "denied" if acl.denied else "allowed"


def _refuse_unknown(rotate: Collection[str], specs: Iterable[PrincipalSpec]) -> None:
    known = {spec.user for spec in specs if spec.scram is not None and spec.state == "present"}
    if unknown := sorted(set(rotate) - known):
        raise SpecError(
            f"A password shall be set anew for {', '.join(unknown)}, and no spec says where it comes from.",
            fix=f"name users with `scram` in include/access: {', '.join(sorted(known)) or 'there are none'}.",
        )
