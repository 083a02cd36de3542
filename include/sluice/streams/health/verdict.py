"""Verdicts: the health of a stream as a pure function of an observation. A missing source is UNKNOWN, never OK.

Order of judgement: a recorded stop and proven death come first, because nothing else can be true beside them; then
what could not be observed; then what is lost or repeated; then what does not move; then what moves too slowly. A batch
of long ago with nothing unread is IDLE, not dead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.settling.status import SettlingStatus
from sluice.streams.failures.capacity import ADVICE
from sluice.streams.failures.exits import explain_exit
from sluice.streams.health.cadence import MIN_SECONDS
from sluice.streams.health.diagnosis import FIRST_COMMIT, SILENT_CADENCES, Diagnosis, within
from sluice.streams.health.health import Health
from sluice.streams.health.lag import MIN_SPAN_SECONDS
from sluice.streams.health.observation import Observation, ago
from sluice.streams.health.pauses import judge_pause
from sluice.streams.health.retention import horizon_seconds, lost
from sluice.streams.health.settlers import Judgement, judge_settler
from sluice.streams.health.window import Window
from sluice.streams.life.launcher import DriverState
from sluice.topics.identity import gained_ids
from sluice.wording import span

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
        lag_seconds: how long the first of them waits, at least; 0 if there is none, None if unknown.
        watermark_lag_seconds: how far the stream's watermark is behind the clock.
        catch_up_seconds: when the backlog will be gone, if it shrinks.
        loss_seconds: when retention will delete what is unread, if that is in sight; 0 if it has deleted some already.
        completeness: share of the sources that could be read, 0-1; a part of it is a past that is long enough.
        settling: how far a settled table is, and what it waits for; None of any other stream, or if it is not known.
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
    settling: SettlingStatus | None = None

    @property
    def judgement(self) -> Judgement:
        """What it says without its figures."""
        return self.health, self.why, self.what_to_do


def judge(
    observed: Observation,
    window: Window | None = None,
    *,
    lagging_since: datetime | None = None,
    patience: timedelta = PATIENCE,
    raw: Judgement | None = None,
) -> Verdict:
    """Give the verdict for one moment.

    Args:
        observed: what was seen.
        window: the past, this observation included; omitted: what this observation alone says.
        lagging_since: when it was found to fall behind, if LAGGING is the verdict on record for this generation.
        patience: how long records may wait without a commit while the stream's cadence is not known.
        raw: the judgement on the raw stream that a settled table rests on; None: it is not known.
    """
    facts = Diagnosis(observed, Window().add(observed) if window is None else window, lagging_since, patience)
    judged = next((judgement for question in _QUESTIONS if (judgement := question(facts)) is not None), None)
    health, why, what_to_do = judge_settler(judged or _judge_rest(facts), facts, raw)
    watermark = observed.watermark
    return Verdict(
        health,
        why,
        what_to_do,
        lag_records=observed.lag_records,
        batches=observed.batches,
        committed_at=observed.committed_at,
        completeness=facts.completeness,
        lag_seconds=facts.age,
        watermark_lag_seconds=None if watermark is None else max(0.0, (observed.at - watermark).total_seconds()),
        catch_up_seconds=facts.catch_up_seconds,
        loss_seconds=0.0 if lost(observed) else facts.loss_seconds,
        partitions=_partitions(observed),
        settling=None if observed.settler is None else observed.settler.status,
    )


def _judge_life(facts: Diagnosis) -> Judgement | None:
    """A stop and a proven death."""
    observed = facts.observation
    driver = observed.driver
    # What stands still as planned is judged later: what else there is to see of it counts first.
    if driver is None or driver.state is DriverState.RUNNING or observed.pause is not None:
        alive = driver is not None and observed.pause is None and not observed.stop_requested
        return _judge_end_alone(observed) if alive else None
    end = f"{driver.key} {explain_exit(driver.exit_code)}"
    if observed.never_requested and driver.state is DriverState.ABSENT:  # no fault, and nothing for the operator to do
        return Health.STOPPED, f"Its start was never requested; `sluice streams start {observed.unit}` requests it.", ""
    if driver.state is DriverState.ABSENT:
        end = "no driver was submitted"
    elif driver.ended_at is not None:
        end = f"{end} {ago(observed.at, driver.ended_at)}"
    if observed.stop_requested:
        return Health.STOPPED, f"It is stopped as requested; {end}.", f"sluice streams start {observed.unit}"
    if observed.halted:
        why = observed.halted.removesuffix(f". To resume: {observed.halted_fix}").rstrip(".")
        what_to_do = observed.halted_fix or f"sluice streams resume {observed.unit}"
        return Health.STOPPED, f"It does not run: {end}. It is HALTED: {why}.", what_to_do
    if observed.shortage:
        return (
            Health.STOPPED,
            f"It does not run: the cluster has no capacity for it. {_sentence(observed.shortage)}",
            ADVICE,
        )
    verb = "start" if driver.state is DriverState.ABSENT else "logs"
    return Health.STOPPED, f"It does not run: {end}.", f"sluice streams {verb} {observed.unit}"


def _judge_end_alone(observed: Observation) -> Judgement | None:
    """A stream that has ended beside others that go on."""
    if (ended := observed.ended_alone) is None:
        return None
    when = ago(observed.at, ended.at)
    why = f"It has ended {when}, and the other streams of its driver continue: {ended.kind.value}. "
    if ended.again_at is not None:
        again = f"nothing: it is started again by itself at {ended.again_at:%H:%M:%S} UTC"
        return (
            Health.STOPPED,
            f"{why}{_sentence(ended.message)}",
            f"{again}; sluice streams logs {observed.unit} says more",
        )
    remedy = ended.kind.what_to_do or "find the cause"
    return Health.STOPPED, f"{why}{_sentence(ended.message)}", f"{remedy}; then sluice streams restart {observed.unit}"


def _judge_visibility(facts: Diagnosis) -> Judgement | None:
    """What could not be observed, and a stop that is not done."""
    observed = facts.observation
    sources = {"driver": observed.driver, "checkpoint": observed.committed, "broker": observed.ends or None}
    if blind := [name for name, answer in sources.items() if answer is None]:
        why = "; ".join([f"Could not check the {' and the '.join(blind)}", *observed.notes])
        return Health.UNKNOWN, f"{why.rstrip('.')}.", "sluice doctor"
    if observed.stop_requested:
        why = f"A stop was requested, and {observed.driver_text} still lives."
        return Health.UNKNOWN, why, f"sluice streams stop {observed.unit}"
    return None


def _judge_position(facts: Diagnosis) -> Judgement | None:
    """A position that is none of this topic's, or lower than it was."""
    observed, window = facts.observation, facts.window
    ends, committed = observed.ends or {}, observed.committed or {}
    advice = f"sluice streams stop {observed.unit}; see whether the topic was created again: sluice topics describe"
    for partition, offset in sorted(committed.items()):
        if offset > ends.get(partition, 0) + observed.held.get(partition, 0):
            end = f"ends at {ends[partition]}" if partition in ends else "is not there"
            why = f"The stream has read {partition} to offset {offset}, but at the broker it {end}."
            return Health.REWOUND, why, advice
    if window.topic_id and observed.topic_id and window.topic_id != observed.topic_id:
        ids = f"{window.topic_id} is now {observed.topic_id}"
        known = f"The cluster gave topics no ids and does now ({ids}); whether it was created again is not known."
        again = f"The topic was created again ({ids}); the stream's offsets are the old one's."
        why = known if gained_ids(window.topic_id, observed.topic_id) else again
        return Health.REWOUND, why, advice
    back = {p: high - committed[p] for p, high in sorted(window.high.items()) if committed.get(p, high) < high}
    if back:
        which, records = max(back.items(), key=lambda item: item[1])
        why = f"It reads again what it had read: its position in {which} went back by {records}, to {committed[which]}."
        return Health.REWOUND, why, f"see who restored or reset its checkpoint: sluice streams show {observed.unit}"
    return None


def _judge_loss(facts: Diagnosis) -> Judgement | None:
    """What retention has deleted unread, or is about to."""
    observed = facts.observation
    if gone := lost(observed):
        which, records = max(gone.items(), key=lambda item: item[1])
        why = (
            f"{sum(gone.values())} records are gone that were never read: {which} begins {records} records after the "
            "stream's position."
        )
        return Health.LOSS_RISK, why, f"sluice streams logs {observed.unit}; if they can be had again, send them again"
    if facts.loss_seconds is None or facts.loss_seconds > horizon_seconds(observed):
        return None
    if facts.cadence is not None and (facts.age or 0.0) < SILENT_CADENCES * facts.cadence.seconds:
        return None  # what has just arrived is not what retention deletes next
    why = (
        f"{_records(facts)} unread, and in {span(facts.loss_seconds)} the topic's retention deletes the first of them."
    )
    return (
        Health.LOSS_RISK,
        why,
        f"raise the topic's `retention` at the broker now; then sluice streams logs {observed.unit}",
    )


def _judge_plan(facts: Diagnosis) -> Judgement | None:
    """A driver that has ended as planned, and a stream that has read what its driver is to read."""
    observed = facts.observation
    if observed.pause is not None:
        return judge_pause(observed.pause, observed.unit, observed.at, observed.lag_records, facts.age)
    if observed.done and observed.lag_records:
        why = f"It has read what was there when {observed.driver_text} started; {_records(facts)} unread, for the next."
        return Health.OK, why, ""
    return None


def _judge_executors(facts: Diagnosis) -> Judgement | None:
    """Records wait, and the driver knows of no executor that could read them."""
    observed = facts.observation
    if not observed.lag_records or not (bare := _bare(observed)):
        return None
    why = f"{_records(facts)} unread, and {observed.driver_text} {bare}: its cluster has lost its workers or is full."
    return Health.STALLED, why, "see which workers and cores there are (sluice status); it continues when it gets one"


def _judge_start(facts: Diagnosis) -> Judgement | None:
    """Records wait, and this driver has never committed: for a while that is a start, and then it is not."""
    waited = facts.start_seconds
    if waited is None or (facts.cadence is not None and not facts.starting):
        return None
    observed, started = (
        facts.observation,
        None if facts.observation.driver is None else facts.observation.driver.started_at,
    )
    since = "" if started is None else f", which started {ago(observed.at, started)},"
    if waited <= FIRST_COMMIT.total_seconds():
        doing = (
            "no batch is planned yet" if observed.running is None else f"batch {observed.running.batch_id} is at work"
        )
        return (
            Health.STARTING,
            f"{_records(facts)} unread; {observed.driver_text}{since} has committed nothing yet: {doing}.",
            "",
        )
    doing = (
        "no batch was planned" if observed.running is None else f"batch {observed.running.batch_id} is not committed"
    )
    driver = f"{observed.driver_text}{since} lives{observed.last_report_text}"
    why = f"{_records(facts)} unread, and for {span(waited)} {doing}; {driver}."
    return Health.STALLED, why, f"sluice streams logs {observed.unit}; then sluice streams restart {observed.unit}"


def _judge_silence(facts: Diagnosis) -> Judgement | None:
    """Records wait and nothing is committed."""
    observed = facts.observation
    if not observed.lag_records:
        return None
    if facts.silent and facts.allowed is not None:
        running = observed.running
        doing = "no batch was planned" if running is None else f"batch {running.batch_id} is not committed"
        why = (
            f"{_records(facts)} unread, and for {span(facts.quiet_seconds)} {doing}, where "
            f"{span(facts.allowed / SILENT_CADENCES)} are usual; "
            f"{observed.driver_text} lives{observed.last_report_text}."
        )
        return Health.STALLED, why, f"sluice streams logs {observed.unit}; then sluice streams restart {observed.unit}"
    started = None if observed.driver is None else observed.driver.started_at
    if within(observed.at, observed.committed_at, facts.patience) or within(observed.at, started, facts.patience):
        return None
    return _judge_patience(facts)


def _judge_patience(facts: Diagnosis) -> Judgement | None:
    """Without a cadence, or without having seen the records come, only patience can be had."""
    observed = facts.observation
    if facts.quiet_since is not None and facts.cadence is not None:
        return None
    patience = (
        facts.patience if facts.cadence is None else max(facts.patience, timedelta(seconds=facts.cadence.seconds))
    )
    if within(observed.at, observed.committed_at, patience):
        return None
    if facts.window.saw_arrival(facts.position) and (facts.age or 0.0) <= patience.total_seconds():
        return None
    why = (
        f"{_records(facts)} unread and {observed.last_commit_text}, longer than {span(patience.total_seconds())}: "
        f"{observed.driver_text} lives, but it cannot be determined whether it works."
    )
    return Health.UNKNOWN, why, f"sluice streams logs {observed.unit}"


def _judge_pace(facts: Diagnosis) -> Judgement | None:
    """It works, but too slowly."""
    observed = facts.observation
    if not observed.lag_records:
        return None
    faster = f"give it more cores (`resources` in its spec), or see what slows it: sluice streams logs {observed.unit}"
    if (falls := facts.falls) is not None:
        why = (
            f"For {span(facts.now - falls.since)} more has arrived than it read: it is {span(falls.seconds)} further "
            f"behind and did not rest in between; {_records(facts)} unread."
        )
        return Health.LAGGING, why, faster
    if facts.still_lags:
        why = (
            f"{_records(facts)} unread. It was found to fall behind, and was not seen to rest or to come nearer since."
        )
        return Health.LAGGING, why, faster
    course = facts.window.course
    lasts = bool(course) and facts.now - course[0].at > MIN_SPAN_SECONDS
    if facts.catch_up_seconds is not None and lasts and facts.catch_up_seconds > SOON_SECONDS:
        why = f"{_records(facts)} unread; it catches up, but needs about {span(facts.catch_up_seconds)} at this pace."
        return Health.LAGGING, why, faster
    return None


def _judge_rest(facts: Diagnosis) -> Judgement:
    """It works. A batch of long ago with nothing unread is no fault."""
    observed = facts.observation
    if observed.lag_records:
        return (
            Health.OK,
            f"{_records(facts)} unread; {observed.last_commit_text}{_prospect(facts)}{observed.held_back}.",
            "",
        )
    recent = within(observed.at, observed.committed_at, max(IDLE_AFTER, facts.patience))
    read = sum((observed.committed or {}).values())
    bare = f"; {observed.driver_text} {bare}, and could read nothing" if (bare := _bare(observed)) else ""
    why = f"Nothing is unread after offset sum {read}; {observed.last_commit_text}{bare}{observed.held_back}."
    return Health.OK if recent else Health.IDLE, why, ""


def _prospect(facts: Diagnosis) -> str:
    if facts.catch_up_seconds is not None:
        return f"; it catches up in about {span(facts.catch_up_seconds)}"
    if not facts.busy_records or facts.quiet_seconds < MIN_SECONDS or facts.cadence is None:
        return ""
    left = facts.cadence.expected(facts.busy_records) - facts.quiet_seconds
    if facts.busy_records <= facts.cadence.batch_records or left < facts.cadence.seconds:
        return ""
    return f"; a batch of {facts.busy_records} of them is at work, for about {span(left)} more"


def _bare(observed: Observation) -> str:
    """Say that a driver has no executor, and for how long; nothing if it has one, or has just lost it."""
    executors = observed.executors
    if executors is None or executors.count or observed.at - executors.since < BARE_AFTER:
        return ""
    return f"has had no executor for {span((observed.at - executors.since).total_seconds())}"


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:].rstrip('.')}."


def _partitions(observed: Observation) -> tuple[PartitionLag, ...]:
    return tuple(
        PartitionLag(partition, records, _waits(observed, partition) if records else 0.0)
        for partition, records in (observed.unread or {}).items()
    )


def _waits(observed: Observation, partition: str) -> float | None:
    stamp = observed.stamps.get(partition)
    return None if stamp is None else max(0.0, (observed.at - stamp.at).total_seconds())


def _records(facts: Diagnosis) -> str:
    lag = facts.observation.lag_records or 0
    return "1 record is" if lag == 1 else f"{lag} records are"


_QUESTIONS: tuple[Callable[[Diagnosis], Judgement | None], ...] = (
    *(_judge_life, _judge_visibility, _judge_position, _judge_loss, _judge_plan),
    *(_judge_executors, _judge_start, _judge_silence, _judge_pace),
)
"""In the order of judgement."""
