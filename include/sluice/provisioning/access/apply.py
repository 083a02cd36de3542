"""Make the cluster's users what the specs declare, as far as that is approved, and look again to be sure.

What is given comes first and what is taken away last: cut off in between, nobody has less than before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from sluice.errors import CorruptionError, NotReadyError, RefusedError
from sluice.provisioning.access.administration import AccessAdministration
from sluice.provisioning.access.changes import DropPassword, Grant, Item, Revoke, SetPassword
from sluice.provisioning.access.plan import AccessPlan, ActualAccess, plan
from sluice.provisioning.topics.changes import Approval
from sluice.specs.catalog.catalog import Catalog

Passwords = Callable[[str], str]
"""Returns the password in a variable. Raises NotReadyError if there is none."""


def look(administration: AccessAdministration) -> ActualAccess:
    """Return who may do what now."""
    return ActualAccess(administration.acls(), administration.credentials())


def apply(
    catalog: Catalog,
    administration: AccessAdministration,
    passwords: Passwords,
    *,
    rotate: Collection[str] = (),
    approval: Approval | None = None,
) -> AccessPlan:
    """Change what differs, and return what was done; a second run changes nothing.

    Either the whole plan is applied or nothing is. One that was cut off is finished by the next.

    Args:
        catalog: what is declared, in one deployment.
        administration: the cluster.
        passwords: where they come from.
        rotate: the users whose password is set anew.
        approval: the plan that somebody has read; without it only what is safe is applied.

    Raises:
        RefusedError: something of the plan may not be applied (all of it is named), or the cluster refused.
        NotReadyError: a password is not there; all that are missing are named.
        CorruptionError: what was just changed is not what was asked for.
    """
    todo = plan(catalog, look(administration), rotate=rotate)
    _refuse(todo, approval, rotate)
    apply_access(todo.items, administration, known_passwords(todo.items, passwords))
    if left := plan(catalog, look(administration)):
        raise CorruptionError(
            f"After the access was applied, the cluster still differs: {said(left.items)}.",
            fix="look for another program that changes access (`sluice access list`), then apply again.",
        )
    return todo


def apply_access(items: Iterable[Item], administration: AccessAdministration, passwords: Mapping[str, str]) -> None:
    """Do what some items say, in the order that is safe.

    Args:
        items: what to do.
        administration: the cluster.
        passwords: by variable, those that are to be set.

    Raises:
        RefusedError: the cluster refused.
    """
    items = tuple(items)
    to_set = [item for item in items if isinstance(item, SetPassword)]
    administration.grant([item.acl for item in items if isinstance(item, Grant)])
    for each in to_set:
        administration.set_password(each.credential, passwords[each.variable])
    for item in items:
        if isinstance(item, DropPassword):
            administration.drop_password(item.credential.user, item.credential.mechanism)
    administration.revoke([item.acl for item in items if isinstance(item, Revoke)])


def known_passwords(items: Iterable[Item], passwords: Passwords) -> Mapping[str, str]:
    """Return the passwords that some items set, by variable.

    Raises:
        NotReadyError: one or more are not there; all are named.
    """
    known: dict[str, str] = {}
    missing: list[str] = []
    for variable in sorted({item.variable for item in items if isinstance(item, SetPassword)}):
        try:
            known[variable] = passwords(variable)
        except NotReadyError as error:
            missing.append(error.message.rstrip("."))
    if missing:
        raise NotReadyError(f"Nothing was applied: {'; '.join(missing)}.", fix="set the variables where you apply it.")
    return known


def _refuse(todo: AccessPlan, approval: Approval | None, rotate: Collection[str]) -> None:
    """Raise an error if the plan may not be applied.

    Raises:
        RefusedError: says which items, why, and what to do.
    """
    if approval is not None and approval.plan != todo.id:
        raise RefusedError(
            f"The plan {approval.plan} is out of date, so nothing was applied: the specs or the cluster have changed "
            f"since, and the plan is {todo.id} now ({said(todo.items) or 'nothing to do'}).",
            fix="read the new one: `sluice access plan`.",
        )
    if todo.guarded and approval is None:
        whys = "; ".join(f"{clause(item)} ({item.why})" for item in todo.guarded)
        raise RefusedError(
            f"The plan {todo.id} has changes that somebody has to approve, so nothing was applied: {whys}.",
            fix=f"read `sluice access plan`, then run {command(todo, rotate)}.",
        )
    if approval is not None and (unnamed := sorted(set(todo.widening) - approval.widening)):
        raise RefusedError(
            f"By the plan {todo.id} something is opened by {', '.join(unnamed)}, and nobody has said that it may be, "
            "so nothing was applied.",
            fix=f"if it may, run {command(todo, rotate)}.",
        )


def clause(item: Item) -> str:
    """Return what differs in one clause."""
    return f"{item.topic}: {item.value} is {item.current}, declared {item.wanted}"


def said(items: Iterable[Item]) -> str:
    """Return what differs in one sentence without an end."""
    return "; ".join(map(clause, items))


def command(todo: AccessPlan, rotate: Collection[str] = ()) -> str:
    """Return the command that applies a plan as it is."""
    widening = "".join(f" --widening '{principal}'" for principal in todo.widening)
    anew = "".join(f" --rotate {user}" for user in sorted(rotate))
    return f"`sluice access apply --plan {todo.id}{widening}{anew}`"
