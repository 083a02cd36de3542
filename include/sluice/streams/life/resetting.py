"""Resets the streams of one unit: checks, plans, and records new epochs. Nothing else is changed, ever.

The order makes it safe: only a unit that is stopped on record and whose driver is dead may be reset; the record is
exclusive and whole; and a driver that was started in between checks for newer epochs before each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from sluice.clock import Clock
from sluice.errors import RefusedError, SluiceError, SpecError, UnreachableError
from sluice.intervals.reach import topic_name
from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.catalog.streams import StreamKind
from sluice.specs.model.start import Edge, StartPosition, in_words
from sluice.streams.life.attempts import AttemptState, Desired
from sluice.streams.life.launcher import DriverState
from sluice.streams.life.status import UnitStatus
from sluice.streams.position.checkpoint import PlannedBatch
from sluice.streams.position.epochs import Epoch, Epochs, joined_ids
from sluice.streams.position.reset import Move, Span, StreamReset, effects, moves, raw_offsets
from sluice.streams.position.starting import resolve
from sluice.topics.administration import KafkaAdministration, RecordStamp, TopicExtent

Target: TypeAlias = Edge | datetime | Mapping[str, int]
"""Where to: an edge or a time for every partition, or the next offset per `topic/partition`; others stay."""


def refuse_living(status: UnitStatus) -> None:
    """Make sure that a unit is stopped on record, and that its driver is dead.

    Raises:
        RefusedError: it is not.
        UnreachableError: the launcher could not be asked.
    """
    unit, attempt, report = status.unit, status.attempt, status.report
    if status.desired is None or status.desired.state is not Desired.STOPPED:
        raise RefusedError(
            f"{unit} was not reset: no stop of it is on record, so a driver may start at any moment.",
            fix=f"run `sluice streams stop {unit}`.",
        )
    if attempt is None:
        return
    if report is None:
        raise UnreachableError(
            f"{unit} was not reset: whether {attempt.key} lives is not known ({'; '.join(status.notes)})."
        )
    if report.state is DriverState.RUNNING:
        raise RefusedError(
            f"{unit} was not reset: its driver {attempt.key} lives.", fix=f"run `sluice streams stop {unit}`."
        )
    if report.state is DriverState.ABSENT and attempt.state is AttemptState.BOUND:
        raise RefusedError(
            f"{unit} was not reset: {attempt.key} was started, and the launcher has lost its trace: it may live.",
            fix=f"make sure that it is dead, then run `sluice streams force {unit}`.",
        )


@dataclass(frozen=True)
class Resetting:
    """The resets of one unit.

    Attributes:
        unit: its streams.
        catalog: the specs.
        epochs: returns the epochs of a stream.
        cluster: of the deployment.
        clock: gives the time of the records.
    """

    unit: Unit
    catalog: Catalog
    epochs: Callable[[str], Epochs]
    cluster: KafkaAdministration
    clock: Clock

    def plan(self, target: Target, streams: Sequence[str] = ()) -> tuple[StreamReset, ...]:
        """Return what a reset would do. Changes nothing.

        Args:
            target: where to.
            streams: names of streams of the unit; none: all but those of raw tables.

        Raises:
            SpecError: the unit has no such stream, or `target` names what its topic does not hold.
            RefusedError: a raw stream is named that has nothing to acknowledge.
            UnreachableError: the cluster or a checkpoint could not be asked.
        """
        if unknown := sorted({*streams} - {*self.unit.streams}):
            raise SpecError(
                f"the unit {self.unit.name!r} has no stream {', '.join(unknown)}; it has "
                f"{', '.join(self.unit.streams)}.",
                fix="name one of these.",
            )
        chosen = streams or [s for s in self.unit.streams if self.catalog.pipeline_of(s) is not None]
        if not chosen:
            raise RefusedError(
                f"{self.unit.name} has raw streams only, and these hold every record exactly once.",
                fix="name a unit with a pipeline.",
            )
        return tuple(self._plan(stream, target) for stream in chosen)

    def record(self, reset: StreamReset, target: Target, *, by: str, why: str) -> Epoch | None:
        """Put the new epoch of a stream on record, and return it; None if it is there already.

        Raises:
            RefusedError: another process has begun the epoch meanwhile.
            UnreachableError: it cannot be written.
        """
        if reset.done:
            return None
        at = self.clock.now().astimezone(UTC)
        epoch = Epoch(reset.epoch, reset.topic_id, reset.offsets, in_words(target), by, why, at)
        self.epochs(reset.stream).record(epoch)
        return epoch

    def _plan(self, stream: str, target: Target) -> StreamReset:
        topics, epochs = self.catalog.topics_of(stream), self.epochs(stream)
        extents = {topic: self.cluster.extent(topic) for topic in topics}
        spec = self.catalog.streams[stream]
        topic_id, newest = joined_ids([*(e.topic_id for e in extents.values()), *spec.tables]), epochs.newest()
        state = epochs.checkpoint().read()
        position = state.newest.offsets if state.newest else state.start
        waiting = newest is not None and not state.batches and newest.topic_id == topic_id
        recreated = newest is not None and newest.topic_id != topic_id
        self._refuse_other_offsets(stream, target, topics)
        moved: dict[str, Move] = {}
        for topic, extent in extents.items():
            known = _known(position, topic, extent, recreated=recreated)
            now = known or {}
            if self.catalog.pipeline_of(stream) is None:
                then = raw_offsets(stream, extent, known, to_earliest=target is Edge.EARLIEST, acknowledged=waiting)
            else:
                then = self._resolve(target, topic, extent, now)
            moved |= moves(topic, extent, now, then)
        done = waiting and all(move.now == move.then for move in moved.values())
        return StreamReset(
            stream,
            epochs.number if done else epochs.number + 1,
            topic_id,
            moved,
            (*_half_done(state.running), *effects(spec.outputs, moved.values(), live=spec.kind is StreamKind.LIVE)),
            self._span(topics, moved),
            done,
        )

    def _refuse_other_offsets(self, stream: str, target: Target, topics: Sequence[str]) -> None:
        if isinstance(target, Mapping) and not topics:
            raise SpecError(
                f"{stream} reads no topic, and offsets are those of one.",
                fix="write `earliest`: a settled table is always read from its first version.",
            )
        if isinstance(target, Mapping) and not any(topic_name(partition) in topics for partition in target):
            raise SpecError(
                f"the offsets name no partition of {' or '.join(topics)}, which {stream} reads.",
                fix=f"name some as {topics[0]}/0=1200, or other streams by `--stream`.",
            )

    def _resolve(self, target: Target, topic: str, extent: TopicExtent, now: Mapping[int, int]) -> dict[int, int]:
        position: StartPosition
        if isinstance(target, Mapping):
            position = {int(p.rpartition("/")[2]): o for p, o in target.items() if topic_name(p) == topic}
        else:
            position = target
        staying = {p: min(max(o, extent.beginnings[p]), extent.ends[p]) for p, o in now.items()}
        return resolve(position, topic, extent, self.cluster, staying)

    def _span(self, topics: Sequence[str], moved: Mapping[str, Move]) -> Span:
        """Ask for the timestamps at both ends of what is repeated or skipped; an answer is worth having, no more."""
        found = {name: sorted((move.held, move.then)) for name, move in moved.items() if move.held != move.then}
        firsts, lasts = list[RecordStamp](), list[RecordStamp]()
        try:
            for topic in topics:
                ranges = {
                    int(name.rpartition("/")[2]): ends for name, ends in found.items() if topic_name(name) == topic
                }
                firsts += self.cluster.stamps(topic, {p: first for p, (first, _) in ranges.items()}).values()
                lasts += self.cluster.stamps(topic, {p: end - 1 for p, (_, end) in ranges.items()}).values()
        except SluiceError:
            return Span()
        return Span(
            min(firsts, key=lambda stamp: stamp.at, default=None),
            max(lasts, key=lambda stamp: stamp.at, default=None),
        )


def _half_done(running: PlannedBatch | None) -> tuple[str, ...]:
    """Say what the counts do not: some outputs may hold a batch that the checkpoint does not count as read."""
    if running is None:
        return ()
    planned = f"batch {running.batch_id} was planned, to {in_words(running.offsets)}, and is not committed"
    return (f"{planned}: outputs may hold its records, and get those from the new position on a second time.",)


def _known(position: Mapping[str, int], topic: str, extent: TopicExtent, *, recreated: bool) -> dict[int, int] | None:
    """Return the next offset per partition that the stream would read of this topic; None if it has read another one.

    A topic that was created again has another id, which a checkpoint does not say; its offsets begin again.
    """
    offsets = {int(name.rpartition("/")[2]): o for name, o in position.items() if topic_name(name) == topic}
    if recreated or any(offset > extent.ends.get(partition, -1) for partition, offset in offsets.items()):
        return None
    return offsets
