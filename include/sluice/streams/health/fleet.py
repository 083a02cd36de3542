"""How every stream stands, from what is on record alone: who needs somebody first. Nothing is looked at here.

A watcher's newest look is the best there is while it is fresh. An end that is on record overrules it, and what nobody
has looked at lately is UNKNOWN, whatever it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sluice.specs.catalog.catalog import Unit
from sluice.streams.health.looks import DeadlineState, StreamLook
from sluice.streams.health.verdict import FINE, Health, Verdict, alike
from sluice.streams.health.verdict_records import RecordedVerdict
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.governor import HISTORY, Go, Halt, Hold
from sluice.streams.life.sighting import Sighting
from sluice.streams.life.timeline import in_words

RESTARTS_SPAN = timedelta(hours=24)
LOOKED_BACK = HISTORY

_BY_URGENCY = (
    *(Health.LOSS_RISK, Health.REWOUND, Health.STALLED, Health.STOPPED, Health.UNKNOWN, Health.LAGGING),
    *(Health.STARTING, Health.OK, Health.IDLE),
)


@dataclass(frozen=True)
class UnitRecords:
    """What is on record of a unit.

    Attributes:
        wish: the latest; None if nobody ever asked.
        attempts: `LOOKED_BACK` of the newest, newest first, or all.
        looks: the newest look at each stream.
        verdicts: the newest recorded verdict of each stream.
    """

    wish: DesiredState | None = None
    attempts: Sequence[Attempt] = ()
    looks: Mapping[str, StreamLook] = field(default_factory=dict)
    verdicts: Mapping[str, RecordedVerdict] = field(default_factory=dict)


@dataclass(frozen=True)
class Standing:
    """How one stream stands.

    Attributes:
        unit: its driver's name in the specs.
        stream: its name.
        verdict: what holds now.
        look: the newest look; None if there is none of the present attempt.
        since: since when the verdict holds, by what is on record; OK and IDLE are one. Never before the newest
            observation that says otherwise: a stream that nobody observes is UNKNOWN since it was observed last. None
            if nothing of it is on record.
        halted: why no attempt starts until a person asks for it; empty if that is not so.
        wanted: whether it shall run.
        restarts: how many attempts began in the last 24 hours, besides the first of all.
        generation: of the newest attempt; 0 before the first.
        changed_at: when its newest attempt began or ended, or the wish was made, whichever was last (UTC); None if
            nobody ever asked.
        deadlines: those of which it is certain whether they are missed, by a fresh look at a stream that runs.
    """

    unit: str
    stream: str
    verdict: Verdict
    look: StreamLook | None
    since: datetime | None
    halted: str
    wanted: bool
    restarts: int
    generation: int
    changed_at: datetime | None = None
    deadlines: tuple[DeadlineState, ...] = ()

    @property
    def needs_somebody(self) -> bool:
        """Whether it is not as it should be."""
        at_rest = self.verdict.health is Health.STOPPED and not self.wanted
        return self.verdict.health not in FINE and not at_rest

    @property
    def urgency(self) -> tuple[bool, bool, int, float, str]:
        """Sorts those first whom somebody has to look after first."""
        lag = self.verdict.lag_seconds or 0.0
        health = _BY_URGENCY.index(self.verdict.health)
        return (not self.needs_somebody, not self.halted, health, -lag, self.stream)


def standings(unit: Unit, records: UnitRecords, now: datetime) -> list[Standing]:
    """Return how the streams of a unit stand.

    Args:
        unit: the unit.
        records: what is on record of it.
        now: the present (UTC).
    """
    newest = records.attempts[0] if records.attempts else None
    sighting = Sighting(unit.name, records.wish, newest, None, earlier=tuple(records.attempts[1:]))
    ended = newest is None or newest.state is AttemptState.ENDED
    halted = sighting.halted(now) if ended and newest is not None else ""
    begun = (a for a in records.attempts if a.generation > 1 and now - a.intended_at <= RESTARTS_SPAN)
    found = Standing(
        unit=unit.name,
        stream="",
        verdict=_at_rest(sighting, now) if ended else _UNSEEN,
        look=None,
        since=None,
        halted=halted,
        wanted=records.wish is not None and records.wish.state is Desired.RUNNING,
        restarts=sum(1 for _ in begun),
        generation=0 if newest is None else newest.generation,
        changed_at=_changed_at(records),
    )
    return [_of(stream, found, records, now, ended=ended) for stream in unit.streams]


def _changed_at(records: UnitRecords) -> datetime | None:
    newest = records.attempts[0] if records.attempts else None
    times = [None if records.wish is None else records.wish.at]
    if newest is not None:
        times += [newest.intended_at, newest.ended_at]
    return max((time for time in times if time is not None), default=None)


_UNSEEN = Verdict(
    Health.UNKNOWN,
    "Nobody has looked at it since its attempt began.",
    "see whether Airflow's triggerer runs; `sluice status` looks by itself.",
    completeness=0.0,
)


def _of(stream: str, unit: Standing, records: UnitRecords, now: datetime, *, ended: bool) -> Standing:
    look, recorded = records.looks.get(stream), records.verdicts.get(stream)
    if look is not None and look.generation < unit.generation:
        look = None
    if recorded is not None and (recorded.generation != unit.generation or recorded.at > now):
        recorded = None  # it is about an earlier attempt, or the clock was set back
    verdict, since, deadlines = unit.verdict, unit.changed_at, tuple[DeadlineState, ...]()
    if ended:
        verdict = verdict if look is None else _rested(verdict, look.verdict)
    elif look is not None:
        verdict = _fresh(look, now)
        since = _since(verdict, look, recorded)
        deadlines = look.deadlines if look.is_fresh(now) else ()
    elif since is not None and recorded is not None:
        since = max(since, recorded.at)
    return replace(unit, stream=stream, verdict=verdict, look=look, since=since, deadlines=deadlines)


def _since(verdict: Verdict, look: StreamLook, recorded: RecordedVerdict | None) -> datetime:
    """Return since when a verdict holds that follows from a look."""
    if not alike(verdict.health, look.verdict.health):
        return look.at if recorded is None else max(look.at, recorded.at)
    # The record goes further back than the memory of a watcher that was restarted; a record that is not of this health
    # proves nothing, for some changes are recorded minutes later.
    known = recorded is not None and alike(recorded.verdict.health, verdict.health)
    times = (look.at, look.since, recorded.at if recorded is not None and known else None)
    return min(at for at in times if at is not None)


def _fresh(look: StreamLook, now: datetime) -> Verdict:
    age = now - look.at
    if look.is_fresh(now):
        return look.verdict
    when = f"{in_words(age)} ago" if age > timedelta() else f"by a clock that is {in_words(-age)} ahead of this one"
    was = f"It was {look.verdict.health} when it was last looked at, {when}."
    return replace(look.verdict, health=Health.UNKNOWN, why=was, what_to_do=_UNSEEN.what_to_do, completeness=0.0)


def _rested(verdict: Verdict, last: Verdict) -> Verdict:
    """Return the verdict on a stream without a driver, with the figures that were last seen of it."""
    return replace(
        verdict,
        lag_records=last.lag_records,
        batches=last.batches,
        committed_at=last.committed_at,
        partitions=last.partitions,
    )


def _at_rest(sighting: Sighting, now: datetime) -> Verdict:
    """Return the verdict on a unit whose newest attempt is on record as ended, or that has none."""
    wish, attempt = sighting.desired, sighting.attempt
    if wish is None:
        return Verdict(Health.STOPPED, "Nobody ever asked for it to run.", f"`sluice streams start {sighting.unit}`.")
    if wish.state is Desired.STOPPED:
        return Verdict(Health.STOPPED, f"{wish.by} stopped it: {wish.why}.")
    if attempt is None:
        return Verdict(Health.STOPPED, f"{wish.by} asked for it to run, and it was not started yet.", _RECONCILER)
    ended = f"It ended {in_words(max(timedelta(0), now - (attempt.ended_at or now)))} ago"
    match outlook := sighting.outlook(now):
        case Halt():
            return Verdict(Health.STOPPED, f"{ended} and is HALTED: {outlook.why}.", f"{outlook.fix}.")
        case Go():
            return Verdict(Health.STOPPED, f"{ended}: generation {attempt.generation} {attempt.reason}.", _RECONCILER)
        case Hold():
            return Verdict(Health.STOPPED, f"{ended}: {outlook.why}.")


_RECONCILER = "the DAG `reconcile_streams` starts it within a minute; see whether it is paused."
