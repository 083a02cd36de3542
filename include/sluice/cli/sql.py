"""`sluice sql`: questions to the project's tables, answered in this process. Nothing can be changed by it."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import typer
from rich.console import JustifyMethod
from rich.markup import escape
from rich.table import Table

from sluice.cli.terminal.output import Output, OutputOption, err, out, print_data, terminal_for_data
from sluice.errors import SpecError
from sluice.interactive.table import declared_tables, tables_of, without_rows
from sluice.project.project import Project
from sluice.settings import settings

_LIMIT = 1000


def sql(
    statement: Annotated[str, typer.Argument(help="One SELECT; omitted: the tables and their columns.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Rows at most.")] = _LIMIT,
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask the raw, interval, row and newest-row tables with SQL (DuckDB's dialect; times in UTC).

    Exit codes: 0; 2 the statement or a spec is wrong; 3 a table that it names has no rows yet; 6 a
    table's log cannot be read.
    """
    from sluice.delta.sql import named_in, query, schema_of  # noqa: PLC0415 - only this command pays for it

    project = Project.open_tolerant(settings())
    tables = tables_of(project)
    if not statement:
        _tell_tables({name: schema_of(folder) for name, folder in tables.items()}, output)
        return
    try:
        found = query(statement, tables, limit=limit + 1)
    except SpecError as refusal:
        absent = {name: folder for name, folder in declared_tables(project).items() if name not in tables}
        unwritten = next(iter(named_in(statement, absent)), None)
        raise (without_rows(project, unwritten) if unwritten else refusal) from refusal
    rows = found.slice(0, limit).to_pylist()
    if output.for_programs:
        print_data(output, [{name: _plain(value) for name, value in row.items()} for row in rows])
    else:
        terminal_for_data().print(_table(found, rows))
    if len(found) > limit:
        err.print(f"Only the first {limit:,} rows are shown; -n shows more.", style="yellow")


def _table(found: Any, rows: list[dict[str, Any]]) -> Table:  # noqa: ANN401 - pyarrow is imported by who asks
    table = Table(box=None, pad_edge=False)
    for field in found.schema:
        justify: JustifyMethod = "right" if _is_number(field.type) else "left"
        whole = str(field.type).startswith(("timestamp", "date", "time"))
        table.add_column(escape(field.name), justify=justify, overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*(escape(_shown(value)) for value in row.values()))
    return table


def _tell_tables(schemas: dict[str, Any], output: Output) -> None:
    described = {name: {field.name: str(field.type) for field in schema} for name, schema in schemas.items()}
    if output.for_programs:
        print_data(output, described)
        return
    for name, columns in described.items():
        out.print(escape(name), style="bold")
        out.print("    " + ", ".join(f"{column} {kind}" for column, kind in columns.items()), markup=False)
    if not described:
        out.print("There is no table yet: no stream has committed rows. `sluice status` shows what the streams do.")


def _is_number(kind: Any) -> bool:  # noqa: ANN401 - pyarrow is imported by who asks
    return str(kind).startswith(("int", "uint", "float", "double", "decimal", "halffloat"))


def _shown(value: object) -> str:
    """Return a value as a person reads it: times in UTC to the digit that they have, nothing for null."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return "" if value is None else str(_plain(value))


def _plain(value: object) -> object:
    """Return a value for programs: times by ISO 8601, bytes as text where they are text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):  # what SUM gives of whole numbers
        return int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value
