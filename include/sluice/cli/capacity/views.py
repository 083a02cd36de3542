"""Plans and costs as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.table import Column, Table

from sluice.capacity.costs import KINDS, PipelineCost, whole_costs
from sluice.capacity.plan import GB, CapacityPlan, Estimate
from sluice.cli.terminal.output import out, out_lines
from sluice.specs.deployments.prices import Prices


def print_plan(plan: CapacityPlan) -> None:
    """Print a plan: a row for each number, what decides, and what to know."""
    out_lines.print(
        f"{plan.pipeline} in the driver {plan.unit}: measured at {plan.measured_rate:,.1f} records/s, "
        f"planned for {plan.rate:,.1f}/s"
    )
    table = Table(Column("", overflow="fold"), Column("need", justify="right"), Column("why", overflow="fold"))
    for each in plan.estimates:
        table.add_row(each.name, _amount(each), each.why)
    out.print(table)
    out_lines.print(f"The number of cores is decided by: {plan.limit}.")
    for note in plan.notes:
        out_lines.print(f"Note: {note}.")


def print_costs(costs: Sequence[PipelineCost], prices: Prices | None) -> None:
    """Print CPU seconds: a row for each day and pipeline, and one for all of them."""
    if not costs:
        out_lines.print("Nothing is on record of these days.")
        return
    priced = prices is not None and prices.core_hour is not None
    figures = [*KINDS, "together", *([prices.currency] if prices is not None and priced else [])]
    columns = [Column(name, justify="right") for name in figures]
    table = Table("day", Column("pipeline", overflow="fold"), *columns, title="CPU seconds", show_footer=False)
    for cost in costs:
        table.add_row(f"{cost.day}", cost.pipeline, *_costs(cost, prices))
    whole = [replace(cost, pipeline="") for cost in costs]
    table.add_section()
    table.add_row("", "all", *_costs(whole_costs(whole)[0], prices))
    out.print(table)


def _costs(cost: PipelineCost, prices: Prices | None) -> Sequence[str]:
    seconds = [f"{cost.seconds[kind]:,.1f}" if kind in cost.seconds else "" for kind in KINDS]
    money = cost.money(prices)
    return [*seconds, f"{cost.total:,.1f}", *([] if money is None else [f"{money:,.2f}"])]


def _amount(each: Estimate) -> str:
    if each.value is None:
        return "unknown"
    if each.unit == "bytes":
        return f"{each.value / GB:,.2f} GB"
    if each.unit == "seconds":
        return f"{each.value:.2f} s"
    if float(each.value).is_integer() and each.unit in {"cores", "partitions"}:
        return f"{each.value:.0f}"
    interval = "" if each.low is None or each.high is None else f" ({each.low:.2f} to {each.high:.2f})"
    unit = f" {each.unit.split()[0]}" if "month" in each.unit else ""
    return f"{each.value:,.2f}{interval}{unit}"
