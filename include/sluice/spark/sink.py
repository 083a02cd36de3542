"""What both sinks share: which batch this is, how it fits what the table holds, and the commit that names its input.

A batch must always be executed, also when nothing of it is written: otherwise a stateful query loses it from its state.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame

from sluice.delta.writer_log import WriterLog
from sluice.errors import CorruptionError
from sluice.intervals.coverage import Position, transaction_version
from sluice.intervals.entries import StreamEntry, to_json
from sluice.spark.failpoints import failpoint
from sluice.streams.checkpoint import Checkpoint, PlannedBatch


@dataclass(frozen=True)
class Batch:
    """A micro-batch as its checkpoint plans it: `[start, end)` per partition, evicting by `end.watermark`.

    Attributes:
        batch_id: Spark's number of it.
        lineage: the checkpoint's id.
        origin: first offsets that the lineage ever read.
        start: first offsets.
        end: next offsets, and the watermark that it evicts by.
        drops_until: the watermark of the batch before: of windows that end by then, Spark drops every record.
    """

    batch_id: int
    lineage: str
    origin: dict[str, int]
    start: dict[str, int]
    end: Position
    drops_until: datetime | None

    @property
    def has_input(self) -> bool:
        """Whether it reads records; a batch without input only moves the watermark."""
        return self.start != dict(self.end.offsets)

    @property
    def version(self) -> int:
        """Its transaction version."""
        return transaction_version(self.end.offsets, has_input=self.has_input)


def planned_batch(checkpoint: Checkpoint, batch_id: int) -> Batch:
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
    return Batch(batch_id, lineage, dict(origin), start, end, before.watermark if before else None)


def entry_for(batch: Batch, log: WriterLog) -> StreamEntry:
    """Return the ledger entry of a batch, as far as a stream without state has something to say."""
    return StreamEntry(
        writer=log.writer,
        generation=log.generation,
        lineage=batch.lineage,
        batch_id=batch.batch_id,
        start=batch.start,
        end=batch.end.offsets,
        origin=batch.origin,
        watermark=batch.end.watermark,
    )


def commit(rows: DataFrame, folder: Path, log: WriterLog, entry: StreamEntry, batch: Batch, *, replace: bool) -> None:
    """Write `rows` in one Delta commit that carries `entry`.

    With `replace`, the partitions that occur in `rows` are overwritten; else the rows are appended.
    """
    log.check_fence()
    failpoint("before_write", folder.name)
    writer = (
        rows.write.format("delta")
        .option("txnAppId", entry.writer)
        .option("txnVersion", batch.version)
        .option("userMetadata", to_json(entry))
    )
    if replace:
        writer.mode("overwrite").option("partitionOverwriteMode", "dynamic").save(str(folder))
    else:
        writer.mode("append").save(str(folder))
    log.confirm(entry, batch.version)
    failpoint("after_write_before_commit", folder.name)


def run_only(rows: DataFrame) -> None:
    """Execute a batch for the sake of its state and write nothing."""
    rows.write.format("noop").mode("overwrite").save()
