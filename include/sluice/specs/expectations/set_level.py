"""The expectations about many rows that can be judged for each interval on its own, and those that only Sluice has.

Great Expectations has no names for what can only be said with the raw table, the interval's bounds or another table at
hand. Those are Sluice's own, with arguments declared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from sluice.specs.expectations.row_level import ROW_LEVEL
from sluice.specs.model.duration import Duration
from sluice.specs.model.spec import Name, Spec

OF_ROWS = frozenset({"expect_table_row_count_to_be_between", "expect_table_row_count_to_equal"})
"""About how many rows there are: volume."""

BETWEEN = frozenset(
    {
        "expect_table_row_count_to_be_between",
        "expect_column_max_to_be_between",
        "expect_column_mean_to_be_between",
        "expect_column_median_to_be_between",
        "expect_column_min_to_be_between",
        "expect_column_proportion_of_non_null_values_to_be_between",
        "expect_column_proportion_of_unique_values_to_be_between",
        "expect_column_stdev_to_be_between",
        "expect_column_sum_to_be_between",
        "expect_column_unique_value_count_to_be_between",
    }
)
"""About one number, which lies between bounds: only these can take them from history."""

UNIQUE = frozenset({"expect_column_values_to_be_unique", "expect_compound_columns_to_be_unique"})

OF_SETS = frozenset({"expect_column_distinct_values_to_contain_set", "expect_column_distinct_values_to_equal_set"})


class Own(StrEnum):
    """The names that only Sluice has."""

    FRESH = "expect_interval_to_reach_its_end"
    """Freshness: the last record of the interval lies close before its end."""
    OFFSETS = "expect_interval_offsets_to_be_complete"
    """Completeness: between the first and the last record, every offset is in the raw table exactly once."""
    COUNTED = "expect_interval_records_to_be_counted"
    """Completeness: a column adds up to the number of good records."""
    REFERENCE = "expect_column_values_to_be_in_reference"
    """Referential: the values of a column are those of another table's."""


class FreshArguments(Spec):
    """Of `expect_interval_to_reach_its_end`."""

    within: Duration
    """The last event time is less than this before the interval's end."""


class OffsetsArguments(Spec):
    """Of `expect_interval_offsets_to_be_complete`."""

    max_missing: int = Field(default=0, ge=0)
    """So many offsets may be missing: a transaction's markers and compacted records have some, too."""


class CountedArguments(Spec):
    """Of `expect_interval_records_to_be_counted`."""

    column: Annotated[str, StringConstraints(min_length=1)]
    """The column whose sum is the number of records; `*` where each row is a record."""


class ReferenceArguments(Spec):
    """Of `expect_column_values_to_be_in_reference`."""

    column: Annotated[str, StringConstraints(min_length=1)]
    static: str | None = None
    """A static input of the pipeline."""
    table: Name | None = None
    """An output table of the project, as it is when it is checked."""
    reference_column: str | None = None
    """The column there; by default of the same name."""
    mostly: float = Field(default=1, gt=0, le=1)

    @model_validator(mode="after")
    def _one_reference(self) -> ReferenceArguments:
        if (self.static is None) == (self.table is None):
            raise ValueError("say `static` or `table`, one of the two")
        return self


OWN_ARGUMENTS: Mapping[str, type[Spec]] = MappingProxyType(
    {
        Own.FRESH: FreshArguments,
        Own.OFFSETS: OffsetsArguments,
        Own.COUNTED: CountedArguments,
        Own.REFERENCE: ReferenceArguments,
    }
)

PER_INTERVAL = ROW_LEVEL | OF_ROWS | BETWEEN | UNIQUE | OF_SETS | frozenset(map(str, Own))
"""What `on: [interval]` takes. Of single rows, `mostly` is a share of the interval's."""
