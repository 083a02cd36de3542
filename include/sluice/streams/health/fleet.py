"""The state of every stream from the records alone, those that need an operator first. Nothing is observed here.

A watcher's newest snapshot is the best there is while it is fresh. An end that is on record overrules it, and what
no watcher has observed lately is UNKNOWN, whatever it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sluice.specs.catalog.catalog import Unit
from sluice.specs.model.schedule import next_due
from sluice.streams.failures.failure import PLANNED, FailureClass
from sluice.streams.health.health import FINE, Health, same_health
from sluice.streams.health.pauses import judge_pause
from sluice.streams.health.recording import RecordedVerdict
from sluice.streams.health.snapshots import FRESH, DeadlineState, StreamSnapshot
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.governor import HISTORY, Go, Halt, Hold, Rest
from sluice.streams.life.status import Pause, UnitStatus
from sluice.streams.life.timeline import duration_text

RESTARTS_SPAN = timedelta(hours=24)
ATTEMPTS_READ = HISTORY

_BY_URGENCY = (
    *(Health.LOSS_RISK, Health.REWOUND, Health.STALLED, Health.STOPPED, Health.UNKNOWN, Health.LAGGING),
    *(Health.STARTING, Health.OK, Health.IDLE, Health.SCHEDULED),
)


@dataclass(frozen=True)
class UnitRecords:
    """What is on record of a unit.

    Attributes:
        desired: the latest; None if no user ever asked.
        attempts: `ATTEMPTS_READ` of the newest, newest first, or all.
        snapshots: the newest snapshot of each stream.
        verdicts: the newest recorded verdict of each stream.
    """

    desired: DesiredState | None = None
    attempts: Sequence[Attempt] = ()
    snapshots: Mapping[str, StreamSnapshot] = field(default_factory=dict)
    verdicts: Mapping[str, RecordedVerdict] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamStatus:
    """How one stream stands.

    Attributes:
        unit: its driver's name in the specs.
        stream: its name.
        verdict: what holds now.
        snapshot: the newest snapshot; None if there is none of the present attempt.
        since: since when the verdict holds, by what is on record; OK and IDLE are one. Never before the newest
            observation that says otherwise: a stream that no watcher observes is UNKNOWN since its last observation.
            None if nothing of it is on record.
        halted: why no attempt starts until a person asks for it; empty if that is not so.
        should_run: whether it shall run.
        restarts: how many attempts began in the last 24 hours, besides the first of all, and those after an end that
            the spec asks for.
        generation: of the newest attempt; 0 before the first.
        changed_at: when its newest attempt began or ended, or the desired state was recorded, whichever was last
            (UTC); None if no user ever asked.
        last_at_work: when it committed last, whichever attempt did, or when it was asked to run, whichever was last
            (UTC); None if neither is known.
        has_lost: whether its newest attempt ended because records are gone that it never read.
        next_at: when (UTC) its schedule starts the next driver, maybe a moment ago; None without a schedule.
        deadlines: those of which it is certain whether they are missed, by a fresh observation of a stream that runs.
    """

    unit: str
    stream: str
    verdict: Verdict
    snapshot: StreamSnapshot | None
    since: datetime | None
    halted: str
    should_run: bool
    restarts: int
    generation: int
    changed_at: datetime | None = None
    last_at_work: datetime | None = None
    has_lost: bool = False
    next_at: datetime | None = None
    deadlines: tuple[DeadlineState, ...] = ()

    @property
    def needs_attention(self) -> bool:
        """Whether it is not as it should be."""
        at_rest = self.verdict.health is Health.STOPPED and not self.should_run
        return self.verdict.health not in FINE and not at_rest

    @property
    def urgency(self) -> tuple[bool, bool, int, float, str]:
        """Sorts those first that need an operator first."""
        lag = self.verdict.lag_seconds or 0.0
        health = _BY_URGENCY.index(self.verdict.health)
        return (not self.needs_attention, not self.halted, health, -lag, self.stream)


def stream_statuses(unit: Unit, records: UnitRecords, now: datetime) -> list[StreamStatus]:
    """Return how the streams of a unit stand."""
    newest = records.attempts[0] if records.attempts else None
    status = UnitStatus(
        unit.name,
        records.desired,
        newest,
        None,
        earlier=tuple(records.attempts[1:]),
        plan=unit.plan,
        unread_since=_unread_since(newest, records),
    )
    pause, ended = status.pause(now), newest is None or newest.state is AttemptState.ENDED
    halted = status.halted(now) if ended and newest is not None else ""
    stream_status = StreamStatus(
        unit=unit.name,
        stream="",
        verdict=_at_rest(status, now) if ended else _UNSEEN,
        snapshot=None,
        since=None,
        halted=halted,
        should_run=records.desired is not None and records.desired.state is Desired.RUNNING,
        restarts=_restarts(records.attempts, now),
        generation=0 if newest is None else newest.generation,
        changed_at=_changed_at(records),
        has_lost=newest is not None and newest.failure is FailureClass.DATA_LOSS,
        next_at=_next_at(status, pause, now),
    )
    return [_of(stream, stream_status, records, now, ended=ended, pause=pause) for stream in unit.streams]


def _next_at(status: UnitStatus, pause: Pause | None, now: datetime) -> datetime | None:
    if status.plan.schedule is None or status.stop_requested:
        return None
    return next_due(status.plan.schedule, now) if pause is None else pause.until


def _restarts(attempts: Sequence[Attempt], now: datetime) -> int:
    """Return how many attempts began lately that follow another one, which had not ended as its spec asked for."""
    planned = {attempt.generation for attempt in attempts if attempt.failure in PLANNED}
    begun = (a for a in attempts if a.generation > 1 and now - a.intended_at <= RESTARTS_SPAN)
    return sum(1 for attempt in begun if attempt.generation - 1 not in planned)


def _unread_since(newest: Attempt | None, records: UnitRecords) -> datetime | None:
    """Return when a watcher saw records last that came after the newest attempt ended; None if none did."""
    if newest is None or newest.ended_at is None:
        return None
    seen = (s for s in records.snapshots.values() if s.generation == newest.generation and s.at > newest.ended_at)
    return max((snapshot.at for snapshot in seen if snapshot.verdict.lag_records), default=None)


def _changed_at(records: UnitRecords) -> datetime | None:
    newest = records.attempts[0] if records.attempts else None
    times = [None if records.desired is None else records.desired.at]
    if newest is not None:
        times += [newest.intended_at, newest.ended_at]
    return max((time for time in times if time is not None), default=None)


_UNSEEN = Verdict(
    Health.UNKNOWN,
    "It was not observed since its attempt began.",
    "see whether Airflow's triggerer runs; `sluice status` observes it by itself.",
    completeness=0.0,
)


def _of(
    stream: str, unit: StreamStatus, records: UnitRecords, now: datetime, *, ended: bool, pause: Pause | None = None
) -> StreamStatus:
    snapshot, recorded = records.snapshots.get(stream), records.verdicts.get(stream)
    last_at_work = _last_at_work(snapshot, records)
    if snapshot is not None and snapshot.generation < unit.generation:
        snapshot = None
    if recorded is not None and (recorded.generation != unit.generation or recorded.at > now):
        recorded = None  # it is about an earlier attempt, or the clock was set back
    verdict, since, deadlines = unit.verdict, unit.changed_at, tuple[DeadlineState, ...]()
    if ended and pause is not None and pause.until is None and now - pause.ended_at > FRESH:
        # Its watcher waits for records: it is idle only as long as somebody looks.
        watched = snapshot is not None and snapshot.at > pause.ended_at
        verdict = _fresh(snapshot, now) if snapshot is not None and watched else _UNWATCHED
    elif ended:
        verdict = verdict if snapshot is None else _rested(verdict, snapshot.verdict)
    elif snapshot is not None:
        verdict = _fresh(snapshot, now)
        since = _since(verdict, snapshot, recorded)
        deadlines = snapshot.deadlines if snapshot.is_fresh(now) else ()
    elif since is not None and recorded is not None:
        since = max(since, recorded.at)
    return replace(
        unit,
        stream=stream,
        verdict=verdict,
        snapshot=snapshot,
        since=since,
        deadlines=deadlines,
        last_at_work=last_at_work,
    )


def _last_at_work(snapshot: StreamSnapshot | None, records: UnitRecords) -> datetime | None:
    committed = None if snapshot is None else snapshot.verdict.committed_at
    asked = None if records.desired is None else records.desired.at
    return max((time for time in (committed, asked) if time is not None), default=None)


def _since(verdict: Verdict, snapshot: StreamSnapshot, recorded: RecordedVerdict | None) -> datetime:
    """Return since when a verdict holds that follows from a snapshot."""
    if not same_health(verdict.health, snapshot.verdict.health):
        return snapshot.at if recorded is None else max(snapshot.at, recorded.at)
    # The record goes further back than the memory of a watcher that was restarted; a record that is not of this health
    # proves nothing, for some changes are recorded minutes later.
    known = recorded is not None and same_health(recorded.verdict.health, verdict.health)
    times = (snapshot.at, snapshot.since, recorded.at if recorded is not None and known else None)
    return min(at for at in times if at is not None)


def _fresh(snapshot: StreamSnapshot, now: datetime) -> Verdict:
    age = now - snapshot.at
    if snapshot.is_fresh(now):
        return snapshot.verdict
    when = (
        f"{duration_text(age)} ago"
        if age > timedelta()
        else f"by a clock that is {duration_text(-age)} ahead of this one"
    )
    was = f"It was {snapshot.verdict.health} when it was last observed, {when}."
    return replace(snapshot.verdict, health=Health.UNKNOWN, why=was, what_to_do=_UNSEEN.what_to_do, completeness=0.0)


def _rested(verdict: Verdict, last: Verdict) -> Verdict:
    """Return the verdict on a stream without a driver, with the figures that were last seen of it."""
    return replace(
        verdict,
        lag_records=last.lag_records,
        batches=last.batches,
        committed_at=last.committed_at,
        partitions=last.partitions,
        settling=last.settling,
    )


_UNWATCHED = replace(
    _UNSEEN, why="Its driver ended because nothing came, and no watcher was seen to wait for records since."
)


def _at_rest(status: UnitStatus, now: datetime) -> Verdict:
    """Return the verdict on a unit whose newest attempt is on record as ended, or that has none."""
    desired, attempt = status.desired, status.attempt
    if desired is None:
        return Verdict(Health.STOPPED, "Its start was never requested.", f"`sluice streams start {status.unit}`.")
    if (pause := status.pause(now)) is not None:
        return Verdict(*judge_pause(pause, status.unit, now))
    if desired.state is Desired.STOPPED:
        return Verdict(Health.STOPPED, f"{desired.by} stopped it: {desired.why}.")
    if attempt is None:
        return Verdict(Health.STOPPED, f"{desired.by} requested its start, and it was not started yet.", _RECONCILER)
    return _after_end(status, attempt, now)


def _after_end(status: UnitStatus, attempt: Attempt, now: datetime) -> Verdict:
    ended = f"It ended {duration_text(max(timedelta(0), now - (attempt.ended_at or now)))} ago"
    match outlook := status.outlook(now):
        case Halt():
            return Verdict(Health.STOPPED, f"{ended} and is HALTED: {outlook.why}.", f"{outlook.fix}.")
        case Go():
            return Verdict(Health.STOPPED, f"{ended}: generation {attempt.generation} {attempt.reason}.", _RECONCILER)
        case Hold() | Rest():
            return Verdict(Health.STOPPED, f"{ended}: {outlook.why}.")


_RECONCILER = "the DAG `reconcile_streams` starts it within a minute; see whether it is paused."
