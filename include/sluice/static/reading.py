"""Reading a static input, wherever it is: its content as it is now, and the digest that names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyarrow import dataset, parquet

from sluice.errors import SpecError, UnreachableError
from sluice.specs.code.identity import digest
from sluice.specs.code.static import locate
from sluice.specs.model.sources import StaticFormat, StaticInput
from sluice.static.columns import fitted, schema_of
from sluice.static.lines import csv_table, json_table, uncompressed
from sluice.static.places import StaticPlaces
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.folder import Folder

_TRIES = 5
"""How often a folder is read again that changes while it is read."""


@dataclass(frozen=True)
class StaticContent:
    """A static input as it was read.

    Attributes:
        digest: names the content and its declared columns.
        rows: returns them.
    """

    digest: str
    rows: Callable[[], pa.Table]


def read_static_input(static: StaticInput, places: StaticPlaces) -> pa.Table:
    """Return the rows of a static input, as they are now.

    Raises:
        SpecError: it is not there, or does not fit its declared columns.
        NotReadyError: nothing says how it is reached, or the table is not there yet.
        RefusedError: a database refuses, or it is too large.
        UnreachableError: a database could not be asked.
    """
    return content_of(static, places).rows()


def content_of(static: StaticInput, places: StaticPlaces) -> StaticContent:
    """Return the content of a static input, as it is now. Rows of files are not made before they are asked for.

    Raises:
        SpecError: see `read_static_input`, also for the others.
    """
    columns = static.column_types
    match static.form:
        case StaticFormat.JDBC:
            from sluice.static.database import database_table, digest_of_rows  # noqa: PLC0415 - slow to import

            table = database_table(static, places.connection(str(static.connection)))
            return _content(static, digest_of_rows(table), lambda: table)
        case StaticFormat.DELTA:
            folder = locate(static, places.include) if static.table is None else places.table(static.table)
            return _delta(static, folder)
        case StaticFormat.PARQUET:
            return _parquet(static, locate(static, places.include))
    path = locate(static, places.include)
    read = path.read_bytes()
    name = str(static.path)

    def rows() -> pa.Table:
        if static.form is StaticFormat.BYTES:
            return pa.table({"path": [name], "content": [read]}, schema=schema_of(columns))
        make = json_table if static.form is StaticFormat.JSON_LINES else csv_table
        return make(uncompressed(read, name), columns, name)

    return _content(static, hashlib.sha256(read).hexdigest(), rows)


def _content(static: StaticInput, of: str, rows: Callable[[], pa.Table]) -> StaticContent:
    named = json.dumps([of, static.form.value, static.column_types])
    return StaticContent(hashlib.sha256(named.encode()).hexdigest(), rows)


def parquet_schema(static: StaticInput, path: Path) -> pa.Schema:
    """Return the columns of a Parquet file, or of the files of a folder.

    Raises:
        SpecError: they cannot be read.
    """
    try:
        return dataset.dataset(path, format="parquet").schema
    except (pa.ArrowInvalid, OSError) as error:
        raise SpecError(f"{static.text} cannot be read as Parquet: {error}", fix="write it again.") from None


def _parquet(static: StaticInput, path: Path) -> StaticContent:
    """Return Parquet files as they are at one moment: a folder that changes meanwhile is read again."""
    before = digest(path)
    for _ in range(_TRIES):
        try:
            table = parquet.read_table(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise SpecError(f"{static.text} cannot be read as Parquet: {error}", fix="write it again.") from None
        if (after := digest(path)) == before:
            return _content(static, before, partial(fitted, table, static.column_types, static.text))
        before = after
    raise UnreachableError(f"{static.text} changes all the time.", fix="replace its files at once.")


def _delta(static: StaticInput, folder: Folder) -> StaticContent:
    from sluice.delta.reading import dataset_of, open_table  # noqa: PLC0415 - slow to import

    table = open_table(folder)
    version = table.version()
    place = folder.as_uri() if isinstance(folder, BucketFolder) else str(folder)
    files = sorted(uri.removeprefix(place) for uri in table.file_uris())
    named = json.dumps([str(table.metadata().id), files])

    def rows() -> pa.Table:
        read = dataset_of(folder, version)
        found = [name for name in static.columns if name in read.schema.names]
        return fitted(read.to_table(columns=found), static.column_types, static.text)

    return _content(static, hashlib.sha256(named.encode()).hexdigest(), rows)
