"""Why a computation from the same records gives other rows: what a comparison that fails tries out."""

from __future__ import annotations

from sluice.wording import ExplainedEnum


class Conviction(ExplainedEnum):
    """What is wrong with a transform, found by computing one interval in several ways."""

    NOT_REPEATABLE = (
        "not_repeatable",
        "the same records, read in the same way, give other rows each time",
        "mend the transform: it reads a clock, a random number or an input that changes",
    )
    ORDER_DEPENDENT = (
        "order_dependent",
        "the rows depend on the order in which records are read",
        "order by columns that leave no tie, and sum decimals or whole numbers instead of doubles",
    )
    LOOKBACK_TOO_SHORT = (
        "lookback_too_short",
        "the rows are made of records further away than `lookback` and `lookahead` declare",
        "declare more under the output, then recompute what is settled",
    )
    CUT_DEPENDENT = (
        "cut_dependent",
        "the rows of an interval depend on which other intervals are computed with it",
        "partition by time, or declare `lookback` and `lookahead`; to rank or total intervals, write `scope: interval`",
    )
    DUCKDB_DIFFERS = (
        "duckdb_differs",
        "DuckDB makes other rows of the same records by the same SELECT",
        "find out which is right; if both are, write `cross_check: none` under `backfill`",
    )

    @property
    def sentence(self) -> str:
        """Its name, its meaning, and what to do, without a full stop."""
        return f"{self.value}: {self.meaning}; {self.what_to_do}"
