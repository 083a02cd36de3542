"""The verdict on the stream of a settled table: that of any stream, and what its settler and those above it say.

It reads no record, so batches and lag alone say little of it: it may commit batch after batch and settle nothing. What
is found here makes a verdict worse, never better.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Protocol, TypeAlias, TypeVar

from sluice.settling.status import SettlingStatus
from sluice.settling.wording import advance_command, advance_text, due_text, holds_text, next_text, progress_text
from sluice.streams.health.diagnosis import SILENT_CADENCES, START_PATIENCE, Diagnosis, within
from sluice.streams.health.health import WELL, Health
from sluice.streams.health.observation import Observation, ObservedSettler
from sluice.wording import span

Judgement: TypeAlias = tuple[Health, str, str]
"""Health, the reason in one sentence or more, and what to do."""

_WORSE_ALREADY = frozenset({Health.STOPPED, Health.REWOUND, Health.LOSS_RISK})
"""What a settler waits for changes nothing about these."""
_BY_SEVERITY = (Health.STARTING, Health.UNKNOWN, Health.LAGGING, Health.STALLED)
_BY_RAW_HEALTH = {
    Health.STARTING: Health.STARTING,
    Health.UNKNOWN: Health.UNKNOWN,
    Health.LAGGING: Health.LAGGING,
}
"""What a settler is if the stream above it is so; STALLED in every other case, because its table does not grow."""


class Judged(Protocol):
    """A verdict."""

    @property
    def judgement(self) -> Judgement:
        """What it says without its figures."""
        ...


V = TypeVar("V", bound=Judged)


def judge_all(
    observations: Mapping[str, Observation],
    judge_one: Callable[[str, Observation, Judgement | None], V],
    elsewhere: Callable[[str], V | None],
) -> Mapping[str, V]:
    """Return the verdict on each stream, in the order of the observations. What a settler rests on is judged first.

    Args:
        observations: by stream; no settler rests on itself, over whatever others.
        judge_one: returns the verdict on a stream, given its name, what was observed, and for a settler the judgement
            on the stream that fills what it settles from, if that is known; of several, on the one that is worst.
        elsewhere: returns the verdict on such a stream that is not among them; None: it is not known.
    """
    verdicts: dict[str, V] = {}

    def known(stream: str) -> Judgement | None:
        verdict = verdict_on(stream) if stream in observations else elsewhere(stream)
        return None if verdict is None else verdict.judgement

    def verdict_on(stream: str) -> V:
        if stream not in verdicts:
            observed = observations[stream]
            settler = observed.settler
            if settler is None:
                verdicts[stream] = judge_one(stream, observed, None)
            else:
                each = {above: known(above) for above in settler.upstream}
                worst = max(each, key=lambda above: _severity(each[above]))
                rests = replace(observed, settler=replace(settler, upstream=(worst,)))
                verdicts[stream] = judge_one(stream, rests, each[worst])
        return verdicts[stream]

    return {stream: verdict_on(stream) for stream in observations}


def upstream_elsewhere(observations: Mapping[str, Observation]) -> Collection[str]:
    """Return the streams that fill what settlers among some streams settle from, and that are not among these."""
    settlers = (observed.settler for observed in observations.values() if observed.settler is not None)
    return {stream for settler in settlers for stream in settler.upstream} - observations.keys()


def _severity(raw: Judgement | None) -> int:
    """Return what orders the streams above a settler by how much it suffers from them."""
    if raw is None:
        return _BY_SEVERITY.index(Health.UNKNOWN)
    return -1 if raw[0] in WELL else _BY_SEVERITY.index(_BY_RAW_HEALTH.get(raw[0], Health.STALLED))


def judge_settler(own: Judgement, facts: Diagnosis, raw: Judgement | None) -> Judgement:
    """Return the judgement on a stream after what its settler says; that of another stream as it is.

    Args:
        own: what batches and lag say.
        facts: of the stream.
        raw: the judgement on the stream that fills what it settles from; None: it is not known.
    """
    settler = facts.observation.settler
    health, why, what_to_do = own
    if settler is None or health in _WORSE_ALREADY:
        return own
    found = list(_findings(settler, facts, raw))
    if not found:
        return (health, f"{why.removesuffix('.')}{_outlook(settler)}.", what_to_do) if health in WELL else own
    worst = max((found_health for found_health, _, _ in found), key=_BY_SEVERITY.index)
    reasons, advice = " ".join(reason for _, reason, _ in found), found[0][2]
    if health in WELL:
        return worst, reasons, advice
    if health is Health.LAGGING and worst is Health.STALLED:
        return worst, f"{reasons} {why}", advice
    return health, f"{why} {reasons}", what_to_do if health is Health.UNKNOWN else advice or what_to_do


def _findings(settler: ObservedSettler, facts: Diagnosis, raw: Judgement | None) -> Iterator[Judgement]:
    """Yield what is wrong, the cause of most first."""
    if (finding := _raw_finding(settler, facts, raw)) is not None:
        yield finding
    status = settler.status
    if status is None:
        return
    if status.advance is not None and not settler.decided:
        yield Health.STALLED, advance_text(status.advance), advance_command(settler.pipeline)
    if (waited := _due_seconds(status, facts)) is not None and waited > _allowed_seconds(facts):
        yield _overdue(status, facts, waited)


def _raw_finding(settler: ObservedSettler, facts: Diagnosis, raw: Judgement | None) -> Judgement | None:
    if raw is not None and raw[0] in WELL:
        return None
    health, reason, advice = (Health.UNKNOWN, "It was not observed.", "sluice streams list") if raw is None else raw
    why = f"It settles what {settler.upstream[0]} has stored, and that stream is {health}: {reason}"
    observed, driver = facts.observation, facts.observation.driver
    young = driver is not None and within(observed.at, driver.started_at, START_PATIENCE)
    if health is Health.UNKNOWN and young:
        return Health.STARTING, why, advice  # the other unit may have begun a moment ago, too
    return _BY_RAW_HEALTH.get(health, Health.STALLED), why, advice


def _due_seconds(status: SettlingStatus, facts: Diagnosis) -> float | None:
    """For how long intervals are due, this driver could have settled them, and unread partitions hold them."""
    if status.due_since is None or not status.unread:
        return None
    driver = facts.observation.driver
    started = None if driver is None else driver.started_at
    return facts.now - max(moment.timestamp() for moment in (status.due_since, started) if moment is not None)


def _allowed_seconds(facts: Diagnosis) -> float:
    """How long partitions may hold what is due: a few batches long that is nothing, and a batch may be rare."""
    trigger = SILENT_CADENCES * facts.observation.rhythm.trigger / timedelta(seconds=1)
    return max(facts.patience.total_seconds(), facts.allowed or 0.0, trigger)


def _overdue(status: SettlingStatus, facts: Diagnosis, waited: float) -> Judgement:
    observed = facts.observation
    held_back = observed.held_back if observed.held.keys() & set(status.unread) else ""
    why = f"{due_text(status)}, and for {span(waited)} none of them was settled: {holds_text(status)}{held_back}."
    next_step = f"see why these partitions are not read: sluice streams show {observed.unit}"
    return Health.STALLED, why, "end or abort the transaction that is open" if held_back else next_step


def _outlook(settler: ObservedSettler) -> str:
    """Return how far a settler is and what it waits for, as the end of a sentence."""
    status = settler.status
    if status is None:
        return ""
    decided = "what was decided about arrival times counts within seconds"
    parts = [
        progress_text(status),
        f"{due_text(status)}: {holds_text(status)}" if status.due else "",
        next_text(status) if not status.due else "",
        decided if status.advance is not None else "",
    ]
    return "".join(f"; {part}" for part in parts if part)
