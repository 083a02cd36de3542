"""What a user asks of a backfill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sluice.errors import SpecError
from sluice.intervals.alignment import Interval, interval_of
from sluice.intervals.rows import LedgerRow


class Mode(StrEnum):
    """What a backfill does with what it computes."""

    VERIFY = "verify"  # compares, publishes nothing
    CORRECT = "correct"  # brings late records into what is verified
    RECOMPUTE = "recompute"  # publishes what today's code gives
    TRY = "try"  # compares what today's code gives with what other code has published, publishes nothing

    @property
    def publishes(self) -> bool:
        """Whether it may change what readers see."""
        return self in (Mode.CORRECT, Mode.RECOMPUTE)


class Only(StrEnum):
    """Which intervals of the range a recompute takes."""

    ALL = "all"
    DIRTY = "dirty"
    STALE = "stale"


class StaticChoice(StrEnum):
    """Which content of static inputs that change a backfill computes with."""

    RECORDED = "recorded"  # what each interval was made with
    NEWEST = "newest"  # what they hold now


@dataclass(frozen=True)
class Request:
    """A backfill as it is asked for.

    Attributes:
        pipeline: its name.
        range: aligned to the pipeline's intervals; those that are closed are taken.
        mode: what to do with the result.
        by: who asks.
        why: the reason on record; a recompute of intervals that are neither dirty nor stale needs one.
        only: which intervals of the range; anything but `all` needs mode `recompute`.
        accepts: the backfill whose quality gate failed, and whose findings are to be published all the same, for the
            reason `why`; empty for none.
        replays: the case whose records are read again, those included that did not decode when they came; empty for
            none.
        static: which content of static inputs that change; the newest is for a recompute alone.
    """

    pipeline: str
    range: Interval
    mode: Mode
    by: str
    why: str = ""
    only: Only = Only.ALL
    accepts: str = ""
    replays: str = ""
    static: StaticChoice = StaticChoice.RECORDED

    def static_of(self, row: LedgerRow) -> Mapping[str, str]:
        """Return the digests of the changing static inputs that an interval is computed with; of others the newest.

        `verify` and `correct` take those of its base: what is compared, and what a correction adds to.
        """
        if self.static is StaticChoice.NEWEST:
            return {}
        written = row.base if self.mode in (Mode.VERIFY, Mode.CORRECT) else row.current
        return {} if written is None else written.static


def range_of(start: datetime, end: datetime, length: timedelta) -> Interval:
    """Return the range `[start, end)`.

    Raises:
        SpecError: it is empty, has no time zone, cuts an interval, or reaches the end of the calendar.
    """
    if start.tzinfo is None or end.tzinfo is None:
        raise SpecError(f"{start} to {end} has no time zone.", fix="write the offset, as in 2013-01-01T00:00Z.")
    if end <= start:
        raise SpecError(f"the range {start:%FT%RZ} to {end:%FT%RZ} is empty: the instant `to` is not in it.")
    for name, instant in (("from", start), ("to", end)):
        try:
            held = interval_of(instant, length)
        except OverflowError:
            raise SpecError(f"`{name}` {instant:%FT%TZ} is too near to an end of the calendar.") from None
        if held.start != instant:
            raise SpecError(
                f"`{name}` {instant:%FT%TZ} lies inside the interval {held.start:%FT%RZ} to {held.end:%FT%RZ}.",
                fix="a backfill takes whole intervals: move it to one of these bounds.",
            )
    return Interval(start.astimezone(UTC), end.astimezone(UTC))
