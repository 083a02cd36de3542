"""A stream before it starts: what is known of it without a change to anything, and how its outputs are opened.

A start has two parts. First everything is checked, for all streams of a unit; only if nothing stands against any of
them, tables are created or get their new columns, and are marked for this generation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame


class Sink(Protocol):
    """The foreachBatch function of a stream."""

    def __call__(self, rows: DataFrame, batch_id: int, /) -> None:
        """Write a batch."""

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns what it writes."""


@dataclass(frozen=True)
class DirectSink:
    """Spark's own sink for Kafka, without a function for each batch.

    Attributes:
        options: of the sink.
        check_fence: raises FencedError if a newer generation owns what it writes.
        in_real_time: whether Spark hands on each record by itself; else it goes with its micro-batch.
    """

    options: Mapping[str, str]
    check_fence: Callable[[], None]
    in_real_time: bool


@dataclass(frozen=True)
class Opened:
    """A stream whose outputs are marked for this generation.

    Attributes:
        rows: what to stream.
        sink: where to write them: a function for each batch, or Spark's own sink.
        between_batches: what its outputs have to do beside batches; called often, also while a batch runs.
        give_up: lets a batch end that waits for something, because its driver stops.
        waits: whether its batch waits for another stream.
    """

    rows: DataFrame
    sink: Sink | DirectSink
    between_batches: Callable[[], None] = lambda: None
    give_up: Callable[[], None] = lambda: None
    waits: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class Prepared:
    """A stream that was checked. Nothing was changed for it yet.

    Attributes:
        rows: what its code makes of its records.
        checks: each raises what stands against a start; none of them changes anything.
        open: creates what is not there, adds the columns that tables lack, and marks everything for this generation.
        output_mode: `append` or `update`, as Spark calls it.
        refuse_state: raises if the checkpoint holds a state that is not its own; None: Spark is asked.
    """

    rows: DataFrame
    checks: tuple[Callable[[], None], ...]
    open: Callable[[], Opened]
    output_mode: str = "append"
    refuse_state: Callable[[], None] | None = None
