"""Objectives of a catalog: the minute's round over all of them, and how each stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sluice.alerts.conditions import FleetConditions
from sluice.alerts.incidents import Key
from sluice.alerts.rounds import Condition
from sluice.objectives.budget import FAST, SLOW, BudgetStanding, Burning, BurnRule, budget_standing
from sluice.objectives.judging import minute_of
from sluice.objectives.log import ObjectiveLog
from sluice.specs.catalog.objectives import DeclaredObjective
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.deadlines import LONGEST_WINDOW, format_share
from sluice.specs.model.duration import format_duration
from sluice.streams.health.fleet import StreamStatus
from sluice.wording import span


@dataclass(frozen=True)
class OutputObjective:
    """An output with an objective, and how it stands."""

    declared: DeclaredObjective
    standing: BudgetStanding


def output_objectives(
    declared: Iterable[DeclaredObjective], log: ObjectiveLog, now: datetime
) -> Sequence[OutputObjective]:
    """Return how outputs stand at a time (UTC), the one with the least budget left first.

    Raises:
        UnreachableError: the record could not be queried, which is not asked for no output.
    """
    if not (each_declared := tuple(declared)):
        return ()
    spans = log.since(now - LONGEST_WINDOW)
    found = [OutputObjective(d, budget_standing(d.objective, spans.get(d.name, ()), now)) for d in each_declared]
    return sorted(found, key=lambda each: (_left(each.standing), each.declared.name))


def _left(standing: BudgetStanding) -> float:
    return 1.0 if standing.remaining_ratio is None else standing.remaining_ratio


def observe_objectives(
    declared: Collection[DeclaredObjective],
    statuses: Iterable[StreamStatus],
    incidents: Collection[Key],
    log: ObjectiveLog,
    now: datetime,
) -> FleetConditions:
    """Put on record how each output is, and return which budgets burn, and which no longer do.

    Args:
        declared: the objectives.
        statuses: of all streams.
        incidents: subject and class of every open one.
        log: the record.
        now: the present (UTC).

    Raises:
        UnreachableError: the record could not be queried or written.
    """
    found = FleetConditions()
    if not declared:
        return found
    by_stream = {status.stream: status for status in statuses}
    seen = {d.name: minute_of(d, by_stream[d.stream], incidents, now) for d in declared if d.stream in by_stream}
    log.observe(seen, now)
    for output in output_objectives(declared, log, now):
        for burning, alert_class, rules in (
            (output.standing.fast, AlertClass.FAST_BURN, FAST),
            (output.standing.slow, AlertClass.SLOW_BURN, SLOW),
        ):
            key: Key = f"output {output.declared.name}", alert_class
            if burning is Burning.YES:
                found.conditions[key] = _condition(key, output, rules, now)
            elif burning is Burning.NO:
                found.over[key] = f"It burns no longer. {_left_in_words(output.standing)}"
    return found


def _condition(key: Key, output: OutputObjective, rules: Sequence[BurnRule], now: datetime) -> Condition:
    declared, standing = output.declared, output.standing
    burns = ", ".join(
        f"{standing.burn[rule.long] or 0:.1f}x over {rule.long} and {standing.burn[rule.short] or 0:.1f}x over "
        f"{rule.short} (from {rule.rate:g}x on it is reported)"
        for rule in rules
    )
    share, window = format_share(declared.objective.share), format_duration(declared.objective.window)
    fast = key[1] is AlertClass.FAST_BURN
    return Condition(
        subject=key[0],
        alert_class=key[1],
        what=f"Output {declared.name} {'quickly ' if fast else ''}uses up its error budget ({share} over {window})",
        why=f"It was stale or incorrect too long. Burn rate: {burns}. {_left_in_words(standing)}",
        what_to_do=f"see why its stream is behind or its rows are wrong: sluice streams show {declared.unit}",
        unit=declared.unit,
        owner=declared.owner,
        since=standing.bad_since or now,
    )


def _left_in_words(standing: BudgetStanding) -> str:
    budget, left = span(standing.budget.total_seconds()), standing.remaining.total_seconds()
    rest = f"{span(left)} are left" if left >= 0 else f"nothing is left, and {span(-left)} more were bad"
    unknown = standing.window.unknown.total_seconds()
    aside = f" {span(unknown)} of the window are unknown." if unknown else ""
    return f"Of its error budget of {budget} {rest}.{aside}"
