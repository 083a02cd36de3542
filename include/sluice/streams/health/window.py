"""The recent past of a stream: what a series of observations adds up to, bounded, as a value.

One observation already brings a past with it: a checkpoint keeps the plan and the commit of about a hundred batches. A
watcher that observes repeatedly adds what the broker said meanwhile. Moments are seconds since the epoch. Windows are
tuples with names: ten thousand are folded a minute, and a tuple is made in a third of the time.

Invariants:
* folding the same observations gives the same window, whatever order their partitions come in;
* it never grows beyond a few hundred numbers: what is long ago is kept in less detail.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.health.observation import Observation
from sluice.streams.health.series import Series
from sluice.streams.position.checkpoint import CommittedBatch

MAX_BATCHES = 100
MAX_POINTS = 240
MAX_EDGES = 20
_SAMPLE_SECONDS = 10.0
_MIN_REST_SECONDS = 0.5
_REST_SHARE = 0.1
_FULL_SHARE = 0.9


class CommitSample(NamedTuple):
    """One committed batch.

    Attributes:
        planned: when its end offsets were fixed.
        committed: when it was on record as done.
        end: sum of its end offsets.
        records: how many it read; None if the batch before it is not known.
    """

    number: int
    planned: float
    committed: float
    end: int
    records: int | None


class EndSample(NamedTuple):
    """The sum of the broker's end offsets at a moment."""

    at: float
    end: int


class Point(NamedTuple):
    """How old the first unread record was at a commit, in seconds: how far the stream was behind."""

    at: float
    behind: float


_UNKNOWN = -1


def _batch(number: float, planned: float, committed: float, end: float, records: float) -> CommitSample:
    return CommitSample(int(number), planned, committed, int(end), None if records == _UNKNOWN else int(records))


def _sample(at: float, end: float) -> EndSample:
    return EndSample(at, int(end))


NO_BATCHES: Series[CommitSample] = Series(_batch, 5)
NO_SAMPLES: Series[EndSample] = Series(_sample, 2)
NO_POINTS: Series[Point] = Series(Point, 2)


class LogBounds(NamedTuple):
    """The first offset that the broker still had, and the next to read, per `topic/partition`, at a moment."""

    at: float
    starts: Mapping[str, int]
    positions: Mapping[str, int]


class Window(NamedTuple):
    """A stream's recent past, oldest first.

    Attributes:
        batches: the newest ones.
        samples: what the broker said at each observation.
        course: how far behind the stream was, since it last rested between two batches with nothing left to read.
        rested_at: the end of that rest; None if none was seen.
        edges: the first offsets that the broker had, and the stream's position, whenever the former had changed.
        since: when its story begins.
        observations: how many observations it is made of.
        high: the highest committed offset per `topic/partition`.
        topic_id: of the topic that those offsets count in.
        waiting_since: the first observation that saw a record beyond the present position; None if the newest saw none.
        epoch: the reset epoch that it is about.
    """

    batches: Series[CommitSample] = NO_BATCHES
    samples: Series[EndSample] = NO_SAMPLES
    course: Series[Point] = NO_POINTS
    rested_at: float | None = None
    edges: tuple[LogBounds, ...] = ()
    since: float | None = None
    observations: int = 0
    high: Mapping[str, int] = MappingProxyType({})
    topic_id: str = ""
    waiting_since: float | None = None
    epoch: int = 0

    def add(self, observation: Observation) -> Window:
        """Return the window with one more observation. What could not be observed leaves no trace."""
        window = _begun_again(self, observation)
        if observation.ends is not None:
            window = _heard(window, observation)
        news = (batch for batch in observation.history if batch.batch_id > window.newest)
        for batch in sorted(news, key=lambda batch: batch.batch_id):  # oldest first
            window = _committed(window, batch, observation.rhythm)
        return window._replace(
            observations=window.observations + 1,
            topic_id=window.topic_id or observation.topic_id,
            high=_highest(window.high, observation.committed or {}),
            waiting_since=_waiting_since(window, observation),
        )

    @property
    def newest(self) -> int:
        """The newest known batch's number; -1 if there is none."""
        return int(self.batches.number(-1, 0)) if self.batches else -1

    def span(self, at: float) -> float:
        """Return how many seconds of the past it tells about."""
        return 0.0 if self.since is None else max(0.0, at - self.since)

    def saw_arrival(self, end: int) -> bool:
        """Whether an observation found nothing beyond an offset sum, so that it is known since when there is more."""
        return bool(self.samples) and self.samples.number(0, 1) <= end

    def arrival(self, end: int) -> float | None:
        """Return when the first record after an offset sum arrived, or None if no observation saw that.

        Records arrive evenly between two observations, as far as is known. A record that the first observation
        found there already has arrived by then, at the latest.
        """
        after = bisect_right(self.samples.column(1), end)
        if after == len(self.samples):
            return None
        later = self.samples[after]
        if after == 0:
            return later.at
        earlier = self.samples[after - 1]
        return earlier.at + (later.at - earlier.at) * (end - earlier.end) / (later.end - earlier.end)


def _begun_again(window: Window, observation: Observation) -> Window:
    """Forget what an observation shows to be over: the offsets of another topic, the batches of another checkpoint."""
    if observation.committed is None:
        return window
    if observation.epoch != window.epoch:
        return Window(
            epoch=observation.epoch
        )  # a person has moved it: where it stood before says nothing of where it goes
    another_topic = bool(window.topic_id and observation.topic_id and observation.topic_id != window.topic_id)
    if another_topic and any(offset < window.high.get(p, 0) for p, offset in observation.committed.items()):
        return Window(epoch=window.epoch)
    if observation.batches - 1 < window.newest:
        return window._replace(batches=NO_BATCHES, course=NO_POINTS)
    return window


def _heard(window: Window, observation: Observation) -> Window:
    at, end = observation.at.timestamp(), sum((observation.ends or {}).values())
    samples = window.samples
    if len(samples) > 1 and samples.number(-1, 0) - samples.number(-2, 0) < _SAMPLE_SECONDS:
        samples = samples[:-1]  # the newest always stays, the ones before it a while apart
    if samples and end < samples.number(-1, 1):
        samples = NO_SAMPLES  # another topic of the same name
    edges = window.edges
    if (
        observation.starts is not None
        and observation.committed is not None
        and (not edges or edges[-1].starts != observation.starts)
    ):
        edges = (*edges, LogBounds(at, dict(observation.starts), dict(observation.committed)))[-MAX_EDGES:]
    since = at if window.since is None else window.since
    return window._replace(samples=samples.plus(at, end).thinned(MAX_POINTS), edges=edges, since=since)


def _committed(window: Window, news: CommittedBatch, rhythm: Rhythm) -> Window:
    committed, end = news.committed_at.timestamp(), sum(news.offsets.values())
    planned = min(committed, committed if news.planned_at is None else news.planned_at.timestamp())
    last = window.batches[-1] if window.batches else None
    if last is not None and last.number != news.batch_id - 1:
        last = None  # what the stream did between two batches that were not read is not known
    records = None if last is None else max(0, end - last.end)
    batches = window.batches.plus(news.batch_id, planned, committed, end, _UNKNOWN if records is None else records)
    arrived = window.arrival(end)
    behind = committed - (planned if arrived is None else min(planned, arrived))
    rested = last is not None and _rested(last, planned, rhythm)
    course = NO_POINTS if rested else window.course
    if records != 0:  # a batch without records only closes what earlier ones have read
        course = course.plus(committed, behind).thinned(MAX_POINTS)
    since = planned if window.since is None else min(window.since, planned)
    rested_at = planned if rested else window.rested_at
    return window._replace(batches=batches[-MAX_BATCHES:], course=course, rested_at=rested_at, since=since)


def _waiting_since(window: Window, observation: Observation) -> float | None:
    """Return since when a record is known to wait that is still unread."""
    if observation.ends is None or observation.committed is None:
        return window.waiting_since
    if not observation.lag_records:
        return None
    position = sum(observation.position(partition) for partition in observation.ends)
    after = bisect_right(window.samples.column(1), position)
    return window.samples.number(after, 0) if after < len(window.samples) else observation.at.timestamp()


def _rested(last: CommitSample, planned: float, rhythm: Rhythm) -> bool:
    """Whether it had read all there was, and waited for its trigger or for records until it planned the next batch."""
    if rhythm.cap is not None and last.records is not None and last.records >= _FULL_SHARE * rhythm.cap:
        return False  # it waited for its trigger although more was there
    return planned - last.committed >= max(_MIN_REST_SECONDS, _REST_SHARE * rhythm.trigger.total_seconds())


def _highest(known: Mapping[str, int], observation: Mapping[str, int]) -> Mapping[str, int]:
    if all(known.get(partition, -1) >= offset for partition, offset in observation.items()):
        return known
    return {
        partition: max(known.get(partition, 0), observation.get(partition, 0)) for partition in {*known, *observation}
    }
