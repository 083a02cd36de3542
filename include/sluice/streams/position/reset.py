"""What a reset would repeat and skip, as data: a pure function of two positions and of what the topic holds.

A reset moves a stream to other offsets and begins a new epoch with an empty state. It loses no record, since the raw
table has them all, and it writes no closed interval again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sluice.errors import RefusedError
from sluice.specs.model.outputs import (
    DeadLettersOutput,
    IntervalsOutput,
    LatestOutput,
    Output,
    RowsOutput,
    SinkOutput,
    TopicOutput,
)
from sluice.topics.administration import RecordStamp, TopicExtent


@dataclass(frozen=True)
class Move:
    """One partition.

    Attributes:
        first: the first offset that the broker still has.
        end: the offset after its last record.
        now: the next offset that the stream would read; None if it has read nothing.
        then: the next offset after the reset.
    """

    first: int
    end: int
    now: int | None
    then: int

    @property
    def held(self) -> int:
        """The first record that the broker has and the stream has not read."""
        return self.first if self.now is None else max(self.first, self.now)

    @property
    def repeated(self) -> int:
        """Records that are read a second time."""
        return max(0, self.held - self.then)

    @property
    def skipped(self) -> int:
        """Records that this stream never reads."""
        return max(0, self.then - self.held)

    @property
    def gone(self) -> int:
        """Records that it has not read, and that the broker has deleted: no reset brings them back."""
        return 0 if self.now is None else max(0, self.first - self.now)


@dataclass(frozen=True)
class Span:
    """Timestamps of the first and the last record that are repeated or skipped; None where the broker said nothing."""

    first: RecordStamp | None = None
    last: RecordStamp | None = None


@dataclass(frozen=True)
class StreamReset:
    """What a reset does to one stream.

    Attributes:
        stream: its name.
        epoch: the number of the new epoch.
        topic_id: the cluster's UUID of the topic that it reads; of several, see `sluice.streams.position.epochs`.
        moves: by `topic/partition`.
        effects: what that means for each output, for people.
        span: of the records that are repeated or skipped.
        done: the newest epoch begins exactly there and has read nothing: there is nothing to do.
    """

    stream: str
    epoch: int
    topic_id: str
    moves: Mapping[str, Move]
    effects: tuple[str, ...] = ()
    span: Span = field(default_factory=Span)
    done: bool = False

    @property
    def offsets(self) -> Mapping[str, int]:
        """Where the new epoch begins, per `topic/partition`."""
        return {partition: move.then for partition, move in self.moves.items()}

    @property
    def repeated(self) -> int:
        """Records that are read a second time."""
        return sum(move.repeated for move in self.moves.values())

    @property
    def skipped(self) -> int:
        """Records that this stream never reads."""
        return sum(move.skipped for move in self.moves.values())

    @property
    def gone(self) -> int:
        """Records that were never read and are deleted."""
        return sum(move.gone for move in self.moves.values())


def moves(topic: str, extent: TopicExtent, now: Mapping[int, int], then: Mapping[int, int]) -> dict[str, Move]:
    """Return what happens to each `topic/partition`, in order.

    Args:
        topic: its name.
        extent: what the topic holds.
        now: the next offset that the stream would read, where it has read anything.
        then: the next offset after the reset.
    """
    ends = extent.ends
    return {f"{topic}/{p}": Move(extent.beginnings[p], ends[p], now.get(p), then[p]) for p in sorted(ends)}


def raw_offsets(
    stream: str, extent: TopicExtent, now: Mapping[int, int] | None, *, to_earliest: bool, acknowledged: bool = False
) -> dict[int, int]:
    """Return where a raw stream goes on if records are gone that it never read, or if its topic is another one.

    Its table holds every record exactly once, so there is nothing to choose: not one may be repeated or skipped that
    there still is. All that a person can do is acknowledge what the broker has deleted, or that the topic was created
    again: then it reads all of the new one.

    Args:
        stream: its name.
        extent: what the topic holds.
        now: the next offset that it would read, where it has read anything; None if that was another topic.
        to_earliest: whether `earliest` is asked for.
        acknowledged: whether that was done a moment ago, and nothing was read since.

    Raises:
        RefusedError: nothing is gone, or another position than `earliest` is asked for.
    """
    if now is None and to_earliest:
        return dict(extent.beginnings)
    now = now or {}
    gone = {p: first - now[p] for p, first in extent.beginnings.items() if p in now and first > now[p]}
    if to_earliest and acknowledged and not gone:
        return dict(now)
    if not gone or not to_earliest:
        found = f"{sum(gone.values())} records are gone that it never read" if gone else "the topic has all it needs"
        raise RefusedError(
            f"{stream} fills a raw table, which holds every record exactly once: a reset would repeat or leave out "
            f"some ({found}).",
            fix="name a pipeline's stream by `--stream`; a raw stream is only reset to `earliest`, once records are "
            "gone that it never read, to acknowledge that.",
        )
    return {p: max(first, now.get(p, first)) for p, first in extent.beginnings.items()}


def effects(outputs: Iterable[Output], moved: Iterable[Move], *, live: bool) -> tuple[str, ...]:
    """Say what a reset means for each output of a stream.

    Args:
        outputs: of the stream.
        moved: its partitions.
        live: whether it is the stream beside an interval table.
    """
    partitions = list(moved)
    again, never = sum(move.repeated for move in partitions), sum(move.skipped for move in partitions)
    whole = all(move.then <= move.first for move in partitions)
    return tuple(_effect(output, again, never, whole=whole, live=live) for output in outputs)


def _effect(output: Output, again: int, never: int, *, whole: bool, live: bool) -> str:
    match output:
        case IntervalsOutput():
            return (
                f"{output.table} (intervals): settled intervals stay as they are, a backfill changes those; open ones "
                "are computed from the raw table, whatever the stream's position."
            )
        case RowsOutput():
            return f"{output.table} (rows): {_counted(again, never, 'appended again', 'are never appended')}."
        case LatestOutput():
            known = "" if whole else _partly(live=live)
            return f"{output.table} (latest): {_counted(again, never, 'merged again', 'are never merged')}{known}."
        case TopicOutput():
            known = "" if whole else _partly(live=live)
            effect = _counted(
                again, never, "published again under new ids, which no reader drops", "are never published"
            )
            return f"{output.topic} (topic): {effect}{known}."
        case SinkOutput():
            known = "" if whole else _partly(live=live)
            effect = _counted(again, never, "given again as new batches", "are never given")
            return f"{output.name} (sink): {effect}{known}."
        case DeadLettersOutput():
            effect = _counted(again, never, "sent again under new positions", "are never sent")
            return f"{output.topic} (dead letters): {effect}."


def _partly(*, live: bool) -> str:
    if live:
        return "; windows that hold records from before the new position keep the values that they have"
    return "; what an aggregation gives is computed from the records since the new position"


def _counted(again: int, never: int, repeats: str, skips: str) -> str:
    said = [f"what becomes of {_records(again)} is {repeats}"] if again else []
    said += [f"{_records(never)} {skips}"] if never else []
    return ", ".join(said) or "nothing is repeated and nothing left out"


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"
