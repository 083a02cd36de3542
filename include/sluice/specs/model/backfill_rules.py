"""How batches look after the closed intervals of a pipeline."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Literal

from pydantic import Field, field_validator

from sluice.specs.model.duration import Duration
from sluice.specs.model.outputs import DAY
from sluice.specs.model.spec import Spec

_DAILY = re.compile(r"[0-5]?[0-9] ([01]?[0-9]|2[0-3]) \* \* \*")


class BackfillRules(Spec):
    """How closed intervals are looked after by batch."""

    schedule: str | None = "0 6 * * *"
    """When yesterday's partition is backfilled, once a day (cron, UTC); null: only when asked."""
    mode: Literal["verify", "correct"] = "correct"
    """What the schedule does."""
    chunk: Duration = timedelta(days=92)
    """The longest range that one commit publishes; a longer backfill shows progress and is resumed between chunks."""
    repair: bool = True
    """Whether dirty intervals are recomputed without being asked."""
    repair_most: int = Field(default=10_000, ge=1)
    """How many dirty intervals are recomputed without being asked; if there are more, a person decides."""
    cross_check: Literal["duckdb", "none"] = "duckdb"
    """Who else makes the rows of some intervals when a transform in SQL is verified."""

    @field_validator("schedule")
    @classmethod
    def _is_daily(cls, schedule: str | None) -> str | None:
        if schedule is not None and not _DAILY.fullmatch(" ".join(schedule.split())):
            raise ValueError(
                f"{schedule!r} is no time of every day, such as '0 6 * * *' (cron): each run backfills the day before, "
                "and any other schedule would leave days out or take some twice"
            )
        return schedule

    @field_validator("chunk")
    @classmethod
    def _holds_an_interval(cls, chunk: timedelta) -> timedelta:
        if chunk < DAY:
            raise ValueError("it is less than a day, the longest interval")
        return chunk
