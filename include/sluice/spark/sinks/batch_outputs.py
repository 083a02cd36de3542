"""The outputs that a stream writes batch by batch: which of them a batch is due for, one after the other.

A crash between two of them leaves one ahead of the other. Each has its own position, so the batch that is run again is
written where it is missing and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.writer_log import DataLossError
from sluice.errors import RefusedError
from sluice.failpoints import failpoint
from sluice.intervals.coverage import NOWHERE, Fit, Position, fit, joined
from sluice.intervals.entries import StreamEntry
from sluice.intervals.reach import covers
from sluice.spark.sinks.sink import MicroBatch, planned_batch, run_only
from sluice.streams.position.checkpoint import Checkpoint


class BatchOutput(Protocol):
    """One output of a stream."""

    @property
    def name(self) -> str:
        """Of its table or topic."""

    @property
    def latest(self) -> StreamEntry | None:
        """The newest batch that it holds; None before the first."""

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns it."""

    def write(self, rows: DataFrame, batch: MicroBatch) -> None:
        """Write a batch that it does not hold yet; afterwards `latest` is this one."""

    def expire(self) -> None:
        """Remove rows that do not belong to it any more; most outputs keep all."""


@dataclass(frozen=True)
class ChosenRows:
    """An output that takes some of the rows. It implements `BatchOutput`.

    Attributes:
        output: which.
        where: the condition, in SQL.
    """

    output: BatchOutput
    where: str

    @property
    def name(self) -> str:
        """See `BatchOutput`."""
        return self.output.name

    @property
    def latest(self) -> StreamEntry | None:
        """See `BatchOutput`."""
        return self.output.latest

    def check_fence(self) -> None:
        """See `BatchOutput`."""
        self.output.check_fence()

    def write(self, rows: DataFrame, batch: MicroBatch) -> None:
        """See `BatchOutput`."""
        self.output.write(rows.where(self.where), batch)

    def expire(self) -> None:
        """See `BatchOutput`."""
        self.output.expire()


class Inheritance(Protocol):
    """What a checkpoint that began later than its stream does not know."""

    def __call__(self, rows: DataFrame, batch: MicroBatch, held: StreamEntry | None, /) -> DataFrame:
        """Return the rows that may be written.

        Args:
            rows: of the batch.
            batch: which one.
            held: the newest batch that the output holds.
        """


class BatchOutputsSink:
    """The foreachBatch function of a stream with outputs of other kinds than `intervals`.

    Args:
        outputs: in the order in which they are written.
        checkpoint: of the stream.
        floor: offsets below which a stream without state reads nothing; None for a stream with state, whose rows
            depend on all that the checkpoint has ever read.
        known: leaves out what a checkpoint knows only in part; see `Inheritance`.
    """

    def __init__(
        self,
        outputs: Sequence[BatchOutput],
        checkpoint: Checkpoint,
        *,
        floor: Mapping[str, int] | None,
        known: Inheritance,
    ) -> None:
        self._outputs = outputs
        self._checkpoint = checkpoint
        self._floor = floor
        self._known = known
        self._batch = Lock()

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Write the batch to every output that does not hold it."""
        with self._batch:
            self._write(rows, batch_id)

    def expire(self) -> None:
        """Remove rows that have expired since the last batch; a batch that runs does so itself."""
        if self._batch.acquire(blocking=False):
            try:
                for output in self._outputs:
                    output.expire()
            finally:
                self._batch.release()

    def _write(self, rows: DataFrame, batch_id: int) -> None:
        batch = planned_batch(self._checkpoint, batch_id)
        due = [output for output in self._outputs if self._is_due(output, batch)]
        if not due:
            run_only(rows)
            return
        held = rows.persist() if len(due) > 1 else rows  # a stateful batch is executed once
        try:
            for number, output in enumerate(due):
                if number:
                    failpoint("between_outputs", output.name)
                output.write(self._known(held, batch, output.latest), self._onto(output, batch))
        finally:
            if len(due) > 1:
                held.unpersist()

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns an output."""
        for output in self._outputs:
            output.check_fence()

    def _onto(self, output: BatchOutput, batch: MicroBatch) -> MicroBatch:
        """Return the batch with the end that the output has after it; values of a stream with state may go back."""
        if self._floor is None or output.latest is None:
            return batch
        return replace(batch, end=joined(output.latest.position, batch.end))

    def _is_due(self, output: BatchOutput, batch: MicroBatch) -> bool:
        position, end = output.latest.position if output.latest else NOWHERE, batch.end
        if self._floor is not None or dict(end.offsets) != dict(position.offsets):
            # What a key's value is depends on offsets alone. A new checkpoint that cuts smaller batches has later
            # watermarks at earlier offsets: its values are older than those that the output holds.
            end = Position(end.offsets)
        match fit(position, batch.start if self._floor is not None else batch.origin, end):
            case Fit.COVERED:
                return False
            case Fit.GAP:
                raise DataLossError(
                    f"{output.name} holds results up to {dict(position.offsets)}; this checkpoint knows records only "
                    f"from {batch.start if self._floor is not None else batch.origin}. What lies between was never "
                    "read.",
                    fix="let the topic keep the records, or acknowledge the loss by `sluice streams reset`.",
                )
            case Fit.OVERLAP if self._floor is not None and _repeats(batch, self._floor, position):
                raise _torn(output.name, position, batch)
            case Fit.NEXT | Fit.OVERLAP:
                return True


def _repeats(batch: MicroBatch, floor: Mapping[str, int], held: Position) -> bool:
    """Whether a batch without what lies below the floor has records that an output holds."""
    return any(
        max(batch.start.get(partition, 0), floor.get(partition, 0)) < min(end, held.offsets.get(partition, 0))
        for partition, end in batch.end.offsets.items()
    )


def _torn(name: str, position: Position, batch: MicroBatch) -> RefusedError:
    return RefusedError(
        f"{name} holds results up to {dict(position.offsets)}, in the middle of batch {batch.batch_id} of a new "
        f"checkpoint, and another output of the stream is at another position: rows would be repeated or left out.",
        fix="restore the checkpoint, or give the outputs pipelines of their own.",
    )


class WholeWindows:
    """Keeps out windows of which the state behind a batch may lack records.

    Args:
        time_column: with the start of a row's window; None for rows without one.
        newest_before: returns the newest event time of the good records below some offsets, None if there are none.
    """

    def __init__(self, time_column: str | None, newest_before: Callable[[Mapping[str, int]], datetime | None]) -> None:
        self._time_column = time_column
        self._newest_before = newest_before
        self._suspect: dict[str, datetime | None] = {}

    def __call__(self, rows: DataFrame, batch: MicroBatch, held: StreamEntry | None) -> DataFrame:
        """See `Inheritance`."""
        if not any(batch.origin.values()):
            return rows
        if self._time_column is None:
            if held is not None and held.lineage != batch.lineage and not covers(held.origin, batch.origin):
                raise DataLossError(
                    f"the state of lineage {batch.lineage} knows records only from {dict(batch.origin)}; its rows "
                    "would replace those that were computed from all of them.",
                    fix="restore the checkpoint, or acknowledge the loss by `sluice streams reset`.",
                )
            return rows
        if batch.lineage not in self._suspect:
            self._suspect[batch.lineage] = self._newest_before(batch.origin)
        suspect_until = self._suspect[batch.lineage]
        return rows if suspect_until is None else rows.where(F.col(self._time_column) > F.lit(suspect_until))


def all_known(rows: DataFrame, _batch: MicroBatch, _held: StreamEntry | None) -> DataFrame:
    """Return the rows of a stream without state unchanged: each stands for itself."""
    return rows
