"""When somebody is told that a deadline is missed, still missed, or met again: once, whoever watches.

Several triggerers may watch one stream, and each may end at any moment. So what was told is on record, one row per
deadline, and a row is only replaced by who has seen its latest version:

* who is to tell something claims it first; whoever comes second finds another version, and tells nothing;
* what was claimed and not told is told by somebody else after a while: perhaps twice, never not at all.

A deadline is missed when two looks in a row agree on it, and met again when it was met for five minutes without a
break: time in which nobody looked, or nothing could be known, does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.specs.model.deadlines import StreamDeadlines
from sluice.streams.deadlines.deadlines import DeadlineState, examine
from sluice.streams.deadlines.record import Deadline, DeadlineRecord, DeadlineRecords
from sluice.streams.health.looks import FRESH
from sluice.streams.health.observation import Evidence
from sluice.streams.health.recording import DWELL
from sluice.streams.health.verdict import Verdict
from sluice.streams.health.window import Window

CONFIRMING_LOOKS = 2
TOLD_AGAIN_AFTER = timedelta(minutes=10)
"""Longer than any delivery may take: a claim that is older was cut off, or no service took the alert."""


class Occasion(StrEnum):
    """Why somebody is told."""

    MISSED = "missed"
    STILL_MISSED = "still missed"
    MET = "met again"


@dataclass(frozen=True)
class Notice:
    """Something to tell, by whoever claims it.

    Attributes:
        record: the newest on record; None if it was never missed.
        verdict: of the same look.
    """

    occasion: Occasion
    unit: str
    stream: str
    finding: DeadlineState
    verdict: Verdict
    record: DeadlineRecord | None

    @property
    def missed(self) -> bool:
        """Whether it says that the deadline is missed."""
        return self.occasion is not Occasion.MET

    def claim(self, at: datetime) -> DeadlineRecord:
        """Return the version that claims it.

        Args:
            at: the present (UTC).
        """
        known = self.record is not None and self.record.missed == self.missed
        return DeadlineRecord(
            self.unit,
            self.stream,
            self.finding.deadline,
            1 if self.record is None else self.record.version + 1,
            self.missed,
            self.record.since if self.record is not None and known else self.finding.since,
            at,
        )


@dataclass(frozen=True)
class Streak:
    """Looks in a row that agree on a deadline.

    Attributes:
        missed: what they say.
        looks: how many they are.
        since: when the first one was (UTC).
        last: when the newest one was (UTC); None: there is only the first.
    """

    missed: bool
    looks: int
    since: datetime
    last: datetime | None = None

    @classmethod
    def after(cls, before: Streak | None, missed: bool | None, at: datetime) -> Streak | None:
        """Return the streak with one more look. One that knows nothing neither adds to it nor ends it.

        A gap, or a clock that was set back, begins a streak of looks that say it is met anew.
        """
        if missed is None:
            return before
        if before is None or before.missed != missed:
            return cls(missed, 1, at)
        gap = at - (before.last or before.since)
        if not missed and not timedelta() <= gap <= FRESH:
            return cls(missed, 1, at)
        return cls(missed, before.looks + 1, before.since, at)


def occasion_of(
    record: DeadlineRecord | None, streak: Streak, *, now: datetime, remind: timedelta | None
) -> Occasion | None:
    """Decide whether something is to be told.

    Args:
        record: the newest on record; None if it was never missed.
        streak: what this watcher's looks say.
        now: the present (UTC).
        remind: how often it is said again; None: never.
    """
    if streak.missed == (record is not None and record.missed):
        return None if record is None else _repeated(record, now, remind)
    if streak.missed:
        return Occasion.MISSED if streak.looks >= CONFIRMING_LOOKS else None
    return Occasion.MET if now - streak.since >= DWELL else None


def _repeated(record: DeadlineRecord, now: datetime, remind: timedelta | None) -> Occasion | None:
    """Say what is told although the record says so already: what nobody heard, and a reminder."""
    if record.told_at is None:
        again = Occasion.MISSED if record.missed else Occasion.MET
        # A claim from the future was made before the clock was set back: nobody is at it any more.
        return again if abs(now - record.claimed_at) >= TOLD_AGAIN_AFTER else None
    due = record.missed and remind is not None and now - record.told_at >= remind
    return Occasion.STILL_MISSED if due else None


class DeadlinesWatched:
    """What a watcher remembers of the deadlines of one unit. It may forget it at any time: it then tells later."""

    def __init__(self) -> None:
        self._streaks: dict[tuple[str, Deadline], Streak] = {}
        self._open = True  # what is on record is not known before it was read once

    def notices(
        self,
        declared: Mapping[str, StreamDeadlines],
        seen: Mapping[str, Evidence],
        verdicts: Mapping[str, Verdict],
        windows: Mapping[str, Window],
        records: DeadlineRecords,
    ) -> Iterator[Notice]:
        """Take in one look, and yield what is to be told.

        Args:
            declared: what the specs promise, by stream.
            seen: the evidence of the look, by stream.
            verdicts: what was made of it.
            windows: the looks before, and this one.
            records: asked only when something is missed, or was when it was last asked.
        """
        findings = {
            (stream, deadline): finding
            for stream, look in seen.items()
            for deadline, finding in examine(declared[stream], look, verdicts[stream], windows[stream]).items()
        }
        self._take(findings, seen)
        missed = any(finding.missed for finding in findings.values())
        if not findings or not (self._open or missed):
            return
        unit = next(iter(seen.values())).unit
        known = {(record.stream, record.deadline): record for record in records.deadline_records(unit)}
        # What is missed now may be told, and on record, by the time of the next look, which must not miss its end.
        self._open = missed or any(not record.settled for record in known.values())
        for (stream, deadline), finding in findings.items():
            record, streak = known.get((stream, deadline)), self._streaks.get((stream, deadline))
            if finding.missed is None or streak is None:
                continue
            occasion = occasion_of(record, streak, now=seen[stream].at, remind=declared[stream].remind)
            if occasion is not None:
                since = finding.since if finding.missed else streak.since
                yield Notice(occasion, unit, stream, replace(finding, since=since), verdicts[stream], record)

    def _take(self, findings: Mapping[tuple[str, Deadline], DeadlineState], seen: Mapping[str, Evidence]) -> None:
        streaks = {
            key: Streak.after(self._streaks.get(key), finding.missed, seen[key[0]].at)
            for key, finding in findings.items()
        }
        self._streaks = {key: streak for key, streak in streaks.items() if streak is not None}
