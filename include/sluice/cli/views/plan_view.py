"""Lines of a plan of topics and access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluice.cli.terminal.output import counted, out_lines
from sluice.provisioning.plans.changes import Risk
from sluice.provisioning.plans.plan import Plan

_MARKS = {Risk.SAFE: "+", Risk.APPROVAL: "!", Risk.LOSS: "!!", Risk.WIDENING: "!!"}
_STYLES = {Risk.SAFE: "green", Risk.APPROVAL: "yellow", Risk.LOSS: "red", Risk.WIDENING: "red"}


def print_plan(plan: Plan, impacts: Mapping[tuple[str, str], Sequence[str]] | None = None) -> None:
    """Print what a plan changes, with clauses about each change's impact, and what it refuses, leaves out and keeps."""
    for change in plan.changes:
        risk = "" if change.risk is Risk.SAFE else f" [{change.risk}: {change.why}]"
        out_lines.print(f"{_MARKS[change.risk]} {change}{risk}", style=_STYLES[change.risk])
        for clause in (impacts or {}).get((change.subject, change.value), ()):
            out_lines.print(f"    {clause}")
    for refused in plan.refused:
        out_lines.print(f"x {refused}: refused, {'; '.join(filter(None, (refused.why, refused.fix)))}", style="red")
    print_unable(plan)
    for kept in plan.kept:
        out_lines.print(f"  {kept}")


def print_unable(plan: Plan) -> None:
    """Print what the service does not do, why, and what to do in it instead."""
    for unable in plan.unable:
        out_lines.print(f"- {unable}: not attempted, {unable.why}; {unable.fix}", style="yellow")


def as_far_as(plan: Plan) -> str:
    """Return the clause that a plan's last line ends with where the service does not do all that is declared."""
    if not plan.unable:
        return ""
    return (
        f", as far as Sluice can do it here: {counted(len(plan.unable), 'declaration')} above must be seen to elsewhere"
    )
