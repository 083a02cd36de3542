"""Checks a batch before anything of it is written: whether so much is quarantined that the stream has to stop.

The records are read and validated once more for that. It is the price of an exact answer before the first output is
written: what a batch's own plan could report is known only when its rows have been delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.quality.breaker import Rejected, Tally, refuse_drift
from sluice.quality.reasons import Reason
from sluice.spark.records.pipeline import PipelineCode, SourceCode
from sluice.spark.records.validation import REASON
from sluice.spark.sinks.sink import planned_batch
from sluice.specs.model.deadlines import CircuitBreaker
from sluice.streams.position.checkpoint import Checkpoint

Between = Callable[[Mapping[str, int], Mapping[str, int]], DataFrame]
"""Returns the records of a topic from the first offsets up to the next ones, by `topic/partition`."""


class Breaker:
    """Stands in front of a sink.

    Args:
        limit: what the spec allows.
        code: the pipeline's: says what is quarantined.
        stream: names the stream in messages.
        checkpoint: of the stream.
        between: returns the records of each topic from the first offsets up to the next ones.
    """

    def __init__(
        self,
        limit: CircuitBreaker,
        code: PipelineCode,
        stream: str,
        checkpoint: Checkpoint,
        between: Mapping[str, Between],
    ) -> None:
        self._limit = limit
        self._code = code
        self._stream = stream
        self._checkpoint = checkpoint
        self._between = between

    def before(self, sink: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        """Return a sink that gets no batch with too much in quarantine."""

        def run_batch(rows: DataFrame, batch_id: int) -> None:
            self.check(batch_id)
            sink(rows, batch_id)

        return run_batch

    def check(self, batch_id: int) -> None:
        """Pass a batch, or stop it.

        Raises:
            SchemaDriftError: too much of it is quarantined.
        """
        batch = planned_batch(self._checkpoint, batch_id)
        span = sum(end - batch.start.get(partition, 0) for partition, end in batch.end.offsets.items())
        if span < self._limit.records:  # offsets have gaps, never fewer numbers than records
            return
        records = {topic: read(batch.start, batch.end.offsets) for topic, read in self._between.items()}
        tally = tally_of(records, self._code)
        refuse_drift(tally, self._limit, batch=f"batch {batch_id} of {self._stream}")


def tally_of(records: Mapping[str, DataFrame], code: PipelineCode) -> Tally:
    """Count what validation makes of records, in one pass over each topic.

    Args:
        records: the columns of `read_stream`, by topic.
        code: the pipeline's.
    """
    each = [_tally_of_source(own, code.sources[topic]) for topic, own in records.items()]
    return Tally(sum(own.records for own in each), tuple(rejected for own in each for rejected in own.rejected))


def _tally_of_source(records: DataFrame, source: SourceCode) -> Tally:
    groups = (
        source.validated(records)
        .groupBy(REASON, "_partition")
        .agg(F.count("*").alias("records"), F.min("_offset").alias("first"), F.max("_offset").alias("last"))
        .collect()
    )
    rejected = tuple(
        Rejected(Reason(g[REASON]), f"{source.topic.name}/{g['_partition']}", g["records"], g["first"], g["last"])
        for g in groups
        if g[REASON] is not None
    )
    return Tally(sum(g["records"] for g in groups), rejected)
