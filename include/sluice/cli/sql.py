"""`sluice sql`: questions to the project's tables, answered in this process. Nothing can be changed by it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sluice.cli.console import Output, OutputOption, err, out, print_data
from sluice.project import Project
from sluice.settings import settings

_LIMIT = 1000


def sql(
    statement: Annotated[str, typer.Argument(help="One SELECT; omitted: the tables and their columns.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Rows at most.")] = _LIMIT,
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask the raw, interval, row and newest-row tables with SQL (DuckDB's dialect; times in UTC).

    Exit codes: 0; 2 the statement or a spec is wrong; 6 a table's log cannot be read.
    """
    from sluice.delta.sql import query, schema_of  # noqa: PLC0415 - only this command pays for it

    tables = tables_of(Project.open_sound(settings()))
    if not statement:
        _tell_tables({name: schema_of(folder) for name, folder in tables.items()}, output)
        return
    found = query(statement, tables, limit=limit + 1)
    rows = found.slice(0, limit).to_pylist()
    if output.for_programs:
        print_data(output, [{name: _plain(value) for name, value in row.items()} for row in rows])
    else:
        table = Table(box=None, pad_edge=False)
        for field in found.schema:
            table.add_column(escape(field.name), justify="right" if _is_number(field.type) else "left")
        for row in rows:
            table.add_row(*(escape(str(_plain(value))) if value is not None else "" for value in row.values()))
        out.print(table)
    if len(found) > limit:
        err.print(f"Only the first {limit:,} rows are shown; -n shows more.", style="yellow")


def tables_of(project: Project) -> dict[str, Path]:
    """Return the folders of those declared tables that there are, by name."""
    names = [topic.raw.table for topic in project.catalog.topics.values()]
    for pipeline in project.catalog.pipelines.values():
        outputs = (output for output in pipeline.every_output if getattr(output, "store", "delta") == "delta")
        names += [table for output in outputs if (table := getattr(output, "table", None))]
    folders = {name: project.folder.table(name) for name in names}
    return {name: folder for name, folder in folders.items() if (folder / "_delta_log").is_dir()}


def _tell_tables(schemas: dict[str, Any], output: Output) -> None:
    described = {name: {field.name: str(field.type) for field in schema} for name, schema in schemas.items()}
    if output.for_programs:
        print_data(output, described)
        return
    for name, columns in described.items():
        out.print(escape(name), style="bold")
        out.print("    " + ", ".join(f"{column} {kind}" for column, kind in columns.items()), markup=False)
    if not described:
        out.print("There is no table yet: no stream has written one.")


def _is_number(kind: Any) -> bool:  # noqa: ANN401 - pyarrow is imported by who asks
    return str(kind).startswith(("int", "uint", "float", "double", "decimal", "halffloat"))


def _plain(value: object) -> object:
    """Return a value as it is shown: times by ISO 8601, bytes as text where they are text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):  # what SUM gives of whole numbers
        return int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value
