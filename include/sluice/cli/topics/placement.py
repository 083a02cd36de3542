"""`sluice topics place`: where the replicas of partitions should lie, planned and proved without a cluster."""

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
"""A person reads no more; programs get all."""


def place(
    topology: Annotated[str, typer.Option(help="JSON: the brokers and their failure domains; - reads stdin.")],
    assignment: Annotated[str, typer.Option(help="JSON: the replicas of every partition; - reads stdin.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan replicas over any number of failure domains: valid, leaders balanced, fewest moves. Changes nothing.

    Exit codes: 0 planned, and proved; 2 a file is wrong; 5 for some partitions no valid brokers exist: they stay
    as they are, the plan of the others is shown.
    """
    # Only this command pays for numpy's import.
    from sluice.provisioning.placement.check import check_placement  # noqa: PLC0415
    from sluice.provisioning.placement.document import read_placement, result_as_dict  # noqa: PLC0415
    from sluice.provisioning.placement.planner import plan_placement  # noqa: PLC0415

    if topology == assignment == "-":
        raise SpecError("both files are standard input, which can be read once.", fix="name a file for one of them.")
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
        raise SpecError(f"{name} cannot be read: {error.strerror or error}.", fix="name a JSON file.") from error


def _show(before: Sequence[Partition], after: Sequence[Partition], then: Report, now: Report) -> None:
    """Print what moves where, and how even it is before and after."""
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
    """Say why the plan does not put every partition where the rule wants it.

    Raises:
        RefusedError: there is such a partition.
    """
    if report.violations:
        raise RefusedError(
            f"the plan breaks the rule in {len(report.violations):,} places, the first: {report.violations[0]}.",
            fix="do not apply it, and report it with both files: the planner is wrong.",
        )
    if report.infeasible:
        why = "; ".join(f"with {factor} replicas {reason}" for factor, reason in reasons.items())
        raise RefusedError(
            f"{len(report.infeasible):,} partitions (the first: {report.infeasible[0]}) cannot be valid and stay as "
            f"they are: {why}.",
            fix="add brokers where they are missing, or give these topics another number of replicas.",
        )
