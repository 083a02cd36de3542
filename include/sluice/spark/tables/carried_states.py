"""What intervals have left of the tables that they hand on: one file for each content, under the name of its digest.

A state is written before the commit that names it, and never changed. So a commit that was not made leaves a file that
nobody reads, and a state that is computed again is the same file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from operator import or_
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from sluice.delta.reading import arrow_files
from sluice.disk import sync_folder
from sluice.errors import RefusedError
from sluice.intervals.entries import Content
from sluice.spark.records.content import HASH, with_hash
from sluice.spark.records.transforms import carried_schema
from sluice.spark.sinks.collected import brought, in_files
from sluice.spark.tables.raw_table import few_rows, frame_of
from sluice.specs.model.outputs import CarriedTable
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.folder import Folder, remove_folder

_ROWS_PER_GROUP = 1_000_000


class CarriedStates:
    """The states of one pipeline.

    Args:
        spark: the session.
        folder: of all states of the pipeline.
        declared: the tables that it carries, by name.
    """

    def __init__(self, spark: SparkSession, folder: Folder, declared: Mapping[str, CarriedTable]) -> None:
        self._spark = spark
        self._folder = folder
        self._declared = declared

    def frames(self, digests: Mapping[str, str]) -> dict[str, DataFrame]:
        """Return what was left of each table, with its declared columns; a column that is new is null.

        Raises:
            RefusedError: it is gone, or a column was of another type.
        """
        return {name: self._frame(name, digest) for name, digest in digests.items() if name in self._declared}

    def keep(self, name: str, rows: DataFrame) -> str:
        """Keep what an interval leaves of a table, and return the digest of its content.

        Args:
            name: of the table.
            rows: with its declared columns, computed once.

        Raises:
            RefusedError: two rows have the same keys, or one lacks a key.
        """
        hashed = with_hash(rows)
        table = brought(hashed)
        with _drafts_in(self._folder / name) as (computed, draft):
            state = in_files(hashed, computed) if table is None else ds.dataset(table)
            self._refuse_unkeyed(name, state)
            digest = _digest(state)
            if not self._path(name, digest).exists():
                self._write(state, draft, self._path(name, digest))
        return digest

    def _frame(self, name: str, digest: str) -> DataFrame:
        path, schema = self._path(name, digest), carried_schema(self._declared[name])
        if not path.exists():
            raise RefusedError(
                f"the state {digest[:20]} of {name!r} is not there any more: {path}.",
                fix="restore the file, or recompute from an interval before which the state is there, or from the "
                "first one.",
            )
        state = ds.dataset([path.name], filesystem=arrow_files(path.parent))
        known = {field.name: field.dataType for field in from_arrow_schema(state.schema)}
        for column in schema:
            if (was := known.get(column.name, column.dataType)).simpleString() != column.dataType.simpleString():
                raise RefusedError(
                    f"the state of {name!r} was left with {column.name} as {was.simpleString()}, and "
                    f"{column.dataType.simpleString()} is declared now.",
                    fix="give the column another name, or recompute all intervals with `sluice backfill recompute`.",
                )
        held = few_rows(state, columns=schema.names) if known.keys() >= set(schema.names) else None
        if held is not None:
            return frame_of(self._spark, held)
        return self._spark.read.schema(schema).parquet(str(path))

    def _refuse_unkeyed(self, name: str, state: ds.Dataset) -> None:
        keys = list(self._declared[name].keys)
        held = state.to_table(columns=keys)
        if any(held.column(key).null_count for key in keys):
            lacking = held.filter(reduce(or_, (pc.field(key).is_null() for key in keys)))
            raise RefusedError(
                f"the transform leaves {lacking.num_rows:,} rows of {name!r} without {' or '.join(keys)}.",
                fix="leave them out, or give them a key.",
            )
        counted = held.group_by(keys).aggregate([([], "count_all")])
        twice = counted.filter(pc.field("count_all") > 1)
        if twice.num_rows:
            first = {key: twice.column(key)[0].as_py() for key in keys}
            raise RefusedError(
                f"the transform leaves {twice.column('count_all')[0].as_py()} rows of {name!r} for {first}, and "
                f"{twice.num_rows:,} keys more than once.",
                fix="return one row for each key.",
            )

    def _write(self, state: ds.Dataset, draft: Path, path: Folder) -> None:
        draft.parent.mkdir(parents=True, exist_ok=True)
        names = [column for column in state.schema.names if column != HASH]
        with draft.open("wb") as file:
            with parquet.ParquetWriter(file, pa.schema([state.schema.field(each) for each in names])) as writer:
                for batch in state.to_batches(columns=names):
                    writer.write_batch(batch, row_group_size=_ROWS_PER_GROUP)
            file.flush()
            os.fsync(file.fileno())
        if isinstance(path, BucketFolder):
            path.upload(draft)
        else:
            draft.replace(path)
            sync_folder(path.parent)

    def _path(self, name: str, digest: str) -> Folder:
        return self._folder / name / f"{digest}.parquet"


@contextmanager
def _drafts_in(folder: Folder) -> Iterator[tuple[Folder, Path]]:
    """Yield where executors write what they compute, and the file of this machine that becomes the state.

    A rename brings that file into the folder, if it is no bucket.
    """
    shared = folder / f".{uuid4().hex}"
    try:
        if isinstance(shared, BucketFolder):
            with TemporaryDirectory(prefix="sluice-draft-", ignore_cleanup_errors=True) as temporary:
                yield shared, Path(temporary) / "state.parquet"
        else:
            yield shared / "computed", shared / "state.parquet"
    finally:
        remove_folder(shared)


def _digest(state: ds.Dataset) -> str:
    """Return what names a content: the number of its rows, and the sum of their hashes over all columns."""
    rows, total = 0, 0
    for batch in state.to_batches(columns=[HASH]):
        rows += batch.num_rows
        total += pc.sum(batch.column(0).cast(pa.decimal128(38, 0))).as_py() or 0
    content = Content(rows, f"{total:f}" if rows else "0")
    return f"{content.rows}_{content.checksum}"
