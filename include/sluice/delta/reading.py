"""Reading output tables without Spark, as any other reader would."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from sluice.errors import CorruptionError, NotReadyError, SpecError
from sluice.intervals.raw_floor import RawFloor
from sluice.settings import bucket_endpoint
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.folder import Folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import dataset, fs

_TRIES = 10
"""How often Arrow asks a bucket that refuses."""
FLOOR, FLOOR_SINCE = "sluice:raw-floor", "sluice:raw-floor:since"
"""The application transactions by which a raw table says its floor: their versions are seconds since 1970."""


def open_table(folder: Folder, version: int | None = None) -> DeltaTable:
    """Open a table.

    Args:
        folder: of the table.
        version: of Delta; None: the newest one.

    Raises:
        NotReadyError: there is none.
        SpecError: it has no such version.
        CorruptionError: its log cannot be read.
    """
    try:
        table = DeltaTable(str(folder))
    except TableNotFoundError as error:
        raise NotReadyError(f"there is no table in {folder}.", fix="start the stream that writes it.") from error
    except DeltaError as error:
        why = str(error).partition("\n")[0]  # what follows is the stack of delta-rs
        raise CorruptionError(f"the log of {folder} cannot be read: {why}.", fix="restore the table's log.") from error
    if version is None or version == table.version():
        return table
    try:
        table.load_as_version(version)
    except (DeltaError, OverflowError) as error:
        raise SpecError(
            f"{folder.name} has no version {version}, or not any more; the newest is {table.version()}.",
            fix="take a newer one, or none for the newest.",
        ) from error
    return table


def floor_of(table: DeltaTable) -> RawFloor | None:
    """Return the floor of a raw table at the version that is loaded; None if nothing was ever removed."""
    at, since = table.transaction_version(FLOOR), table.transaction_version(FLOOR_SINCE)
    if at is None or since is None:
        return None
    return RawFloor(datetime.fromtimestamp(at, UTC), datetime.fromtimestamp(since, UTC))


def dataset_of(folder: Folder, version: int | None = None) -> dataset.Dataset:
    """Return a table as a dataset of Arrow, for any reader that this process has.

    Arrow reads the files by its own file system. By default delta-rs gives it one that is written in Python, and
    Arrow's threads call it. A thread that lets a file go when Python already ends is ended by Python in the middle of
    C++ that may not be left so, and the process aborts ("terminate called without an active exception").

    Raises:
        NotReadyError: there is none.
        SpecError: it has no such version.
        CorruptionError: its log cannot be read.
    """
    return open_table(folder, version).to_pyarrow_dataset(filesystem=arrow_files(folder))


def arrow_files(folder: Folder) -> fs.FileSystem:
    """Return the file system by which Arrow reads what lies in a folder."""
    from pyarrow import fs  # noqa: PLC0415 - a third of a second, for a command that reads a log and no rows

    if isinstance(folder, BucketFolder):
        bucket = fs.S3FileSystem(
            endpoint_override=bucket_endpoint() or None, retry_strategy=fs.AwsStandardS3RetryStrategy(_TRIES)
        )
        return fs.SubTreeFileSystem(f"{folder.bucket}/{folder.key}", bucket)
    return fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())


def read_rows(folder: Folder) -> pa.Table:
    """Return all rows of a table.

    Raises:
        NotReadyError: there is none.
        CorruptionError: its log cannot be read.
    """
    return dataset_of(folder).to_table()
