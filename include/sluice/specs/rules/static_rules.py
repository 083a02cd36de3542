"""Rules about static inputs: what is declared is there, and has the declared columns."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from sluice.errors import SpecError
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.code.static import folders_of, locate_file
from sluice.specs.model.outputs import IntervalsOutput, LatestOutput, RowsOutput
from sluice.specs.model.sources import StaticFormat, StaticInput
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading

_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}
_Misfit = tuple[tuple[str, ...], str, str]
"""Keys below the static input, what is wrong, and what to do."""


def static_inputs_exist(reading: Reading) -> Iterator[Finding]:
    """Every static input is there, and has the declared columns as far as a look at its beginning tells."""
    located, header_of = cache(locate_file), cache(_header)  # pipelines share inputs: each is checked once
    for name, pipeline in reading.catalog.pipelines.items():
        for key, static in pipeline.static.items():
            if static.path is None:
                misfits = _faulty_table(static, reading.catalog)
            else:
                may_be_folder = static.form in (StaticFormat.PARQUET, StaticFormat.DELTA)
                locate = partial(located, static.package, static.path, reading.include, or_folder=may_be_folder)
                misfits = _faulty_file(static, locate, header_of)
            for where, message, fix in misfits:
                yield reading.finding(Kind.PIPELINE, name, ("static", key, *where), message, fix)


def _faulty_table(static: StaticInput, catalog: Catalog) -> Iterator[_Misfit]:
    if static.form is StaticFormat.DELTA and static.table not in (known := _tables(catalog)):
        fix = (
            f"there are {', '.join(sorted(known)) or 'none'}; of another table say its folder below include/ as `path`."
        )
        yield ("table",), f"the project has no table {static.table!r}.", fix


def _tables(catalog: Catalog) -> set[str]:
    """Return the Delta tables that the project's streams write."""
    outputs = (output for pipeline in catalog.pipelines.values() for output in pipeline.every_output)
    delta = {
        output.table
        for output in outputs
        if isinstance(output, IntervalsOutput | RowsOutput)
        or (isinstance(output, LatestOutput) and output.store == "delta")
    }
    return delta | {topic.raw.table for topic in catalog.topics.values()}


def _faulty_file(
    static: StaticInput, locate: Callable[[], Path], header_of: Callable[[Path], Sequence[str]]
) -> Iterator[_Misfit]:
    try:
        path = locate()
    except SpecError as error:
        at = "package" if static.package and not folders_of(static.package) else "path"
        yield (at,), error.message, error.fix
        return
    match static.form:
        case StaticFormat.CSV if path.suffix not in _COMPRESSED:
            header = header_of(path)
            for column in (each for each in static.columns if each not in header):
                yield ("columns", column), f"{static.path} has no column {column!r}.", ""
        case StaticFormat.JSON_LINES:
            yield from _faulty_lines(static, path)
        case StaticFormat.PARQUET:
            yield from _faulty_parquet(static, path)
        case StaticFormat.DELTA if not (path / "_delta_log").is_dir():
            yield (
                ("path",),
                f"{static.path} is no Delta table: it has no folder `_delta_log`.",
                "name a table's folder.",
            )


def _header(path: Path) -> list[str]:
    """Return the columns of a CSV file, none if it cannot be read."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            return next(csv.reader(lines), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def _faulty_lines(static: StaticInput, path: Path) -> Iterator[_Misfit]:
    from sluice.static.lines import json_table, uncompressed  # noqa: PLC0415 - few projects need it, and it is slow

    name = str(static.path)
    try:
        json_table(uncompressed(path.read_bytes(), name), static.column_types, name)
    except SpecError as error:
        yield ("path",), error.message, error.fix


def _faulty_parquet(static: StaticInput, path: Path) -> Iterator[_Misfit]:
    from sluice.static.columns import misfits  # noqa: PLC0415 - few projects need it, and it is slow
    from sluice.static.reading import parquet_schema  # noqa: PLC0415 - the same

    try:
        schema = parquet_schema(static, path)
    except SpecError as error:
        yield ("path",), error.message, error.fix
        return
    for column, what in misfits(schema, static.column_types).items():
        yield ("columns", column), f"{static.path} {what}", "correct the columns, or the file."
