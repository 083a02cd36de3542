"""Lines of a plan of topics and access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluice.cli.terminal.output import out_lines
from sluice.provisioning.plans.changes import Risk
from sluice.provisioning.plans.plan import Plan

_MARKS = {Risk.SAFE: "+", Risk.APPROVAL: "!", Risk.LOSS: "!!", Risk.WIDENING: "!!"}
_STYLES = {Risk.SAFE: "green", Risk.APPROVAL: "yellow", Risk.LOSS: "red", Risk.WIDENING: "red"}


def print_plan(plan: Plan, impacts: Mapping[tuple[str, str], Sequence[str]] | None = None) -> None:
    """Print what a plan changes, with clauses about the impact of each change, and what it refuses and keeps."""
    for change in plan.changes:
        risk = "" if change.risk is Risk.SAFE else f" [{change.risk}: {change.why}]"
        out_lines.print(f"{_MARKS[change.risk]} {change}{risk}", style=_STYLES[change.risk])
        for clause in (impacts or {}).get((change.subject, change.value), ()):
            out_lines.print(f"    {clause}")
    for refused in plan.refused:
        out_lines.print(f"x {refused}: refused, {'; '.join(filter(None, (refused.why, refused.fix)))}", style="red")
    for kept in plan.kept:
        out_lines.print(f"  {kept}")
