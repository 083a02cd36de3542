"""Expectations about single rows, as Spark columns: true where a row is unexpected, false elsewhere, never null.

They mean what Great Expectations means by them (`make bench NAME=agreement` compares the two row by row): a null is no
unexpected value, `ignore_row_if` and `row_condition` take rows out, and what compares to null is not unexpected. LIKE
patterns are PostgreSQL's: upper and lower case differ, and a backslash escapes unless `escape` names another character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from itertools import combinations
from operator import and_, or_
from typing import Any, cast

from pyspark.sql import Column, types
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import IntegralType, StructType

from sluice.errors import SpecError
from sluice.spark.records.strftime import reads_as
from sluice.specs.expectations.model import Expectation
from sluice.specs.expectations.row_level import FILTER_EXAMPLE, FILTER_QUERY

Arguments = Mapping[str, Any]
Holds = Callable[[Column, Arguments], Column]


def unexpected(expectation: Expectation, schema: StructType) -> Column:
    """Return whether a row is unexpected.

    Args:
        expectation: one about single rows (`sluice.specs.expectations.row_level`).
        schema: the columns of the rows.

    Raises:
        SpecError: it is none, or an argument is none that it can have.
    """
    name, given = expectation.expect, cast(Arguments, expectation.kwargs)
    if name in _OF_VALUES:
        broken = considered(expectation) & ~_OF_VALUES[name](_column(str(given["column"])), given)
    elif name in _OF_NULLS:
        broken = ~_OF_NULLS[name](_column(str(given["column"])))
    elif name in _OF_PAIRS:
        one, other = _column(str(given["column_A"])), _column(str(given["column_B"]))
        broken = considered(expectation) & ~_OF_PAIRS[name](one, other, given)
    elif name in _OF_LISTS:
        names = [str(each) for each in given["column_list"]]
        broken = considered(expectation) & ~_OF_LISTS[name](names, given, schema)
    elif name in _OF_TYPES:
        wanted = _OF_TYPES[name](given)
        broken = F.lit(not isinstance(schema[str(given["column"])].dataType, wanted))
    elif name == "unexpected_rows_expectation":
        broken = F.expr(f"({_condition(str(given['unexpected_rows_query']))})")
    else:
        raise SpecError(f"{name} is not about single rows.", fix="leave `record` out of its `on`.")
    if condition := given.get("row_condition"):
        broken = F.expr(f"({condition})") & broken
    return F.coalesce(broken, F.lit(False))


def considered(expectation: Expectation) -> Column:
    """Return whether a row counts among those that an expectation checks, of which `mostly` is a share."""
    name, given = expectation.expect, cast(Arguments, expectation.kwargs)
    if name in _OF_VALUES or name == "expect_column_values_to_be_unique":
        return _column(str(given["column"])).isNotNull()
    names = (given["column_A"], given["column_B"]) if name in _OF_PAIRS else given.get("column_list", ())
    missing = [_column(str(each)).isNull() for each in names]
    ignored = given.get("ignore_row_if", "all_values_are_missing") if missing else "never"
    if ignored in ("both_values_are_missing", "all_values_are_missing"):
        return ~reduce(and_, missing)
    if ignored in ("either_value_is_missing", "any_value_is_missing"):
        return ~reduce(or_, missing)
    return F.lit(True)


def _column(name: str) -> Column:
    return F.col(f"`{name}`")


def _between(value: Column, given: Arguments) -> Column:
    low, high = given.get("min_value"), given.get("max_value")
    bounds = []
    if low is not None:
        bounds.append(value > F.lit(low) if given.get("strict_min") else value >= F.lit(low))
    if high is not None:
        bounds.append(value < F.lit(high) if given.get("strict_max") else value <= F.lit(high))
    return reduce(and_, bounds)


def _in_set(value: Column, given: Arguments) -> Column:
    allowed = given.get("value_set")
    return F.lit(True) if allowed is None else value.isin(allowed)


def _match_regexes(value: Column, given: Arguments) -> Column:
    together = and_ if given.get("match_on") == "all" else or_
    return reduce(together, (value.rlike(regex) for regex in given["regex_list"]))


def _like(value: Column, given: Arguments) -> Column:
    return _is_like(value, str(given["like_pattern"]), given)


def _like_some(value: Column, given: Arguments) -> Column:
    together = and_ if given.get("match_on") == "all" else or_
    return reduce(together, (_is_like(value, pattern, given) for pattern in given["like_pattern_list"]))


def _like_none(value: Column, given: Arguments) -> Column:
    return ~reduce(or_, (_is_like(value, pattern, given) for pattern in given["like_pattern_list"]))


def _is_like(value: Column, pattern: str, given: Arguments) -> Column:
    return F.like(value, F.lit(pattern), F.lit(str(given.get("escape") or "\\")))


def _greater(one: Column, other: Column, given: Arguments) -> Column:
    return (one >= other) | one.eqNullSafe(other) if given.get("or_equal") else one > other


def _pair_in_set(one: Column, other: Column, given: Arguments) -> Column:
    pairs = given.get("value_pairs_set")
    if pairs is None:
        return one == other  # so Great Expectations has it
    return reduce(or_, (one.eqNullSafe(F.lit(a)) & other.eqNullSafe(F.lit(b)) for a, b in pairs), F.lit(False))


def _sum(names: list[str], given: Arguments, schema: StructType) -> Column:
    parts = [F.coalesce(_column(name), F.lit(0)) for name in names]
    exact = (  # a sum of longs could overflow, and decimals of their width cannot
        part.cast("decimal(38,0)") if isinstance(schema[name].dataType, IntegralType) else part
        for name, part in zip(names, parts, strict=True)
    )
    total: Column = reduce(lambda a, b: a + b, exact) == F.lit(given["sum_total"])
    return total


def _all_equal(names: list[str], _: Arguments, __: StructType) -> Column:
    first, *others = map(_column, names)
    return reduce(and_, (first.eqNullSafe(other) for other in others), F.lit(True))


def _all_differ(names: list[str], _: Arguments, __: StructType) -> Column:
    pairs = combinations(map(_column, names), 2)
    return ~reduce(or_, (one.eqNullSafe(other) for one, other in pairs))


def _type(name: str) -> type[types.DataType]:
    spark_type = getattr(types, name, None)
    if not (isinstance(spark_type, type) and issubclass(spark_type, types.DataType)):
        raise SpecError(f"Spark has no type {name!r}.", fix="use a name such as LongType, StringType, TimestampType.")
    return spark_type


def _condition(query: str) -> str:
    """Return the condition of a query that only picks rows out.

    Raises:
        SpecError: it does more than that.
    """
    matched = re.fullmatch(FILTER_QUERY, query)
    if matched is None:
        raise SpecError(
            "The query of an unexpected_rows_expectation does more than to pick out rows, so no record can be judged.",
            fix=f"write `{FILTER_EXAMPLE}`, or leave `record` out of its `on`.",
        )
    return matched["condition"]


_OF_VALUES: Mapping[str, Holds] = {
    "expect_column_values_to_be_between": _between,
    "expect_column_values_to_be_in_set": _in_set,
    "expect_column_distinct_values_to_be_in_set": _in_set,
    "expect_column_values_to_not_be_in_set": lambda value, given: ~value.isin(given["value_set"]),
    "expect_column_value_lengths_to_be_between": lambda value, given: _between(F.length(value), given),
    "expect_column_value_lengths_to_equal": lambda value, given: F.length(value) == given["value"],
    "expect_column_values_to_match_regex": lambda value, given: value.rlike(given["regex"]),
    "expect_column_values_to_not_match_regex": lambda value, given: ~value.rlike(given["regex"]),
    "expect_column_values_to_match_regex_list": _match_regexes,
    "expect_column_values_to_not_match_regex_list": lambda value, given: (
        ~_match_regexes(value, {"regex_list": given["regex_list"]})
    ),
    "expect_column_values_to_match_like_pattern": _like,
    "expect_column_values_to_not_match_like_pattern": lambda value, given: ~_like(value, given),
    "expect_column_values_to_match_like_pattern_list": _like_some,
    "expect_column_values_to_not_match_like_pattern_list": _like_none,
    "expect_column_values_to_match_strftime_format": lambda value, given: reads_as(value, given["strftime_format"]),
}
_OF_NULLS: Mapping[str, Callable[[Column], Column]] = {
    "expect_column_values_to_not_be_null": Column.isNotNull,
    "expect_column_values_to_be_null": Column.isNull,
}
_OF_PAIRS: Mapping[str, Callable[[Column, Column, Arguments], Column]] = {
    "expect_column_pair_values_a_to_be_greater_than_b": _greater,
    "expect_column_pair_values_to_be_equal": lambda one, other, _: one.eqNullSafe(other),
    "expect_column_pair_values_to_be_in_set": _pair_in_set,
}
_OF_LISTS: Mapping[str, Callable[[list[str], Arguments, StructType], Column]] = {
    "expect_multicolumn_sum_to_equal": _sum,
    "expect_multicolumn_values_to_be_equal": _all_equal,
    "expect_select_column_values_to_be_unique_within_record": _all_differ,
}
_OF_TYPES: Mapping[str, Callable[[Arguments], type[types.DataType] | tuple[type[types.DataType], ...]]] = {
    "expect_column_values_to_be_of_type": lambda given: _type(str(given["type_"])),
    "expect_column_values_to_be_in_type_list": lambda given: tuple(_type(str(name)) for name in given["type_list"]),
}
