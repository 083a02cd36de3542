"""What a project writes a sink of its own with: what it is given of a batch, and the guarantee that it declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import DataFrame


class Guarantee(StrEnum):
    """What a sink promises of each batch that it is given."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


@dataclass(frozen=True)
class SinkBatch:
    """One batch, by which a sink can tell what it holds.

    Attributes:
        stream: names the stream, the same over restarts, resets and upgrades.
        generation: of the driver; of two that write, the greater one is right.
        position: grows from batch to batch. A batch that is given again has the position that it had.
        token: says which batch this is. A sink that declares `exactly_once` stores it with the rows.
        after: the token that the sink must hold when it stores this one; None: it holds none.
        first: first offsets of its records, by `topic/partition`.
        next: next offsets behind them.
        connection: the URL of the connection that the output names; None if it names none.
    """

    stream: str
    generation: int
    position: int
    token: str
    after: str | None
    first: Mapping[str, int]
    next: Mapping[str, int]
    connection: str | None = None


Write = Callable[[DataFrame, SinkBatch], object]
Newest = Callable[[str, str | None], str | None]
"""Returns the token that the sink holds of a stream; it is given the stream, and the URL of the connection."""


@dataclass(frozen=True)
class OwnSink:
    """A sink of a project. It is called like its function, so that a test can do so.

    Attributes:
        write: writes the rows of a batch, and returns when they are safe.
        guarantee: that it declares.
        newest: see `Newest`; None where nothing is stored.
    """

    write: Write
    guarantee: Guarantee
    newest: Newest | None = None

    def __call__(self, rows: DataFrame, batch: SinkBatch) -> object:
        """Write a batch."""
        return self.write(rows, batch)


def delivers(guarantee: str, *, newest: Newest | None = None) -> Callable[[Write], OwnSink]:
    """Declare what a function of `spark_jobs/sinks` guarantees; a decorator.

    Args:
        guarantee: `at_least_once`: after a crash a batch may be given again, with the same position. `exactly_once`:
            the function stores the token in the transaction of the rows, if the sink holds the one before.
        newest: of `exactly_once`: returns the token that is stored.

    Raises:
        ValueError: there is no such guarantee, or no way to know what is stored.
    """
    declared = Guarantee(guarantee)
    if (newest is None) == (declared is Guarantee.EXACTLY_ONCE):
        raise ValueError(f"{declared} {'needs' if newest is None else 'has no use for'} `newest`")
    return lambda write: OwnSink(write, declared, newest)
