"""Error budgets and burn rates are what a count of single minutes gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.objectives.budget import (
    BURN_WINDOWS,
    FAST,
    SLOW,
    Burning,
    BurnRule,
    budget_standing,
    ratio_text,
    tally,
)
from sluice.objectives.log import BAD, GAP, Minute, ObservedSpan, continued
from sluice.specs.model.deadlines import Objective
from tests.twins.clock import START as NOW

MINUTE = timedelta(minutes=1)
WEEK = Objective(share=Decimal("99.9"), window=timedelta(days=7))
MINUTES = 7 * 24 * 60
TOLERANCE = 1e-9

Seen = Sequence[Minute | None]
"""What the round of each minute saw, the newest one last; None: there was no round."""


def recorded(seen: Seen) -> list[ObservedSpan]:
    """Return what rounds put on record, of which the first was so many minutes ago; now there is none."""
    spans: list[ObservedSpan] = []
    for number, minute in enumerate(seen):
        if minute is None:
            continue
        newest = spans[-1] if spans else None
        for each in continued(newest, minute, NOW - (len(seen) - number) * MINUTE):
            if newest is not None and each.begin == newest.begin:
                spans[-1] = each
            else:
                spans.append(each)
    return spans


def by_minute(seen: Seen) -> list[Minute]:
    """Return how each minute was: what a round saw holds until the next one, for three minutes at most."""
    rounds = [number for number, minute in enumerate(seen) if minute is not None]
    minutes = [Minute.UNKNOWN] * len(seen)
    for begin, end in pairwise(rounds):
        lasts = min(end - begin, GAP // MINUTE)
        minutes[begin : begin + lasts] = [seen[begin] or Minute.UNKNOWN] * lasts
    return minutes


def is_burning(rules: Sequence[BurnRule], bad: dict[str, int], budget: float) -> bool | None:
    """Return whether the budget burns; None where it is too close to the limit for a comparison of floats."""
    answers = []
    for rule in rules:
        rates = [
            bad[name] * MINUTES / (BURN_WINDOWS[name] / MINUTE) / budget / rule.rate for name in (rule.long, rule.short)
        ]
        if any(abs(rate - 1) < TOLERANCE for rate in rates):
            return None
        answers.append(min(rates) > 1)
    return any(answers)


runs = st.lists(
    st.tuples(st.sampled_from([*Minute, None]), st.sampled_from([1, 2, 3, 4, 7, 20, 60, 300, 3000])),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(runs=runs, share=st.sampled_from(["50", "95", "99", "99.9", "99.99"]))
def test_all_figures_are_those_of_a_count_of_minutes(runs: list[tuple[Minute | None, int]], share: str) -> None:
    seen: Seen = [minute for minute, length in runs for _ in range(length)]
    minutes = [Minute.UNKNOWN] * max(0, MINUTES - len(seen)) + by_minute(seen)[-MINUTES:]
    standing = budget_standing(WEEK.model_copy(update={"share": Decimal(share)}), recorded(seen), NOW)
    count = {minute: minutes.count(minute) for minute in Minute}
    bad = sum(count[minute] for minute in BAD)
    window = standing.window
    assert (window.good, window.bad) == (count[Minute.GOOD] * MINUTE, bad * MINUTE)
    assert (window.unwanted, window.unknown) == (count[Minute.UNWANTED] * MINUTE, count[Minute.UNKNOWN] * MINUTE)
    known = count[Minute.GOOD] + bad
    assert window.ratio == (pytest.approx(count[Minute.GOOD] / known) if known else None)
    budget = float(1 - Decimal(share) / 100) * (MINUTES - count[Minute.UNWANTED])
    if not budget:
        assert standing.remaining_ratio is None
        assert set(standing.burn.values()) == {None}
        return
    assert standing.remaining / MINUTE == pytest.approx(budget - bad, abs=1e-6)
    assert standing.remaining_ratio == pytest.approx(1 - bad / budget, abs=1e-6)
    lately = {name: sum(m in BAD for m in minutes[-(length // MINUTE) :]) for name, length in BURN_WINDOWS.items()}
    for name, length in BURN_WINDOWS.items():
        spent = lately[name] / budget
        assert (standing.burn[name] or 0) * (length / WEEK.window) == pytest.approx(spent, abs=1e-6), name
    for rules, answer in ((FAST, standing.fast), (SLOW, standing.slow)):
        burns = is_burning(rules, lately, budget)
        unseen = any(
            2 * minutes[-(BURN_WINDOWS[rule.short] // MINUTE) :].count(Minute.UNKNOWN) * MINUTE
            > BURN_WINDOWS[rule.short]
            for rule in rules
        )
        expected = Burning.YES if burns else Burning.UNKNOWN if unseen else Burning.NO
        assert burns is None or answer is expected


MONTH = Objective(share=Decimal("99.9"))
GOOD_MONTH = ObservedSpan(NOW - timedelta(days=31), NOW - timedelta(days=1), Minute.GOOD)


def lasting(bad: timedelta, good_since: timedelta = timedelta()) -> list[ObservedSpan]:
    """Return a month that was good but for a time that ended so long ago."""
    begin, end = NOW - bad - good_since, NOW - good_since
    spans = [ObservedSpan(NOW - timedelta(days=31), begin, Minute.GOOD), ObservedSpan(begin, end, Minute.STALE)]
    return [*spans, ObservedSpan(end, NOW, Minute.GOOD)]


def test_a_whole_bad_hour_burns_a_thousandfold_and_spends_more_than_a_month_allows() -> None:
    standing = budget_standing(MONTH, lasting(timedelta(hours=1)), NOW)
    assert standing.budget == timedelta(minutes=43, seconds=12)
    assert standing.remaining == -timedelta(minutes=16, seconds=48)
    assert standing.burn["1h"] == pytest.approx(1000)
    assert (standing.fast, standing.slow) == (Burning.YES, Burning.YES)
    assert standing.bad_since == NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    ("bad", "ago", "fast", "slow"),
    [
        ("50s", "0s", Burning.NO, Burning.NO),  # 0.86 min in an hour is a rate of 14.4
        ("53s", "0s", Burning.YES, Burning.NO),
        ("120s", "900s", Burning.NO, Burning.NO),  # over after the short windows have passed
        ("150s", "900s", Burning.YES, Burning.NO),  # six-fold over six hours, and still within the last 30 minutes
        ("150s", "1800s", Burning.NO, Burning.NO),
        ("250s", "3600s", Burning.NO, Burning.NO),  # 4.32 min in three days are a rate of one
        ("262s", "3600s", Burning.NO, Burning.YES),
        ("600s", "21600s", Burning.NO, Burning.NO),
    ],
)
def test_an_alarm_needs_a_long_window_to_matter_and_a_short_one_to_last(
    bad: str, ago: str, fast: Burning, slow: Burning
) -> None:
    spent, since = (timedelta(seconds=int(text.removesuffix("s"))) for text in (bad, ago))
    standing = budget_standing(MONTH, lasting(spent, since), NOW)
    assert (standing.fast, standing.slow) == (fast, slow)


def test_an_alarm_began_with_the_oldest_bad_time_of_three_days() -> None:
    day = timedelta(days=1)
    long_ago = ObservedSpan(NOW - 20 * day, NOW - 19 * day, Minute.STALE)
    first = ObservedSpan(NOW - 2 * day, NOW - 2 * day + MINUTE, Minute.INCORRECT)
    newest = ObservedSpan(NOW - MINUTE, NOW, Minute.STALE)
    assert budget_standing(MONTH, [newest, long_ago, first], NOW).bad_since == first.begin
    assert budget_standing(MONTH, [long_ago], NOW).bad_since is None


def test_time_that_nobody_saw_is_neither_good_nor_bad_and_is_shown() -> None:
    standing = budget_standing(MONTH, [GOOD_MONTH], NOW)
    assert standing.window.unknown == timedelta(days=1)
    assert standing.window.ratio == 1.0
    assert standing.remaining == standing.budget == timedelta(minutes=43, seconds=12)
    assert (standing.fast, standing.slow) == (Burning.UNKNOWN, Burning.UNKNOWN)
    nothing = budget_standing(MONTH, [], NOW)
    assert (nothing.window.ratio, nothing.window.unknown) == (None, timedelta(days=30))


def test_time_in_which_nothing_was_to_run_is_in_no_budget() -> None:
    spans = [ObservedSpan(NOW - timedelta(days=31), NOW - timedelta(days=3), Minute.UNWANTED)]
    standing = budget_standing(MONTH, [*spans, ObservedSpan(NOW - timedelta(days=3), NOW, Minute.GOOD)], NOW)
    assert standing.budget == timedelta(days=3) / 1000
    idle = budget_standing(MONTH, [ObservedSpan(NOW - timedelta(days=31), NOW, Minute.UNWANTED)], NOW)
    assert (idle.remaining_ratio, idle.burn["1h"], idle.fast) == (None, None, Burning.NO)
    assert idle.as_dict()["burn_rates"]["3d"] is None


def test_a_clock_that_was_set_back_changes_nothing_and_a_late_round_leaves_a_gap_behind_three_minutes() -> None:
    before = ObservedSpan(NOW - 5 * MINUTE, NOW, Minute.GOOD)
    assert continued(before, Minute.STALE, NOW - MINUTE) == ()
    assert continued(before, Minute.STALE, NOW) == ()
    late = NOW + GAP + timedelta(seconds=1)
    longer, new = continued(before, Minute.GOOD, late)
    assert (longer, new) == (replace(before, end=NOW + GAP), ObservedSpan(late, late, Minute.GOOD))
    gap = tally([longer, ObservedSpan(late, late + MINUTE, Minute.GOOD)], NOW, late + MINUTE)
    assert gap.unknown == late - NOW - GAP


def test_what_was_bad_at_every_round_is_bad_though_rounds_are_late() -> None:
    spans: list[ObservedSpan] = []
    for number in range(100):
        found = continued(spans[-1] if spans else None, Minute.STALE, NOW + number * (GAP + timedelta(seconds=20)))
        spans = [*spans[: len(spans) - len(found) + 1], *found]
    end = spans[-1].begin
    assert tally(spans, NOW, end).bad > 0.89 * (end - NOW)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(None, ""), (1.0, "100.000 %"), (0.999, "99.900 %"), (0.9989999, "99.899 %"), (-0.5, "-50.000 %")],
)
def test_a_ratio_is_rounded_down(ratio: float | None, text: str) -> None:
    assert ratio_text(ratio) == text
