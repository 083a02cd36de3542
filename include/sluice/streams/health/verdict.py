"""Verdicts: the health of a stream as a pure function of evidence. Missing evidence is UNKNOWN, never OK.

Order of judgement: a recorded stop and proven death come first, because nothing else can be true beside them; then
what could not be looked at; then what is lost or repeated; then what does not move; then what moves too slowly. A batch
of long ago with nothing unread is IDLE, not dead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from sluice.streams.failures.exits import explain_exit
from sluice.streams.failures.room import ADVICE
from sluice.streams.health.cadence import LEAST_SECONDS
from sluice.streams.health.health import FINE, WELL, Health, alike
from sluice.streams.health.lag import LEAST_SPAN_SECONDS
from sluice.streams.health.observation import Evidence
from sluice.streams.health.retention import horizon_seconds, lost
from sluice.streams.health.situation import FIRST_COMMIT, SILENT_CADENCES, Situation, within
from sluice.streams.health.window import Window
from sluice.streams.life.launcher import DriverState

__all__ = ["FINE", "WELL", "Health", "PartitionLag", "Verdict", "alike", "judge"]

PATIENCE = timedelta(minutes=2)
IDLE_AFTER = timedelta(minutes=10)
BARE_AFTER = timedelta(minutes=1)
"""A cluster replaces an executor within seconds, if it can."""
SOON_SECONDS = 3600.0


@dataclass(frozen=True)
class PartitionLag:
    """What is unread of one `topic/partition`; `seconds`: how long its first record waits, if the broker says so."""

    partition: str
    records: int
    seconds: float | None = None


@dataclass(frozen=True)
class Verdict:
    """Health, the reason in one sentence, and what to do about it (empty if nothing).

    Attributes:
        lag_records: records not yet in a committed batch.
        lag_seconds: how long the first of them waits, at least; 0 if there is none, None if nobody knows.
        watermark_lag_seconds: how far the stream's watermark is behind the clock.
        catch_up_seconds: when the backlog will be gone, if it shrinks.
        loss_seconds: when retention will delete what is unread, if that is in sight.
        completeness: share of the evidence that could be gathered, 0-1; a part of it is a past that is long enough.
    """

    health: Health
    why: str
    what_to_do: str = ""
    lag_records: int | None = None
    batches: int = 0
    committed_at: datetime | None = None
    completeness: float = 1.0
    lag_seconds: float | None = None
    watermark_lag_seconds: float | None = None
    catch_up_seconds: float | None = None
    loss_seconds: float | None = None
    partitions: tuple[PartitionLag, ...] = ()


def judge(
    seen: Evidence,
    window: Window | None = None,
    *,
    lagging_since: datetime | None = None,
    patience: timedelta = PATIENCE,
) -> Verdict:
    """Give the verdict for one moment.

    Args:
        seen: what was seen.
        window: the past, this look included; omitted: what this look alone tells of it.
        lagging_since: when it was found to fall behind, if LAGGING is the verdict on record for this generation.
        patience: how long records may wait without a commit while the stream's cadence is not known.
    """
    case = Situation(seen, Window().add(seen) if window is None else window, lagging_since, patience)
    ask: tuple[Callable[[Situation], _Judgement | None], ...]
    ask = (
        *(_judge_life, _judge_sight, _judge_position, _judge_loss),
        *(_judge_executors, _judge_start, _judge_silence, _judge_pace),
    )
    found = next((judgement for question in ask if (judgement := question(case)) is not None), None)
    health, why, what_to_do = found or _judge_rest(case)
    watermark = seen.watermark
    return Verdict(
        health,
        why,
        what_to_do,
        lag_records=seen.lag_records,
        batches=seen.batches,
        committed_at=seen.committed_at,
        completeness=case.completeness,
        lag_seconds=case.age,
        watermark_lag_seconds=None if watermark is None else max(0.0, (seen.at - watermark).total_seconds()),
        catch_up_seconds=case.catch_up_seconds,
        loss_seconds=case.loss_seconds,
        partitions=_partitions(seen),
    )


_Judgement: TypeAlias = tuple[Health, str, str]


def _judge_life(case: Situation) -> _Judgement | None:
    """A stop and a proven death."""
    seen = case.seen
    driver = seen.driver
    if driver is None or driver.state is DriverState.RUNNING:
        return None if driver is None or seen.stop_wanted else _judge_end_alone(seen)
    end = f"{driver.key} {explain_exit(driver.exit_code)}"
    if seen.never_wanted and driver.state is DriverState.ABSENT:  # no fault, and nothing that anybody has to do
        return Health.STOPPED, f"Nobody has asked for it to run; `sluice streams start {seen.unit}` does.", ""
    if driver.state is DriverState.ABSENT:
        end = "no driver was submitted"
    elif driver.ended_at is not None:
        end = f"{end} {_ago(seen.at, driver.ended_at)}"
    if seen.stop_wanted:
        return Health.STOPPED, f"It is stopped as requested; {end}.", f"sluice streams start {seen.unit}"
    if seen.halted:
        why = seen.halted.removesuffix(f". To go on: {seen.halted_fix}").rstrip(".")
        what_to_do = seen.halted_fix or f"sluice streams resume {seen.unit}"
        return Health.STOPPED, f"It does not run: {end}. It is HALTED: {why}.", what_to_do
    if seen.lack:
        return Health.STOPPED, f"It does not run: there is no room for it. {_sentence(seen.lack)}", ADVICE
    verb = "start" if driver.state is DriverState.ABSENT else "logs"
    return Health.STOPPED, f"It does not run: {end}.", f"sluice streams {verb} {seen.unit}"


def _judge_end_alone(seen: Evidence) -> _Judgement | None:
    """A stream that has ended beside others that go on."""
    if (ended := seen.ended_alone) is None:
        return None
    why = f"It has ended {_ago(seen.at, ended.at)}, and the other streams of its driver go on: {ended.kind.value}. "
    if ended.again_at is not None:
        again = f"nothing: it is started again by itself at {ended.again_at:%H:%M:%S} UTC"
        return Health.STOPPED, f"{why}{_sentence(ended.message)}", f"{again}; sluice streams logs {seen.unit} says more"
    remedy = ended.kind.what_to_do or "find the cause"
    return Health.STOPPED, f"{why}{_sentence(ended.message)}", f"{remedy}; then sluice streams restart {seen.unit}"


def _judge_sight(case: Situation) -> _Judgement | None:
    """What could not be looked at, and a stop that is not done."""
    seen = case.seen
    sources = {"driver": seen.driver, "checkpoint": seen.committed, "broker": seen.ends or None}
    if blind := [name for name, found in sources.items() if found is None]:
        why = "; ".join([f"Could not look at the {' and the '.join(blind)}", *seen.notes])
        return Health.UNKNOWN, f"{why.rstrip('.')}.", "sluice doctor"
    if seen.stop_wanted:
        why = f"A stop was asked for, and {_driver(seen)} still lives."
        return Health.UNKNOWN, why, f"sluice streams stop {seen.unit}"
    return None


def _judge_position(case: Situation) -> _Judgement | None:
    """A position that is none of this topic's, or lower than it was."""
    seen, window = case.seen, case.window
    ends, committed = seen.ends or {}, seen.committed or {}
    advice = f"sluice streams stop {seen.unit}; see whether the topic was created again: sluice topics describe"
    for partition, offset in sorted(committed.items()):
        if offset > ends.get(partition, 0) + seen.held.get(partition, 0):
            end = f"ends at {ends[partition]}" if partition in ends else "is not there"
            why = f"The stream has read {partition} to offset {offset}, but at the broker it {end}."
            return Health.REWOUND, why, advice
    if window.topic_id and seen.topic_id and window.topic_id != seen.topic_id:
        ids = f"{window.topic_id} is now {seen.topic_id}"
        why = f"The topic was created again ({ids}); the stream's offsets are the old one's."
        return Health.REWOUND, why, advice
    back = {p: high - committed[p] for p, high in sorted(window.high.items()) if committed.get(p, high) < high}
    if back:
        which, records = max(back.items(), key=lambda item: item[1])
        why = f"It reads again what it had read: its position in {which} went back by {records}, to {committed[which]}."
        return Health.REWOUND, why, f"see who restored or reset its checkpoint: sluice streams show {seen.unit}"
    return None


def _judge_loss(case: Situation) -> _Judgement | None:
    """What retention has deleted unread, or is about to."""
    seen = case.seen
    if gone := lost(seen):
        which, records = max(gone.items(), key=lambda item: item[1])
        why = (
            f"{sum(gone.values())} records are gone that were never read: {which} begins {records} records after the "
            "stream's position."
        )
        return Health.LOSS_RISK, why, f"sluice streams logs {seen.unit}; if they can be had again, send them again"
    if case.loss_seconds is None or case.loss_seconds > horizon_seconds(seen):
        return None
    if case.cadence is not None and (case.age or 0.0) < SILENT_CADENCES * case.cadence.seconds:
        return None  # what has just arrived is not what retention deletes next
    why = f"{_records(case)} unread, and in {_span(case.loss_seconds)} the topic's retention deletes the first of them."
    return (
        Health.LOSS_RISK,
        why,
        f"raise the topic's `retention` at the broker now; then sluice streams logs {seen.unit}",
    )


def _judge_executors(case: Situation) -> _Judgement | None:
    """Records wait, and the driver knows of nobody who could read them."""
    seen = case.seen
    if not seen.lag_records or not (bare := _bare(seen)):
        return None
    why = f"{_records(case)} unread, and {_driver(seen)} {bare}: its cluster has lost its workers, or has no room."
    return Health.STALLED, why, "see which workers and cores there are (sluice status); it goes on when it gets one"


def _judge_start(case: Situation) -> _Judgement | None:
    """Records wait, and this driver has never committed: for a while that is a start, and then it is not."""
    waited = case.start_seconds
    if waited is None or (case.cadence is not None and not case.starting):
        return None
    seen, started = case.seen, None if case.seen.driver is None else case.seen.driver.started_at
    since = "" if started is None else f", which started {_ago(seen.at, started)},"
    if waited <= FIRST_COMMIT.total_seconds():
        doing = "no batch is planned yet" if seen.running is None else f"batch {seen.running.batch_id} is at work"
        return (
            Health.STARTING,
            f"{_records(case)} unread; {_driver(seen)}{since} has committed nothing yet: {doing}.",
            "",
        )
    doing = "no batch was planned" if seen.running is None else f"batch {seen.running.batch_id} is not committed"
    why = f"{_records(case)} unread, and for {_span(waited)} {doing}; {_driver(seen)}{since} lives{_last_word(seen)}."
    return Health.STALLED, why, f"sluice streams logs {seen.unit}; then sluice streams restart {seen.unit}"


def _judge_silence(case: Situation) -> _Judgement | None:
    """Records wait and nothing is committed."""
    seen = case.seen
    if not seen.lag_records:
        return None
    if case.silent and case.allowed is not None:
        running = seen.running
        doing = "no batch was planned" if running is None else f"batch {running.batch_id} is not committed"
        why = (
            f"{_records(case)} unread, and for {_span(case.quiet_seconds)} {doing}, where "
            f"{_span(case.allowed / SILENT_CADENCES)} are usual; {_driver(seen)} lives{_last_word(seen)}."
        )
        return Health.STALLED, why, f"sluice streams logs {seen.unit}; then sluice streams restart {seen.unit}"
    started = None if seen.driver is None else seen.driver.started_at
    if within(seen.at, seen.committed_at, case.patience) or within(seen.at, started, case.patience):
        return None
    return _judge_patience(case)


def _judge_patience(case: Situation) -> _Judgement | None:
    """Without a cadence, or without having seen the records come, only patience can be had."""
    seen = case.seen
    if case.quiet_since is not None and case.cadence is not None:
        return None
    patience = case.patience if case.cadence is None else max(case.patience, timedelta(seconds=case.cadence.seconds))
    if within(seen.at, seen.committed_at, patience):
        return None
    if case.window.saw_arrival(case.position) and (case.age or 0.0) <= patience.total_seconds():
        return None
    why = (
        f"{_records(case)} unread and {_last(seen)}, longer than {_span(patience.total_seconds())}: "
        f"{_driver(seen)} lives, but whether it works cannot be told."
    )
    return Health.UNKNOWN, why, f"sluice streams logs {seen.unit}"


def _judge_pace(case: Situation) -> _Judgement | None:
    """It works, but too slowly."""
    seen = case.seen
    if not seen.lag_records:
        return None
    faster = f"give it more cores (`resources` in its spec), or see what slows it: sluice streams logs {seen.unit}"
    if (falls := case.falls) is not None:
        why = (
            f"For {_span(case.now - falls.since)} more has arrived than it read: it is {_span(falls.seconds)} further "
            f"behind and did not rest in between; {_records(case)} unread."
        )
        return Health.LAGGING, why, faster
    if case.still_lags:
        why = f"{_records(case)} unread. It was found to fall behind, and was not seen to rest or to come nearer since."
        return Health.LAGGING, why, faster
    course = case.window.course
    lasts = bool(course) and case.now - course[0].at > LEAST_SPAN_SECONDS
    if case.catch_up_seconds is not None and lasts and case.catch_up_seconds > SOON_SECONDS:
        why = f"{_records(case)} unread; it catches up, but needs about {_span(case.catch_up_seconds)} at this pace."
        return Health.LAGGING, why, faster
    return None


def _judge_rest(case: Situation) -> _Judgement:
    """It works. A batch of long ago with nothing unread is no fault."""
    seen = case.seen
    if seen.lag_records:
        return Health.OK, f"{_records(case)} unread; {_last(seen)}{_prospect(case)}{seen.held_back}.", ""
    recent = within(seen.at, seen.committed_at, max(IDLE_AFTER, case.patience))
    read = sum((seen.committed or {}).values())
    bare = f"; {_driver(seen)} {bare}, and could read nothing" if (bare := _bare(seen)) else ""
    why = f"Nothing is unread after offset sum {read}; {_last(seen)}{bare}{seen.held_back}."
    return Health.OK if recent else Health.IDLE, why, ""


def _prospect(case: Situation) -> str:
    if case.catch_up_seconds is not None:
        return f"; it catches up in about {_span(case.catch_up_seconds)}"
    if not case.busy_records or case.quiet_seconds < LEAST_SECONDS or case.cadence is None:
        return ""
    left = case.cadence.expected(case.busy_records) - case.quiet_seconds
    if case.busy_records <= case.cadence.batch_records or left < case.cadence.seconds:
        return ""
    return f"; a batch of {case.busy_records} of them is at work, for about {_span(left)} more"


def _bare(seen: Evidence) -> str:
    """Say that a driver has no executor, and for how long; nothing if it has one, or has just lost it."""
    executors = seen.executors
    if executors is None or executors.count or seen.at - executors.since < BARE_AFTER:
        return ""
    return f"has had no executor for {_span((seen.at - executors.since).total_seconds())}"


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:].rstrip('.')}."


def _partitions(seen: Evidence) -> tuple[PartitionLag, ...]:
    return tuple(
        PartitionLag(partition, records, _waits(seen, partition) if records else 0.0)
        for partition, records in (seen.unread or {}).items()
    )


def _waits(seen: Evidence, partition: str) -> float | None:
    stamp = seen.stamps.get(partition)
    return None if stamp is None else max(0.0, (seen.at - stamp.at).total_seconds())


def _records(case: Situation) -> str:
    lag = case.seen.lag_records or 0
    return "1 record is" if lag == 1 else f"{lag} records are"


def _last(seen: Evidence) -> str:
    if seen.committed_at is None:
        return "no batch was ever committed"
    return f"batch {seen.batches - 1} was committed {_ago(seen.at, seen.committed_at)}"


def _last_word(seen: Evidence) -> str:
    return "" if seen.reported_at is None else f", and last said something {_ago(seen.at, seen.reported_at)}"


def _driver(seen: Evidence) -> str:
    driver = seen.driver
    return "the driver" if driver is None else f"{driver.key} (pid {driver.pid})"


def _ago(at: datetime, moment: datetime) -> str:
    seconds = (at - moment).total_seconds()
    return f"{_span(seconds)} ago" if seconds >= 0 else f"{_span(-seconds)} ahead of this clock"


_UNITS = ((2 * 86_400, 86_400, "days"), (2 * 3_600, 3_600, "h"), (120, 60, "min"))


def _span(seconds: float) -> str:
    """Return a duration as a person says it."""
    for least, size, unit in _UNITS:
        if seconds >= least:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
