"""What an operator approves of a plan, and the refusal of what was not approved. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.errors import RefusedError
from sluice.provisioning.plans.plan import Plan


@dataclass(frozen=True)
class Approval:
    """What an operator has read and wants.

    Attributes:
        plan: the plan's id.
        losing: the topics of which records may go, named one by one.
        widening: the principals by which something may be opened, named one by one.
    """

    plan: str
    losing: frozenset[str] = frozenset()
    widening: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PlanCommands:
    """The commands that show and apply a plan.

    Attributes:
        noun: `topics` or `access`.
        arguments: what the plan is limited to, or asks for beyond the specs, as on the command line.
    """

    noun: str = "topics"
    arguments: tuple[str, ...] = ()

    def plan(self) -> str:
        """Return the command that shows the plan."""
        return f"`{' '.join(['sluice', self.noun, 'plan', *self.arguments])}`"

    def apply(self, plan: Plan) -> str:
        """Return the command that applies a plan as it is."""
        names = [f"--losing {topic}" for topic in plan.losing]
        names += [f"--widening '{principal}'" for principal in plan.widening]
        approval = [f"--plan {plan.id}", *names] if plan.guarded else []
        return f"`{' '.join(['sluice', self.noun, 'apply', *self.arguments, *approval])}`"


def refuse_unapproved(plan: Plan, approval: Approval | None, commands: PlanCommands) -> None:
    """Raise an error if a plan may not be applied: without an approval, only what is safe may be.

    Raises:
        RefusedError: says which changes, why, and what to do.
    """
    if plan.refused:
        whys = "; ".join(f"{each} ({each.why}: {each.fix})" for each in plan.refused)
        raise RefusedError(
            f"Existing topics differ from their specs in what no plan changes, so nothing was applied: {whys}.",
            fix="change the specs, then plan again.",
        )
    if approval is None:
        if plan.guarded:
            whys = "; ".join(f"{change} ({change.why})" for change in plan.guarded)
            raise RefusedError(
                f"The plan {plan.id} has changes that have to be approved, so nothing was applied: {whys}.",
                fix=f"read {commands.plan()}, then run {commands.apply(plan)}.",
            )
        return
    if approval.plan != plan.id:
        raise RefusedError(
            f"The plan {approval.plan} is out of date, so nothing was applied: the specs or the cluster have changed "
            f"since, and the plan is {plan.id} now ({plan or 'nothing to do'}).",
            fix=f"read the new one: {commands.plan()}.",
        )
    _refuse_unnamed(plan, approval, commands)


def _refuse_unnamed(plan: Plan, approval: Approval, commands: PlanCommands) -> None:
    for effect, unnamed in (
        ("may delete records of", set(plan.losing) - approval.losing),
        ("opens something by", set(plan.widening) - approval.widening),
    ):
        if unnamed:
            raise RefusedError(
                f"The plan {plan.id} {effect} {', '.join(sorted(unnamed))}, which the approval does not name, so "
                "nothing was applied.",
                fix=f"if that is wanted, run {commands.apply(plan)}.",
            )
