"""`sluice doctor`: check that this machine can run Sluice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import typer
from rich.table import Table

from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out
from sluice.devstack.doctor import Check, checks
from sluice.errors import NotReadyError
from sluice.settings import settings


def doctor(output: OutputOption = Output.TABLE) -> None:
    """Check Python, Java, memory, disk, ports and jars, and print how to fix what is missing.

    Exit codes: 0 the machine is ready; 3 something is missing.
    """
    results = checks(settings())
    ok = all(check.ok for check in results)
    emit(output, {"ok": ok, "checks": [asdict(check) for check in results]}, lambda: _show(results))
    if not ok:
        raise typer.Exit(NotReadyError.exit_code)


def _show(results: Sequence[Check]) -> None:
    table = Table("check", "", "detail")
    for check in results:
        table.add_row(check.name, "[green]ok[/green]" if check.ok else "[red]missing[/red]", check.found)
    out.print(table)
    for check in results:
        if not check.ok:
            err_lines.print(f"{check.name}: {check.found}. Fix: {check.fix}")
