"""Make topics and access what the specs declare, as far as that is approved, and look again to be sure.

Rights are given before topics are changed, which may need them, and taken away when all else is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.clock import Clock
from sluice.errors import CorruptionError, RefusedError
from sluice.provisioning.access.administration import AccessAdministration
from sluice.provisioning.access.apply import Passwords, apply_access, known_passwords
from sluice.provisioning.access.apply import look as look_at_access
from sluice.provisioning.access.changes import Grant, SetPassword
from sluice.provisioning.access.plan import plan as plan_access
from sluice.provisioning.performing import Manner, perform
from sluice.provisioning.plan import Provision, said
from sluice.provisioning.topics.changes import Approval, Elect
from sluice.provisioning.topics.declared import ActualCluster, Declared, look
from sluice.provisioning.topics.plan import plan as plan_topics
from sluice.specs.catalog.catalog import Catalog
from sluice.topics.administration import KafkaAdministration, TopicState

_MANNER = Manner()

SETTLING_SECONDS = 15.0
"""So long after a change every broker must have heard of it."""
_BETWEEN_LOOKS_SECONDS = 0.25


@dataclass(frozen=True)
class AccessScope:
    """Who may do what: the specs, the cluster, and where passwords come from."""

    catalog: Catalog
    administration: AccessAdministration
    passwords: Passwords


def current_plan(
    declared: Declared, administration: KafkaAdministration, access: AccessScope | None = None
) -> Provision:
    """Compare the specs with the cluster as it is now.

    Args:
        declared: the topics that there shall be.
        administration: the cluster.
        access: None: nobody asks who may do what.
    """
    return _compared(declared, look(declared, administration), access)


def _compared(declared: Declared, seen: ActualCluster, access: AccessScope | None) -> Provision:
    of_access = None if access is None else plan_access(access.catalog, look_at_access(access.administration))
    return Provision(plan_topics(declared, seen), of_access)


def apply(
    declared: Declared,
    administration: KafkaAdministration,
    access: AccessScope | None = None,
    *,
    approval: Approval | None = None,
    manner: Manner = _MANNER,
) -> tuple[Provision, Mapping[str, TopicState]]:
    """Change what differs; a second run changes nothing, and one that was cut off is finished by the next.

    Either the whole plan is applied or nothing is: not if it has an item that is refused, and not if it has one that
    somebody has to approve and nobody has.

    Args:
        declared: the topics that there shall be.
        administration: the cluster.
        access: None: nobody touches who may do what.
        approval: the plan that somebody has read; without it only what is safe is applied.
        manner: how things are done that take their time.

    Returns:
        What was done, and the declared topics as the cluster has them now.

    Raises:
        RefusedError: something of the plan may not be applied (all of it is named), or the cluster refused.
        NotReadyError: a password is not there; nothing was changed.
        CorruptionError: what was just changed is not what was asked for.
    """
    todo = current_plan(declared, administration, access)
    _refuse(todo, approval, declared.named)
    _perform(todo, administration, access, manner)
    seen, left = _settled(declared, administration, access, manner.pace.clock)
    if _differs(left):
        raise CorruptionError(
            f"After the plan was applied, the cluster still differs: {left}.",
            fix="look for another program that changes topics or access (`sluice topics describe`, `sluice access "
            "list`), then apply again.",
        )
    return todo, seen.topics


def _settled(
    declared: Declared, administration: KafkaAdministration, access: AccessScope | None, clock: Clock
) -> tuple[ActualCluster, Provision]:
    """Look until nothing differs, or for a while: a broker hears a moment later what another one has been told."""
    until = clock.monotonic() + SETTLING_SECONDS
    while True:
        seen = look(declared, administration)
        left = _compared(declared, seen, access)
        if not _differs(left) or clock.monotonic() >= until:
            return seen, left
        clock.sleep(_BETWEEN_LOOKS_SECONDS)


def _differs(left: Provision) -> bool:
    return bool(left.refused) or any(not isinstance(item, Elect) for item in left.items)  # leaders change by themselves


def _perform(todo: Provision, administration: KafkaAdministration, access: AccessScope | None, manner: Manner) -> None:
    if access is None or todo.access is None:
        perform(todo.topics, administration, manner)
        return
    given = [item for item in todo.access.items if isinstance(item, Grant | SetPassword)]
    taken = [item for item in todo.access.items if item not in given]
    passwords = known_passwords(given, access.passwords)
    apply_access(given, access.administration, passwords)
    perform(todo.topics, administration, manner)
    apply_access(taken, access.administration, passwords)


def _refuse(todo: Provision, approval: Approval | None, named: tuple[str, ...]) -> None:
    """Raise an error if the plan may not be applied.

    Raises:
        RefusedError: says which items, why, and what to do.
    """
    if todo.refused:
        whys = "; ".join(f"{said(each)} ({each.why}: {each.fix})" for each in todo.refused)
        raise RefusedError(
            f"Existing topics differ from their specs in what no plan changes, so nothing was applied: {whys}.",
            fix="change the specs, then plan again.",
        )
    if approval is not None and approval.plan != todo.id:
        raise RefusedError(
            f"The plan {approval.plan} is out of date, so nothing was applied: the specs or the cluster have changed "
            f"since, and the plan is {todo.id} now ({todo or 'nothing to do'}).",
            fix=f"read the new one: `sluice topics plan{_words(named)}`.",
        )
    if todo.guarded and approval is None:
        whys = "; ".join(f"{said(item)} ({item.why})" for item in todo.guarded)
        raise RefusedError(
            f"The plan {todo.id} has changes that somebody has to approve, so nothing was applied: {whys}.",
            fix=f"read `sluice topics plan{_words(named)}`, then run {command(todo, named)}.",
        )
    if approval is not None and (unnamed := sorted(set(todo.losing) - approval.losing)):
        raise RefusedError(
            f"By the plan {todo.id} records of {', '.join(unnamed)} may go, and nobody has said that they may, so "
            "nothing was applied.",
            fix=f"if they may, run {command(todo, named)}.",
        )
    if approval is not None and (unnamed := sorted(set(todo.widening) - approval.widening)):
        raise RefusedError(
            f"By the plan {todo.id} something is opened by {', '.join(unnamed)}, and nobody has said that it may be, "
            "so nothing was applied.",
            fix=f"if it may, run {command(todo, named)}.",
        )


def command(todo: Provision, named: tuple[str, ...] = ()) -> str:
    """Return the command that applies a plan as it is.

    Args:
        todo: the plan.
        named: the topics that it is about, if somebody has named some.
    """
    losing = "".join(f" --losing {topic}" for topic in todo.losing)
    widening = "".join(f" --widening '{principal}'" for principal in todo.widening)
    by_plan = f" --plan {todo.id}{losing}{widening}" if todo.guarded else ""
    return f"`sluice topics apply{_words(named)}{by_plan}`"


def _words(named: tuple[str, ...]) -> str:
    return "".join(f" {name}" for name in named)
