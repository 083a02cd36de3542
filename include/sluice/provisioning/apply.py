"""Make topics and access what the specs declare, as far as that is approved, and verify it.

Rights are granted before topics are changed, which may need them, and revoked when all else is done.
"""

from __future__ import annotations

from collections.abc import Mapping

from sluice.clock import Clock
from sluice.errors import CorruptionError
from sluice.provisioning.access_scope import AccessScope
from sluice.provisioning.execution import ApplyOptions, execute
from sluice.provisioning.plans.approval import Approval, PlanCommands, refuse_unapproved
from sluice.provisioning.plans.changes import ChangeKind
from sluice.provisioning.plans.declared import ActualCluster, Declared
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.plans.topic_plan import plan_topics
from sluice.provisioning.spreading import once_spread
from sluice.topics.administration import KafkaAdministration, TopicState

_DEFAULTS = ApplyOptions()


def current_plan(declared: Declared, administration: KafkaAdministration, access: AccessScope | None = None) -> Plan:
    """Compare the specs with the cluster as it is now. Without access, the plan is about topics only."""
    return _compared(declared, ActualCluster.of(declared, administration), access)


def _compared(declared: Declared, actual: ActualCluster, access: AccessScope | None) -> Plan:
    topics = plan_topics(declared, actual)
    return topics if access is None else topics.with_access(access.plan())


def apply(
    declared: Declared,
    administration: KafkaAdministration,
    access: AccessScope | None = None,
    *,
    approval: Approval | None = None,
    options: ApplyOptions = _DEFAULTS,
) -> tuple[Plan, Mapping[str, TopicState]]:
    """Change what differs; a second run changes nothing, and one that was killed is finished by the next.

    Either the whole plan is applied or nothing is: not if a difference is refused, and not if a change needs an
    approval that is not given.

    Args:
        declared: the topics.
        administration: the cluster.
        access: the principals; None: they are not touched.
        approval: the plan that an operator has read; without it only what is safe is applied.
        options: how changes are made that take their time.

    Returns:
        What was done, and the declared topics as the cluster has them now.

    Raises:
        RefusedError: the plan may not be applied (all reasons are named), or the cluster refused.
        NotReadyError: a password is missing; nothing was changed.
        CorruptionError: the cluster still differs afterwards.
    """
    todo = current_plan(declared, administration, access)
    refuse_unapproved(todo, approval, PlanCommands("topics", declared.named))
    _execute(todo, administration, access, options)
    actual, left = _settled(declared, administration, access, options.moves.clock)
    if _differs(left):
        raise CorruptionError(
            f"After the plan was applied, the cluster still differs: {left}.",
            fix="look for another program that changes topics or access (`sluice topics describe`, `sluice access "
            "list`), then apply again.",
        )
    return todo, actual.topics


def _settled(
    declared: Declared, administration: KafkaAdministration, access: AccessScope | None, clock: Clock
) -> tuple[ActualCluster, Plan]:
    """Compare until nothing differs, or for a while."""

    def compared() -> tuple[ActualCluster, Plan]:
        actual = ActualCluster.of(declared, administration)
        return actual, _compared(declared, actual, access)

    return once_spread(compared, lambda found: _differs(found[1]), clock)


def _differs(left: Plan) -> bool:
    """Whether anything but leaders differs, which change by themselves."""
    return bool(left.refused) or any(change.kind is not ChangeKind.ELECT for change in left.changes)


def _execute(
    todo: Plan, administration: KafkaAdministration, access: AccessScope | None, options: ApplyOptions
) -> None:
    if access is None:
        execute(todo, administration, options)
        return
    given = [each for each in todo.changes if each.kind in (ChangeKind.GRANT, ChangeKind.SET_PASSWORD)]
    taken = [each for each in todo.changes if each.kind in (ChangeKind.REVOKE, ChangeKind.DROP_PASSWORD)]
    passwords = access.passwords_of(given)
    access.execute(given, passwords)
    execute(todo, administration, options)
    access.execute(taken, passwords)
