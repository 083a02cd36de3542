"""How far a mirror is behind, and what that means, as pure functions of what both clusters say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.specs.deployments.mirror import MirrorSpec
from sluice.specs.model.duration import format_duration
from sluice.streams.health.health import FINE, Health
from sluice.streams.life.governor import Halt, Hold
from sluice.streams.life.status import UnitStatus
from sluice.wording import listed

_START = timedelta(minutes=2)
"""MirrorMaker needs so long to start on a busy machine, and to see its first topics."""


@dataclass(frozen=True)
class CopyLag:
    """How far one partition is behind.

    Attributes:
        partition: `topic/partition`.
        copied: the source's offset after the newest copy; without one, the first that the source still has.
        end: the source's end, of committed records.
        since: the time (UTC) of the oldest record that is not copied; None if there is none, or it bears no time.
    """

    partition: str
    copied: int
    end: int
    since: datetime | None = None

    @property
    def records(self) -> int:
        """Offsets that are not copied: records, and the marks of transactions between them."""
        return max(0, self.end - self.copied)

    def age(self, now: datetime) -> timedelta:
        """Return how old the oldest record is that is not copied; nothing if there is none."""
        return timedelta() if self.since is None else max(timedelta(), now - self.since)


@dataclass(frozen=True)
class MirrorLag:
    """How far a mirror is behind.

    Attributes:
        partitions: of all topics that it copies.
        absent: topics that the target does not have yet.
    """

    partitions: tuple[CopyLag, ...]
    absent: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """Offsets that are not copied."""
        return sum(each.records for each in self.partitions)

    @property
    def diverged(self) -> tuple[str, ...]:
        """Partitions of which more was copied than the source has: it was truncated, or created again."""
        return tuple(each.partition for each in self.partitions if each.copied > each.end)

    def oldest(self, now: datetime) -> CopyLag | None:
        """Return the partition with the oldest record that is not copied; None if all are copied."""
        behind = [each for each in self.partitions if each.records]
        return max(behind, key=lambda each: (each.age(now), each.records), default=None)


@dataclass(frozen=True)
class MirrorVerdict:
    """The word, and what it rests on.

    Attributes:
        health: the word.
        why: a sentence that stays the same as long as the state does: an alert is news by it.
        what_to_do: empty if nothing.
        detail: a sentence with what changes from check to check; empty if nothing does.
        rests: whether no process of it runs, as was asked for.
    """

    health: Health
    why: str
    what_to_do: str = ""
    detail: str = ""
    rests: bool = False

    @property
    def said(self) -> str:
        """Both sentences."""
        return f"{self.why} {self.detail}".strip()

    @property
    def alerts(self) -> bool:
        """Whether somebody has to act. A stop that was asked for needs nobody; neither does a mirror never started."""
        return self.health not in FINE and bool(self.what_to_do)


def judge(spec: MirrorSpec, status: UnitStatus, lag: MirrorLag | str, now: datetime) -> MirrorVerdict:
    """Return the verdict on a mirror.

    Args:
        spec: says how far it may be behind.
        status: what is recorded and seen of its process.
        lag: how far it is behind; why that is not known.
        now: the present (UTC).
    """
    if status.never_requested:
        why = f"It was never started; `sluice mirror start {spec.name}` starts it."
        return MirrorVerdict(Health.STOPPED, why, rests=True)
    if status.stop_requested and not status.alive and status.desired is not None:
        complete = status.attempt is None or status.ended
        why = f"{status.desired.by} requested the stop ({status.desired.why})."
        return MirrorVerdict(Health.STOPPED, why, rests=complete)
    if not status.alive:
        return _without_process(spec, status, now)
    if isinstance(lag, str):
        return MirrorVerdict(
            Health.UNKNOWN, "Its process runs, and how far it is behind is not known.",
            "see whether both clusters answer; if the source is lost, `sluice mirror failover` moves streams.", lag,
        )  # fmt: skip
    if lag.diverged:
        return MirrorVerdict(
            Health.REWOUND, f"More was copied of {', '.join(lag.diverged)} than the source has.",
            "find out whether the topic was created again or truncated; then delete the copy, and start the mirror.",
        )  # fmt: skip
    return _behind(spec, status, lag, now)


def _without_process(spec: MirrorSpec, status: UnitStatus, now: datetime) -> MirrorVerdict:
    log = f"read `sluice mirror logs {spec.name}`"
    if not status.ended:
        why = "; ".join(status.notes) or "its start is recorded, and no process of it is seen"
        return MirrorVerdict(Health.UNKNOWN, f"{why[:1].upper()}{why[1:]}.", "see whether the launcher answers.")
    outlook, attempt = status.outlook(now), status.attempt
    ended = f"Its process {attempt.reason or 'has ended'}" if attempt is not None else "Its process has ended"
    if isinstance(outlook, Halt):
        why = f"{ended}, too often: it is not started again by itself."
        return MirrorVerdict(Health.STOPPED, why, f"{log}, mend what it says, then `sluice mirror start {spec.name}`.")
    when = f"not before {outlook.until:%H:%M:%S} UTC" if isinstance(outlook, Hold) else "within a minute"
    return MirrorVerdict(Health.STOPPED, f"{ended}; it is started again {when}.")


def _behind(spec: MirrorSpec, status: UnitStatus, lag: MirrorLag, now: datetime) -> MirrorVerdict:
    oldest = lag.oldest(now)
    started = None if status.report is None else status.report.started_at
    young = started is not None and now - started < _START
    if lag.absent:
        why = f"The target has no {listed(lag.absent)} yet."
        fix = f"read `sluice mirror logs {spec.name}`: it makes topics as soon as it sees them."
        return MirrorVerdict(Health.STARTING if young else Health.STALLED, why, fix)
    if oldest is None:
        return MirrorVerdict(Health.OK, "Everything is copied.")
    age = timedelta(seconds=round(oldest.age(now).total_seconds()))
    detail = (
        f"{lag.records:,} offsets are not copied, the oldest record of {oldest.partition} for {format_duration(age)}."
    )
    most = format_duration(spec.max_lag)
    if age <= spec.max_lag:
        return MirrorVerdict(Health.OK, f"It is less than {most} behind.", detail=detail)
    why = f"It is more than {most} behind."
    fix = f"read `sluice mirror logs {spec.name}`; if it copies nothing at all, stop and start it."
    return MirrorVerdict(Health.STARTING if young else Health.LAGGING, why, fix, detail)
