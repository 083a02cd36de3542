"""Verdicts: the health of a stream as a pure function of evidence. Missing evidence is UNKNOWN, never OK.

Order of judgement: a recorded stop and proven death come first, because nothing else can be true beside them; then
what could not be looked at; then lag; then age. A batch of long ago with nothing unread is IDLE, not dead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.streams.launcher import DriverReport


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
    raise NotImplementedError
