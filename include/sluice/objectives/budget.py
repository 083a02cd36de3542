"""The error budget of an output and how fast it burns, as a pure fold over spans.

The budget is the share of the wanted time in the window that may be bad. A burn rate of 1 uses it up in one window:

    burn rate over a time = (bad time in it / budget) / (its length / the window)

Unknown time burns nothing and is in the budget, so a burn rate is a lower bound; it is no part of the achieved share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sluice.objectives.log import BAD, Minute, ObservedSpan
from sluice.specs.model.deadlines import Objective, format_share
from sluice.specs.model.duration import format_duration

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
BURN_WINDOWS: Mapping[str, timedelta] = {
    "5m": 5 * _MINUTE,
    "30m": 30 * _MINUTE,
    "1h": _HOUR,
    "6h": 6 * _HOUR,
    "3d": 3 * _DAY,
}


@dataclass(frozen=True)
class BurnRule:
    """The budget burns at least so fast over a long time, which shows that it matters, and over a short, still."""

    rate: float
    long: str
    short: str


FAST = (BurnRule(14.4, "1h", "5m"), BurnRule(6.0, "6h", "30m"))
SLOW = (BurnRule(1.0, "3d", "6h"),)


class Burning(StrEnum):
    """Whether a budget burns, by some rules."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"  # most of the last minutes was not seen


@dataclass(frozen=True)
class WindowTally:
    """How much of a time an output was in each state; together all of it."""

    good: timedelta
    bad: timedelta
    unwanted: timedelta
    unknown: timedelta

    @property
    def wanted(self) -> timedelta:
        """What counts."""
        return self.good + self.bad + self.unknown

    @property
    def ratio(self) -> float | None:
        """The good share of what is known, 0-1; None if nothing is."""
        known = self.good + self.bad
        return self.good / known if known else None


def tally(spans: Sequence[ObservedSpan], begin: datetime, end: datetime) -> WindowTally:
    """Add up the time from `begin` to `end`; time that no span covers is unknown."""
    times = dict.fromkeys(Minute, timedelta())
    for span in spans:
        times[span.minute] += max(timedelta(), min(span.end, end) - max(span.begin, begin))
    bad = sum((times[minute] for minute in BAD), timedelta())
    seen = times[Minute.GOOD] + bad + times[Minute.UNWANTED]
    return WindowTally(times[Minute.GOOD], bad, times[Minute.UNWANTED], max(timedelta(), end - begin - seen))


@dataclass(frozen=True)
class BudgetStanding:
    """How an output stands to its objective.

    Attributes:
        objective: what is declared.
        window: how its window was, up to now.
        burn: the burn rate by the names of `BURN_WINDOWS`; None: no time counted, so there is no budget.
        fast: whether the budget is gone within days.
        slow: whether it is gone before the window is over.
        bad_since: begin of the oldest bad span of the last three days (UTC); None if there is none.
    """

    objective: Objective
    window: WindowTally
    burn: Mapping[str, float | None]
    fast: Burning
    slow: Burning
    bad_since: datetime | None

    @property
    def budget(self) -> timedelta:
        """How long it may be bad in a window."""
        return self.objective.allowed * self.window.wanted

    @property
    def remaining(self) -> timedelta:
        """What is left of the budget; negative if more was bad."""
        return self.budget - self.window.bad

    @property
    def remaining_ratio(self) -> float | None:
        """The share of the budget that is left, 1 or less; None without a budget."""
        return 1 - self.window.bad / self.budget if self.budget else None

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values: shares 0-1, and seconds."""
        window = self.window
        return {
            "objective": format_share(self.objective.share),
            "window": format_duration(self.objective.window),
            "counts": self.objective.counts,
            "ratio": window.ratio,
            "good_seconds": window.good.total_seconds(),
            "bad_seconds": window.bad.total_seconds(),
            "unknown_seconds": window.unknown.total_seconds(),
            "unwanted_seconds": window.unwanted.total_seconds(),
            "budget_seconds": self.budget.total_seconds(),
            "remaining_seconds": self.remaining.total_seconds(),
            "remaining_ratio": self.remaining_ratio,
            "burn_rates": dict(self.burn),
            "fast_burn": self.fast.value,
            "slow_burn": self.slow.value,
        }


def ratio_text(ratio: float | None) -> str:
    """Return a ratio in percent, rounded down, so that a missed objective never looks met; empty if it is not known."""
    return "" if ratio is None else f"{math.floor(ratio * 100_000 + 1e-6) / 1000:.3f} %"


def budget_standing(objective: Objective, spans: Sequence[ObservedSpan], now: datetime) -> BudgetStanding:
    """Return how an output stands at a time (UTC), by its spans in any order, none of which overlap."""
    window = tally(spans, now - objective.window, now)
    budget = objective.allowed * window.wanted
    lately = {name: tally(spans, now - length, now) for name, length in BURN_WINDOWS.items()}
    burn = {
        name: (seen.bad / budget) * (objective.window / BURN_WINDOWS[name]) if budget else None
        for name, seen in lately.items()
    }
    bad = [span.begin for span in spans if span.minute in BAD and span.end > now - BURN_WINDOWS["3d"]]
    fast, slow = (_burning(rules, burn, lately) for rules in (FAST, SLOW))
    return BudgetStanding(objective, window, burn, fast, slow, min(bad, default=None))


def _burning(rules: Sequence[BurnRule], burn: Mapping[str, float | None], lately: Mapping[str, WindowTally]) -> Burning:
    if any((burn[rule.long] or 0.0) >= rule.rate and (burn[rule.short] or 0.0) >= rule.rate for rule in rules):
        return Burning.YES
    unseen = any(2 * lately[rule.short].unknown > BURN_WINDOWS[rule.short] for rule in rules)
    return Burning.UNKNOWN if unseen else Burning.NO
