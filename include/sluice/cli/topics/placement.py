"""`sluice topics place`: plan and verify the placement of replicas without a cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out
from sluice.errors import RefusedError, SpecError

if TYPE_CHECKING:
    from sluice.provisioning.placement.check import Report
    from sluice.provisioning.placement.partition import Partition

_ROWS = 40
"""The most rows for people; programs get all."""


def place(
    topology: Annotated[str, typer.Option(help="JSON: the brokers and their failure domains; - reads stdin.")],
    assignment: Annotated[str, typer.Option(help="JSON: the replicas of every partition; - reads stdin.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan replicas over any number of failure domains: valid, leaders balanced, fewest moves. Changes nothing.

    Exit codes: 0 the plan is verified; 2 a file is wrong; 5 some partitions have no valid placement and stay as they
    are; the plan of the others is shown.
    """
    # Only this command imports numpy.
    from sluice.provisioning.placement.check import check_placement  # noqa: PLC0415
    from sluice.provisioning.placement.document import read_placement, result_as_dict  # noqa: PLC0415
    from sluice.provisioning.placement.planner import plan_placement  # noqa: PLC0415

    if topology == assignment == "-":
        raise SpecError(
            "both files are standard input, which can be read only once.", fix="pass a file for one of them."
        )
    brokers, before = read_placement(_content(topology), _content(assignment))
    after = plan_placement(brokers, before)
    report = check_placement(brokers, before, after)
    result = result_as_dict(brokers, after, report)
    emit(output, result, lambda: _show(before, after, check_placement(brokers, before, before), report))
    _refuse(report, {entry["replication"]: entry["reason"] for entry in result["infeasible"]})


def _content(name: str) -> tuple[str, bytes]:
    if name == "-":
        return "standard input", sys.stdin.buffer.read()
    try:
        return name, Path(name).read_bytes()
    except OSError as error:
        raise SpecError(f"{name} cannot be read: {error.strerror or error}.", fix="pass a JSON file.") from error


def _show(before: Sequence[Partition], after: Sequence[Partition], then: Report, now: Report) -> None:
    """Print the moves, and the balance before and after."""
    present = {partition.key: partition.replicas for partition in before}
    moving = [partition for partition in after if set(partition.replicas) - set(present[partition.key])]
    if moving:
        table = Table("partition", "from", "to", "moves", box=None)
        for partition in moving[:_ROWS]:
            old, new = present[partition.key], partition.replicas
            table.add_row(str(partition), _ids(old), _ids(new), str(len(set(new) - set(old))))
        out.print(table)
        if len(moving) > _ROWS:
            out.print(f"and {len(moving) - _ROWS:,} more partitions (-o json has all)")
    led = sum(present[partition.key][:1] != partition.replicas[:1] for partition in after)
    summary = Table("", "before", "after", box=None)
    summary.add_row("violations", f"{len(then.violations):,}", f"{len(now.violations):,}")
    summary.add_row("leader skew", f"{then.leader_skew:,}", f"{now.leader_skew:,}")
    summary.add_row("replica skew", f"{then.replica_skew:,}", f"{now.replica_skew:,}")
    out.print(summary)
    out.print(
        f"Replicas that move: {now.moves:,}, in {len(moving):,} of {len(after):,} partitions; new leaders: {led:,}."
    )
    for violation in now.violations[:_ROWS]:
        err_lines.print(f"violated: {violation}", style="red")


def _ids(replicas: Sequence[int]) -> str:
    return ",".join(map(str, replicas)) or "none"


def _refuse(report: Report, reasons: dict[int, str]) -> None:
    """Refuse a plan that does not satisfy the rule for every partition.

    Raises:
        RefusedError: the plan breaks the rule, or a partition has no valid placement.
    """
    if report.violations:
        raise RefusedError(
            f"the plan breaks the rule {len(report.violations):,} times, first: {report.violations[0]}.",
            fix="do not apply it: this is a bug in the planner. Report it with both files.",
        )
    if report.infeasible:
        why = "; ".join(f"with {factor} replicas {reason}" for factor, reason in reasons.items())
        raise RefusedError(
            f"{len(report.infeasible):,} partitions (the first: {report.infeasible[0]}) have no valid placement and "
            f"stay as they are: {why}.",
            fix="add the missing brokers, or change the replication of these topics.",
        )
