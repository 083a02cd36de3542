"""`sluice sql`: read-only queries on the project's tables, executed in this process."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import typer
from rich.console import JustifyMethod
from rich.markup import escape
from rich.table import Table

from sluice.cli.terminal.output import Output, OutputOption, emit, err, out, out_lines, terminal_for_data
from sluice.errors import SpecError
from sluice.interactive.table import declared_tables, states_of, tables_of, without_rows
from sluice.project.project import Project
from sluice.settings import settings

_LIMIT = 1000
_NUMBERS = ("int", "uint", "float", "double", "decimal", "halffloat")


def sql(
    statement: Annotated[str, typer.Argument(help="One SELECT. Default: list the tables and their columns.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The largest number of rows.")] = _LIMIT,
    output: OutputOption = Output.TABLE,
) -> None:
    """Query the raw, interval, row, newest-row and carried tables with SQL (DuckDB's dialect; times in UTC).

    Exit codes: 0; 2 the statement or a spec is wrong; 3 a table that it names has no rows yet; 6 a table's log cannot
    be read.
    """
    from sluice.delta.sql import named_in, query, schema_of  # noqa: PLC0415 - only this command imports DuckDB

    project = Project.open_tolerant(settings())
    tables = {**tables_of(project), **states_of(project)}
    if not statement:
        schemas = {name: schema_of(folder) for name, folder in tables.items()}
        described = {name: {field.name: str(field.type) for field in schema} for name, schema in schemas.items()}
        emit(output, described, lambda: _print_tables(described))
        return
    try:
        result = query(statement, tables, limit=limit + 1)
    except SpecError as refusal:
        absent = {name: folder for name, folder in declared_tables(project).items() if name not in tables}
        unwritten = next(iter(named_in(statement, absent)), None)
        raise (without_rows(project, unwritten) if unwritten else refusal) from refusal
    rows = result.slice(0, limit).to_pylist()
    data = [{name: _plain(value) for name, value in row.items()} for row in rows]
    emit(output, data, lambda: terminal_for_data().print(_table(result, rows)))
    if len(result) > limit:
        err.print(f"Showing the first {limit:,} rows; use -n for more.", style="yellow")


def _table(result: Any, rows: list[dict[str, Any]]) -> Table:  # noqa: ANN401 - pyarrow is imported on use
    table = Table(box=None, pad_edge=False)
    for field in result.schema:
        justify: JustifyMethod = "right" if str(field.type).startswith(_NUMBERS) else "left"
        whole = str(field.type).startswith(("timestamp", "date", "time"))
        table.add_column(escape(field.name), justify=justify, overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*(escape(_shown(value)) for value in row.values()))
    return table


def _print_tables(described: dict[str, dict[str, str]]) -> None:
    for name, columns in described.items():
        out.print(escape(name), style="bold")
        out_lines.print("    " + ", ".join(f"{column} {kind}" for column, kind in columns.items()))
    if not described:
        out.print("There is no table yet, because no stream has committed rows. `sluice status` shows the streams.")


def _shown(value: object) -> str:
    """Return a value for people: times in UTC at their own precision, nothing for null."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return "" if value is None else str(_plain(value))


def _plain(value: object) -> object:
    """Return a value for programs: times in ISO 8601, bytes decoded as UTF-8."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):  # SUM of integers is a decimal
        return int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value
