"""Gathers what can be seen of a unit's streams. What fails becomes None plus a note; a watcher never dies of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import cache, partial
from itertools import starmap
from typing import Generic, NamedTuple, Protocol, TypeVar

from sluice.errors import SluiceError
from sluice.intervals.reach import topic_name
from sluice.settling.status import HeldAdvance, SettlingStatus
from sluice.specs.catalog.rhythm import UNDECLARED, Rhythm
from sluice.streams.failures.failure import Failure
from sluice.streams.health.observation import Observation, ObservedSettler
from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.driver_files import Executors
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.status import UnitStatus
from sluice.streams.position.checkpoint import CheckpointState
from sluice.streams.position.epochs import joined_ids
from sluice.topics.administration import RecordStamp, TopicExtent

T = TypeVar("T")


STAMPS_AFTER = timedelta(minutes=2)
AT_WORK = timedelta(minutes=1)
"""Who committed a batch so recently has executors, and its commit proves it, so it need not be asked."""


@dataclass(frozen=True)
class SettlerSource:
    """Where it can be seen what the settler of a table waits for.

    Attributes:
        pipeline: its name.
        upstream: the streams that fill what it settles from: raw tables, and settled tables of other pipelines.
        status: what its driver reported after its newest round.
        decided: whether a person has decided since about an advance; asked only while one is held back.
    """

    pipeline: str
    upstream: tuple[str, ...]
    status: Callable[[], SettlingStatus | None]
    decided: Callable[[HeldAdvance], bool] = lambda _advance: False


@dataclass(frozen=True)
class ProgressSource:
    """Where a stream's progress can be seen.

    Attributes:
        topics: the topics that it reads.
        checkpoint: what its checkpoint says.
        rhythm: what the specs say about how it reads.
        reported_at: when its driver last wrote its progress file; None if there is none.
        ended_alone: why a generation's driver has ended it alone; None if it has not.
        settler: of a settled table; None of any other stream.
        done: whether a generation's driver says that it has read what was there at its start.
        tables: returns the next version of each settled table that it reads, by what `table_input` calls it.
    """

    topics: tuple[str, ...]
    checkpoint: Callable[[], CheckpointState]
    rhythm: Rhythm = UNDECLARED
    reported_at: Callable[[], datetime | None] = lambda: None
    ended_alone: Callable[[int], Failure | None] = lambda _generation: None
    settler: SettlerSource | None = None
    tables: Mapping[str, Callable[[], int]] = field(default_factory=dict)
    done: Callable[[int], bool] = lambda _generation: False


class TopicReadings(Protocol):
    """What topics hold, asked for many at once: Kafka's administration, or one survey of it that serves many units."""

    def extents(self, topics: Collection[str]) -> Mapping[str, TopicExtent | SluiceError]:
        """Return what each topic holds, or why that is not known of it, in a few requests for all."""
        ...

    def stamps(self, topic: str, offsets: Mapping[int, int]) -> Mapping[int, RecordStamp]:
        """Return the timestamp of the first record at or after an offset, per partition."""
        ...


class Stamps(Enum):
    """When the first unread records are asked for their timestamps, which takes a third of a second per stream."""

    NEVER = auto()  # a watcher has seen them come
    IF_OLD = auto()  # if nothing was committed for a while, so that it must be known whether they are new
    ALWAYS = auto()


@dataclass(frozen=True)
class ObservationTarget:
    """A unit whose streams are observed.

    Attributes:
        unit: the unit's name.
        status: what is recorded and seen of its driver; None if the control database could not be queried.
        sources: by stream name.
        notes: why `status` is None.
        executors: returns what a generation's driver says of its executors.
    """

    unit: str
    status: UnitStatus | None
    sources: Mapping[str, ProgressSource]
    notes: tuple[str, ...] = ()
    executors: Callable[[int], Executors | None] = lambda _generation: None


def observe(
    targets: Sequence[ObservationTarget],
    cluster: Callable[[], TopicReadings],
    *,
    at: datetime,
    stamps: Stamps = Stamps.IF_OLD,
) -> Mapping[str, Mapping[str, Observation]]:
    """Ask every source once, and Kafka once for all topics.

    Args:
        targets: the units.
        cluster: returns the connection to Kafka; may raise.
        at: the present (UTC).
        stamps: when to ask for the timestamps of unread records.

    Returns:
        the observations by unit and stream name.
    """
    # All positions before any end: the other way round, a batch in between would look like a commit beyond the end.
    checkpoints = {
        target.unit: {stream: _ask("checkpoint", source.checkpoint) for stream, source in target.sources.items()}
        for target in targets
    }
    extents = _extents(
        {topic for target in targets for source in target.sources.values() for topic in source.topics}, cluster
    )
    observations = {
        target.unit: _unit_observations(target, checkpoints[target.unit], extents, at) for target in targets
    }
    if stamps is Stamps.NEVER:
        return observations
    return {
        target.unit: {
            stream: _stamped(observation, target.sources[stream].topics, cluster)
            if _wants_stamps(observation, stamps)
            else observation
            for stream, observation in observations[target.unit].items()
        }
        for target in targets
    }


def _extents(topics: Collection[str], cluster: Callable[[], TopicReadings]) -> Mapping[str, _Answer[_Held]]:
    """Return what the broker says of each topic; if it says nothing at all, that is so of each."""
    if not topics:
        return {}
    answer = _ask("broker", lambda: cluster().extents(topics))
    if answer.value is None:
        return dict.fromkeys(topics, _Answer(notes=answer.notes))
    return {
        topic: _Answer(notes=(str(extent),)) if isinstance(extent, SluiceError) else _Answer(_Held.of(topic, extent))
        for topic, extent in answer.value.items()
    }


def _unit_observations(
    target: ObservationTarget,
    checkpoints: Mapping[str, _Answer[CheckpointState]],
    extents: Mapping[str, _Answer[_Held]],
    at: datetime,
) -> Mapping[str, Observation]:
    status = target.status
    driver, notes = (None, target.notes) if status is None else _driver(status)
    base = Observation(at, driver, None, unit=target.unit, notes=notes)
    generation: int | None = None
    executors: Callable[[], Executors | None] | None = None
    if status is not None:
        halt = status.halt(at)
        base = replace(
            base,
            stop_requested=status.stop_requested,
            never_requested=status.never_requested,
            halted="" if halt is None else halt.reason,
            halted_fix="" if halt is None else halt.fix,
            shortage=status.shortage,
            pause=status.pause(at),
        )
        if status.alive and status.attempt is not None:
            generation = status.attempt.generation
            executors = cache(partial(target.executors, generation))

    def found(stream: str, source: ProgressSource) -> Observation:
        held = [*(extents[topic] for topic in source.topics), *starmap(_versions, source.tables.items())]
        observation = _observation(base, source, checkpoints[stream], _joined(held))
        return _with_driver_reports(observation, source, executors, generation)

    return {stream: found(stream, source) for stream, source in target.sources.items()}


class _Held(NamedTuple):
    """What a topic holds, for all of its streams: its id, and per `topic/partition` offsets, as in `TopicExtent`."""

    topic_id: str
    starts: Mapping[str, int]
    ends: Mapping[str, int]
    behind_open: Mapping[str, int]

    @classmethod
    def of(cls, topic: str, extent: TopicExtent) -> _Held:
        """Return what is said of a topic by the names of its partitions."""
        numbers = (extent.beginnings, extent.ends, extent.held)
        starts, ends, held = ({f"{topic}/{p}": offset for p, offset in each.items()} for each in numbers)
        return cls(extent.topic_id, starts, ends, held)


def _versions(name: str, next_version: Callable[[], int]) -> _Answer[_Held]:
    """Return what a settled table holds: its versions are the offsets of one partition."""
    answer = _ask("settled table", next_version)
    if answer.value is None:
        return _Answer(notes=answer.notes)
    return _Answer(_Held(name, {f"{name}/0": 0}, {f"{name}/0": answer.value}, {}))


@dataclass(frozen=True)
class _Answer(Generic[T]):
    """What a source said, or why it said nothing."""

    value: T | None = None
    notes: tuple[str, ...] = ()


def _joined(answers: Sequence[_Answer[_Held]]) -> _Answer[_Held]:
    """Return what several topics hold as one; nothing unless all of them said it."""
    known = [answer.value for answer in answers if answer.value is not None]
    notes = tuple(note for answer in answers for note in answer.notes)
    if len(known) < len(answers):
        return _Answer(notes=notes)
    starts, ends, held = (
        {p: end for each in offsets for p, end in each.items()}
        for offsets in zip(*((each.starts, each.ends, each.behind_open) for each in known), strict=True)
    )
    return _Answer(_Held(joined_ids(each.topic_id for each in known), starts, ends, held), notes)


def _ask(source: str, question: Callable[[], T]) -> _Answer[T]:
    try:
        return _Answer(question())
    except SluiceError as error:
        return _Answer(notes=(str(error),))
    except Exception as error:  # noqa: BLE001 - whatever a source does, the other sources must still be heard
        return _Answer(notes=(f"{source}: {type(error).__name__}: {error}",))


def _observation(
    base: Observation, source: ProgressSource, answer: _Answer[CheckpointState], extent: _Answer[_Held]
) -> Observation:
    """Return what was seen of one stream; `base` is what was seen of its unit."""
    checkpoint = answer.value or CheckpointState()
    topic_id, starts, ends, held = extent.value or ("", None, None, {})
    newest = checkpoint.newest
    return replace(
        base,
        committed=None if answer.notes else checkpoint.start if newest is None else newest.offsets,
        epoch=checkpoint.epoch,
        batches=0 if newest is None else newest.batch_id + 1,
        committed_at=None if newest is None else newest.committed_at,
        ends=ends,
        starts=starts,
        topic_id=topic_id,
        held=held,
        history=checkpoint.batches,
        running=checkpoint.running,
        watermark=checkpoint.watermark,
        rhythm=source.rhythm,
        settler=None if source.settler is None else _settler(source.settler),
        notes=(*base.notes, *answer.notes, *extent.notes),
    )


def _settler(source: SettlerSource) -> ObservedSettler:
    status, decided = _ask("settling file", source.status).value, False
    if status is not None and status.advance is not None:
        decided = _ask("settled table", partial(source.decided, status.advance)).value or False
    return ObservedSettler(source.pipeline, source.upstream, status, decided)


def _with_driver_reports(
    observation: Observation,
    source: ProgressSource,
    executors: Callable[[], Executors | None] | None,
    generation: int | None,
) -> Observation:
    """Add what a driver says of itself, if the caller wants it: that is not worth two files for all the others."""
    if (
        not observation.lag_records
        and observation.committed_at is not None
        and observation.at - observation.committed_at < AT_WORK
    ):
        return observation
    reported_at = _ask("progress file", source.reported_at).value if observation.lag_records else None
    ended, done = None, False
    if generation is not None:  # also of one that has read everything: what runs beside batches can fail, too
        ended = _ask("progress file", partial(source.ended_alone, generation)).value
    if generation is not None and observation.lag_records:
        done = _ask("progress file", partial(source.done, generation)).value or False
    running = None if executors is None else _ask("unit file", executors).value
    return replace(observation, reported_at=reported_at, executors=running, ended_alone=ended, done=done)


def _wants_stamps(observation: Observation, stamps: Stamps) -> bool:
    if not observation.lag_records:
        return False
    old = observation.committed_at is None or observation.at - observation.committed_at > STAMPS_AFTER
    return old or stamps is Stamps.ALWAYS


def _stamped(observation: Observation, topics: Sequence[str], cluster: Callable[[], TopicReadings]) -> Observation:
    """Add the timestamps of the first unread records; a verdict can be given without them."""
    unread = [partition for partition, records in (observation.unread or {}).items() if records]
    stamps: dict[str, RecordStamp] = {}
    for topic in topics:
        own = [partition for partition in unread if topic_name(partition) == topic]
        offsets = {int(partition.rpartition("/")[2]): observation.position(partition) for partition in own}
        answer = _ask("broker", partial(_stamps, cluster, topic, offsets))
        stamps |= {f"{topic}/{p}": stamp for p, stamp in (answer.value or {}).items()}
    return replace(observation, stamps=stamps)


def _stamps(cluster: Callable[[], TopicReadings], topic: str, offsets: Mapping[int, int]) -> Mapping[int, RecordStamp]:
    return cluster().stamps(topic, offsets)


def _driver(status: UnitStatus) -> tuple[DriverReport | None, tuple[str, ...]]:
    """Return what is known of the driver for certain: seen by the launcher, or on record as ended."""
    attempt, report = status.attempt, status.report
    if attempt is None:
        return DriverReport(status.unit, DriverState.ABSENT), status.notes
    if attempt.state is AttemptState.ENDED and not status.alive:
        return _recorded_end(attempt), status.notes
    if attempt.state is AttemptState.BOUND and report is not None and report.state is DriverState.ABSENT:
        return None, (*status.notes, f"the launcher has no trace of {attempt.key}, which it started")
    return report, status.notes


def _recorded_end(attempt: Attempt) -> DriverReport:
    state = DriverState.LOST if attempt.exit_code is None else DriverState.ENDED
    return DriverReport(
        attempt.key, state, started_at=attempt.bound_at, ended_at=attempt.ended_at, exit_code=attempt.exit_code
    )
