"""Verdicts: the health of a stream as a pure function of evidence. Missing evidence is UNKNOWN, never OK.

Order of judgement: a recorded stop and proven death come first, because nothing else can be true beside them; then
what could not be looked at; then lag; then age. A batch of long ago with nothing unread is IDLE, not dead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from sluice.streams.exits import explain_exit
from sluice.streams.launcher import DriverReport, DriverState


class Health(StrEnum):
    """The verdict's word."""

    OK = "OK"
    IDLE = "IDLE"
    STOPPED = "STOPPED"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Evidence:
    """What was seen of a stream at one moment. None means "could not look", never "nothing there".

    Attributes:
        at: when it was gathered (UTC).
        driver: the launcher's report.
        committed: next offset to read per `topic/partition`, from the newest committed batch; {} before the first.
        batches: number of committed batches.
        committed_at: when the newest batch was committed.
        ends: end offset per `topic/partition` at the broker.
        stop_wanted: somebody asked for the stop, and it is on record.
    """

    at: datetime
    driver: DriverReport | None
    committed: Mapping[str, int] | None
    batches: int = 0
    committed_at: datetime | None = None
    ends: Mapping[str, int] | None = None
    stop_wanted: bool = False
    notes: tuple[str, ...] = field(default=())
    """Why something could not be looked at."""
    unit: str = ""
    """The unit's name, for commands in advice."""

    @property
    def lag_records(self) -> int | None:
        """Records not yet in a committed batch, or None if one side is unknown."""
        if self.committed is None or self.ends is None:
            return None
        return sum(max(0, end - self.committed.get(partition, 0)) for partition, end in self.ends.items())


@dataclass(frozen=True)
class Verdict:
    """Health, the reason in one sentence, and what to do about it (empty if nothing)."""

    health: Health
    why: str
    what_to_do: str = ""
    lag_records: int | None = None
    batches: int = 0
    committed_at: datetime | None = None
    completeness: float = 1.0
    """Share of the evidence that could be gathered, 0-1."""


def judge(evidence: Evidence, *, patience: timedelta = timedelta(minutes=2)) -> Verdict:
    """Give the verdict for one moment.

    Args:
        evidence: what was seen.
        patience: how long records may wait without a commit before "it works" can no longer be claimed.
    """
    health, why, what_to_do = _judge_life(evidence) or _judge_sight(evidence) or _judge_work(evidence, patience)
    return Verdict(
        health,
        why,
        what_to_do,
        lag_records=evidence.lag_records,
        batches=evidence.batches,
        committed_at=evidence.committed_at,
        completeness=_completeness(evidence),
    )


_Judgement: TypeAlias = tuple[Health, str, str]


def _judge_life(evidence: Evidence) -> _Judgement | None:
    """A stop and a proven death."""
    driver = evidence.driver
    if driver is None or driver.state is DriverState.RUNNING:
        return None
    end = f"{driver.key} {explain_exit(driver.exit_code)}"
    if driver.state is DriverState.ABSENT:
        end = "no driver was submitted"
    elif driver.ended_at is not None:
        end = f"{end} {_ago(evidence.at, driver.ended_at)}"
    if evidence.stop_wanted:
        return Health.STOPPED, f"It is stopped as asked; {end}.", f"sluice streams start {evidence.unit}"
    verb = "start" if driver.state is DriverState.ABSENT else "logs"
    return Health.STOPPED, f"It does not run: {end}.", f"sluice streams {verb} {evidence.unit}"


def _judge_sight(evidence: Evidence) -> _Judgement | None:
    """What could not be looked at, and what contradicts itself."""
    sources = {"driver": evidence.driver, "checkpoint": evidence.committed, "broker": evidence.ends or None}
    if blind := [name for name, seen in sources.items() if seen is None]:
        why = "; ".join([f"Could not look at the {' and the '.join(blind)}", *evidence.notes])
        return Health.UNKNOWN, f"{why.rstrip('.')}.", "sluice doctor"
    if evidence.stop_wanted:
        why = f"A stop was asked for, and {_driver(evidence)} still lives."
        return Health.UNKNOWN, why, f"sluice streams stop {evidence.unit}"
    ends = evidence.ends or {}
    for partition, offset in sorted((evidence.committed or {}).items()):
        if offset > ends.get(partition, 0):
            end = f"ends at {ends[partition]}" if partition in ends else "is not there"
            why = f"The stream has read {partition} to offset {offset}, but at the broker it {end}."
            return Health.UNKNOWN, why, "see whether the topic was created again: sluice topics describe"
    return None


def _judge_work(evidence: Evidence, patience: timedelta) -> _Judgement:
    """Lag before age: a batch of long ago with nothing unread is no fault."""
    lag = evidence.lag_records or 0
    last = "no batch was ever committed"
    if evidence.committed_at is not None:
        last = f"batch {evidence.batches - 1} was committed {_ago(evidence.at, evidence.committed_at)}"
    recent = _within(evidence.at, evidence.committed_at, patience)
    if lag == 0:
        read = sum((evidence.committed or {}).values())
        return Health.OK if recent else Health.IDLE, f"Nothing is unread after offset sum {read}; {last}.", ""
    # A driver that has just started had no chance to commit yet, however old the last batch is.
    if recent or _within(evidence.at, evidence.driver.started_at if evidence.driver else None, patience):
        return Health.OK, f"{lag} records are unread; {last}.", ""
    why = (
        f"{lag} records are unread and {last}, longer than {patience.total_seconds():.0f} s: "
        f"{_driver(evidence)} lives, but whether it works cannot be told."
    )
    return Health.UNKNOWN, why, f"sluice streams logs {evidence.unit}"


def _driver(evidence: Evidence) -> str:
    driver = evidence.driver
    return "the driver" if driver is None else f"{driver.key} (pid {driver.pid})"


def _within(at: datetime, moment: datetime | None, patience: timedelta) -> bool:
    """Whether a moment is near. One that lies far ahead is no sign of life: clocks disagree."""
    return moment is not None and abs(at - moment) <= patience


def _ago(at: datetime, moment: datetime) -> str:
    seconds = (at - moment).total_seconds()
    return f"{seconds:.0f} s ago" if seconds >= 0 else f"{-seconds:.0f} s ahead of this clock"


def _completeness(evidence: Evidence) -> float:
    seen = [evidence.driver is not None, evidence.committed is not None, bool(evidence.ends)]
    return round(sum(seen) / len(seen), 2)
