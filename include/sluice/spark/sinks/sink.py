"""What the sinks share: which batch this is, how it fits what the table holds, and the commit that names its input.

A batch must always be executed, also when nothing of it is written: otherwise a stateful query loses it from its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, DataFrameWriter

from sluice.delta.writer_log import WriterLog
from sluice.delta.written_files import draft_folder, moved_into
from sluice.errors import CorruptionError
from sluice.failpoints import failpoint, failpoint_when, uncommitted_data
from sluice.intervals.coverage import Position, transaction_version
from sluice.intervals.entries import StreamEntry
from sluice.spark.sinks.collected import collected
from sluice.storage.folder import Folder
from sluice.streams.position.checkpoint import Checkpoint, PlannedBatch


@dataclass(frozen=True)
class MicroBatch:
    """A micro-batch as its checkpoint plans it: `[start, end)` per partition, evicting by `end.watermark`.

    Attributes:
        batch_id: Spark's number of it.
        lineage: the checkpoint's id.
        origin: first offsets that the lineage ever read.
        start: first offsets.
        end: next offsets, and the watermark that it evicts by.
    """

    batch_id: int
    lineage: str
    origin: dict[str, int]
    start: dict[str, int]
    end: Position

    @property
    def has_input(self) -> bool:
        """Whether it reads records; a batch without input only moves the watermark."""
        return self.start != dict(self.end.offsets)

    @property
    def version(self) -> int:
        """Its transaction version."""
        return transaction_version(self.end.offsets, has_input=self.has_input)


def planned_batch(checkpoint: Checkpoint, batch_id: int) -> MicroBatch:
    """Read a batch from its checkpoint. Spark makes the plan durable before it runs the batch."""
    lineage, origin, planned = checkpoint.lineage(), checkpoint.origin(), checkpoint.planned(batch_id)
    if lineage is None or origin is None or planned is None:
        raise CorruptionError(
            f"{checkpoint.folder} runs batch {batch_id} without metadata, origin or offsets of it on disk.",
            fix="the checkpoint was changed under a running driver; stop it and see the runbook.",
        )
    before: PlannedBatch | None = checkpoint.planned(batch_id - 1) if batch_id else None
    if batch_id and before is None:
        raise CorruptionError(f"{checkpoint.folder} has no offsets/{batch_id - 1} before batch {batch_id}.")
    start = dict(before.offsets) if before else dict(origin)
    end = Position({**start, **planned.offsets}, planned.watermark)
    return MicroBatch(batch_id, lineage, dict(origin), start, end)


class Author(Protocol):
    """Who writes: a stream's app id, and the attempt on whose behalf it does."""

    writer: str
    generation: int


def entry_for(batch: MicroBatch, author: Author) -> StreamEntry:
    """Return the ledger entry of a batch, as far as a stream without state has something to say."""
    return StreamEntry(
        writer=author.writer,
        generation=author.generation,
        lineage=batch.lineage,
        batch_id=batch.batch_id,
        start=batch.start,
        end=batch.end.offsets,
        origin=batch.origin,
        watermark=batch.end.watermark,
    )


class LoggedOutput:
    """What outputs share whose position is in a table's log; see `sluice.spark.sinks.batch_outputs.BatchOutput`.

    Args:
        name: of the output.
        log: of the table, opened.
        code_hash: of the code that makes the rows.
    """

    def __init__(self, name: str, log: WriterLog, code_hash: str) -> None:
        self.name = name
        self._log = log
        self._code_hash = code_hash

    @property
    def latest(self) -> StreamEntry | None:
        """The newest batch on record; of one that delivers at most once, the one that was going to be sent."""
        return self._log.latest

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns it."""
        self._log.check_fence()

    def expire(self) -> None:
        """Keep all: what was delivered stays."""

    def _entry(self, batch: MicroBatch) -> StreamEntry:
        return replace(entry_for(batch, self._log), code=self._code_hash)


def commit_collected(rows: pa.Table, folder: Folder, log: WriterLog, entry: StreamEntry, batch: MicroBatch) -> None:
    """Write rows that lie in the driver's memory, in one commit that carries `entry`; they are appended."""
    failpoint("before_write", folder.name)
    log.append(rows, entry, batch.version)
    failpoint("after_write_before_commit", folder.name)


def append(
    rows: DataFrame,
    folder: Folder,
    log: WriterLog,
    entry: StreamEntry,
    batch: MicroBatch,
    *,
    options: Mapping[str, str] | None = None,
) -> None:
    """Append a batch's rows, which have the table's columns: from the driver if they are few, else by Spark.

    `options` are Spark's for the files that it writes.
    """
    records = sum(batch.end.offsets.values()) - sum(batch.start.values())
    found = collected(rows, records=records)
    if found is not None:
        commit_collected(found, folder, log, entry, batch)
    else:
        _commit_written(rows.write.options(**(options or {})), folder, log, entry, batch)


def _commit_written(
    writer: DataFrameWriter, folder: Folder, log: WriterLog, entry: StreamEntry, batch: MicroBatch
) -> None:
    """Let Spark write rows to files, and add these to the table in one commit that carries `entry`.

    Args:
        writer: of the rows, with the columns of the table; a column that the table has later is null in them.
        folder: of the table, which has no partitions.
        log: of the table.
        entry: names the input, and what is written.
        batch: where it comes from.

    Raises what `WriterLog.commit` does.
    """
    log.check_fence()
    failpoint("before_write", folder.name)
    with draft_folder(folder) as draft:
        with failpoint_when("mid_write", folder.name, lambda: uncommitted_data(folder)):
            writer.parquet(str(draft))
        files = moved_into(folder, draft)
    log.add(files, entry, batch.version)
    failpoint("after_write_before_commit", folder.name)


def run_only(rows: DataFrame) -> None:
    """Execute a batch, of any columns, for the sake of its state and write nothing."""
    rows.write.format("noop").mode("overwrite").save()
