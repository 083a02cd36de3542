"""How backfills and checks ended, as batches report it. Imports no client: most batches need none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sluice.intervals.alignment import Interval
from sluice.quality.gate import GateResult


@dataclass(frozen=True)
class Published:
    """What a process of a backfill has committed: the rows of all its commits, and the table's version of the last."""

    rows: int
    version: int


@dataclass(frozen=True)
class BackfillEnd:
    """How a process of a backfill ended.

    Attributes:
        at: when (UTC).
        passed: whether the result is as it should be.
        outcome: in one word.
        why: in a sentence, if it broke off. Findings about the data do not belong here: events hold no values.
        cancelled: whether a user cancelled it.
        gate: the last result of the quality gate; None if none was run.
        published: None if it published nothing, or the table's log was not read.
    """

    at: datetime
    passed: bool
    outcome: str
    why: str = ""
    cancelled: bool = False
    gate: GateResult | None = None
    published: Published | None = None


@dataclass(frozen=True)
class QualityCheck:
    """A check of a published table: when it began (UTC), and its range; None if that is not chosen yet."""

    began: datetime
    range: Interval | None
