"""Finding out what is wrong with a transform whose rows differ: one interval is computed in several ways."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from pyspark.sql import DataFrame

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.convictions import Conviction
from sluice.intervals.entries import NO_ROWS, Content
from sluice.settling.rules import SettlingRules
from sluice.spark.records.content import content_of
from sluice.spark.records.pipeline import partition_column
from sluice.spark.tables.source_records import AS_DECLARED, Variation
from sluice.specs.model.outputs import IntervalsOutput

Computation = Callable[[Interval, Variation], DataFrame]
"""Computes the rows of a range of intervals, read in some way."""


def convict(
    compute: Computation, interval: Interval, output: IntervalsOutput, rules: SettlingRules
) -> Conviction | None:
    """Return what is wrong with a transform; None if none of the usual things is.

    Args:
        compute: see `Computation`.
        interval: whose rows differed.
        output: the table's declaration.
        rules: the pipeline's: how far it reads beyond an interval.
    """
    column, length = partition_column(output), output.interval_length

    def content(intervals: Interval = interval, variation: Variation = AS_DECLARED) -> Content:
        rows = compute(intervals, variation)
        return content_of(rows, column).get(interval.start, NO_ROWS)

    alone = content()
    if content() != alone:
        return Conviction.NOT_REPEATABLE
    if content(variation=Variation(shuffled=True)) != alone:
        return Conviction.ORDER_DEPENDENT
    further = [content(variation=Variation(breadth)) for breadth in _breadths(rules)]
    if any(found != alone for found in further):
        settled = any(one == next_one != alone for one, next_one in pairwise(further))
        return Conviction.LOOKBACK_TOO_SHORT if settled else Conviction.CUT_DEPENDENT
    if output.called_per_interval:
        return None
    among_others = Interval(interval.start - length, interval.end + length)
    return Conviction.CUT_DEPENDENT if content(among_others) != alone else None


def _breadths(rules: SettlingRules) -> list[int]:
    """Return how many times as far as declared to read: from two intervals to sixteen; none if nothing is declared."""
    furthest = max(rules.lookback, rules.lookahead)
    if not furthest:
        return []
    first = max(2, -(-2 * rules.length // furthest))
    return [first, 2 * first, 4 * first, 8 * first]
