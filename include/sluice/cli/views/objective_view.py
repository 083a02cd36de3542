"""Objectives of outputs on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Column, Table

from sluice.clock import Clock
from sluice.errors import UnreachableError
from sluice.objectives.budget import Burning, ratio_text
from sluice.objectives.standing import OutputObjective, output_objectives
from sluice.project.project import Project
from sluice.specs.catalog.objectives import declared_objectives
from sluice.specs.model.deadlines import format_share
from sluice.wording import span

_WHOLE = 10
"""Burn rates from which on a tenth says nothing."""


def project_objectives(project: Project, clock: Clock) -> Sequence[OutputObjective] | None:
    """Return how the outputs with an objective stand; None if the control database did not answer."""
    declared = tuple(declared_objectives(project.catalog))
    try:
        return output_objectives(declared, project.records.objectives(), clock.now()) if declared else ()
    except UnreachableError:
        return None


def objectives_as_dict(outputs: Sequence[OutputObjective] | None) -> Mapping[str, Mapping[str, Any]] | None:
    """Return them as JSON values, by `<pipeline>/<output>`; None as it is."""
    if outputs is None:
        return None
    return {output.declared.name: output.standing.as_dict() for output in outputs}


def objective_table(outputs: Sequence[OutputObjective]) -> Table:
    """Return a row for each output, in their order."""
    table = Table(Column("output", overflow="fold"), "objective", "good", "budget left", "burn 1h/6h/3d", "unknown")
    for output in outputs:
        standing = output.standing
        rates = [rate for name in ("1h", "6h", "3d") if (rate := standing.burn[name]) is not None]
        red = standing.fast is Burning.YES or (standing.remaining_ratio or 0.0) < 0
        table.add_row(
            output.declared.name,
            format_share(standing.objective.share),
            ratio_text(standing.window.ratio) or "?",
            ratio_text(standing.remaining_ratio),
            "/".join(f"{rate:.{0 if rate >= _WHOLE else 1}f}" for rate in rates),
            span(standing.window.unknown.total_seconds()) if standing.window.unknown else "",
            style="red" if red else "yellow" if standing.slow is Burning.YES else None,
        )
    return table
