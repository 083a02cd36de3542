"""Cost: processor time of each unit's driver by a million records, and of each pipeline over the last days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from sluice.capacity.costs import KINDS, PipelineCost, whole_costs
from sluice.console.context.access import Visitor, VisitorDep, readable
from sluice.console.context.page_context import ConsoleContext, ContextDep
from sluice.console.html.site import page
from sluice.project.capacity.costs import costs_of_pipelines
from sluice.project.project import Project
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.dag_ids import quality_dag_id, stream_dag_id
from sluice.streams.health.batch_log import newest_batch

router = APIRouter()

_MILLION = 1_000_000
_DAYS = 7


@dataclass(frozen=True)
class UnitCost:
    """What the newest driver of a unit has used.

    Attributes:
        unit: its name.
        streams: how many it runs.
        generation: of the driver.
        cpu_seconds: of its process and all below it, with its start.
        read: records that its streams have read, each stream by itself.
    """

    unit: str
    streams: int
    generation: int
    cpu_seconds: float
    read: int

    @property
    def per_million(self) -> float | None:
        """CPU seconds per million records that were read; None before the first."""
        return self.cpu_seconds * _MILLION / self.read if self.read else None


@router.get("/cost")
def cost(request: Request, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show the units that the visitor may see, the most expensive first."""
    project = context.project
    units = readable(visitor, {stream_dag_id(name): unit for name, unit in project.catalog.units().items()})
    costs = [cost for unit in units if (cost := cost_of(project, unit)) is not None]
    rows = sorted(costs, key=lambda each: (-(each.per_million or 0.0), each.unit))
    prices, lately = project.deployment.prices, lately_used(visitor, context)
    shown = [(cost, cost.money(prices)) for cost in lately]
    currency = "" if prices is None or prices.core_hour is None else prices.currency
    return page(
        request,
        "cost.html",
        rows=rows,
        unknown=len(units) - len(rows),
        pipelines=shown,
        kinds=KINDS,
        days=_DAYS,
        currency=currency,
    )


def lately_used(visitor: Visitor, context: ConsoleContext, days: int = _DAYS) -> Sequence[PipelineCost]:
    """Return what each pipeline that the visitor may see has used over the last days together, the most first.

    Raises:
        UnreachableError: the record could not be queried.
    """
    project = context.project
    seen = set(readable(visitor, {quality_dag_id(name): name for name in project.catalog.pipelines}))
    costs = costs_of_pipelines(project, context.clock.now(), days)
    own = whole_costs(cost for cost in costs if cost.pipeline in seen)
    return sorted(own, key=lambda cost: (-cost.total, cost.pipeline))


def cost_of(project: Project, unit: Unit) -> UnitCost | None:
    """Return what the newest driver of a unit has used; None if its streams have logged no batch yet."""
    logged = [newest_batch(project.folder.batch_log(stream)) for stream in unit.streams]
    known = [each for each in logged if each is not None and each.cpu_seconds is not None and each.read is not None]
    if not known:
        return None
    generation = max(each.generation for each in known)
    newest: Sequence[tuple[float, int]] = [
        (each.cpu_seconds or 0.0, each.read or 0) for each in known if each.generation == generation
    ]
    read = sum(read for _, read in newest)
    return UnitCost(unit.name, len(unit.streams), generation, max(cpu for cpu, _ in newest), read)
