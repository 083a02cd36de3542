"""A transform in SQL in the dialect of DuckDB, so that a second engine can say what its rows are."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from sluice.specs.code.select import Select
from sluice.specs.code.select_rules import time_windows, window_lengths

_MICROSECOND = timedelta(microseconds=1)
_MEANS_ANOTHER_THING = frozenset(
    (
        "approx_count_distinct", "approx_percentile", "percentile_approx", "hash", "xxhash64", "first", "last",
        "first_value", "last_value", "any_value", "collect_list", "collect_set", "array_agg", "max_by", "min_by",
        "timestampdiff", "months_between", "date_format", "to_timestamp", "from_unixtime", "format_number",
        "regexp_extract", "regexp_extract_all", "regexp_replace", "rlike", "split", "mode", "bround", "to_json",
    )
)  # fmt: skip
"""Functions of Spark's that DuckDB has too, with other rounding, order, patterns or estimates."""


class UntranslatableError(Exception):
    """DuckDB has nothing that means the same."""


def in_duckdb(select: Select) -> str:
    """Return the SELECT as DuckDB understands it.

    `window(time, ...)` becomes a list of windows that is unnested beside the tables.

    Raises:
        UntranslatableError: it uses what only Spark has, or what means another thing in DuckDB.
    """
    for token, after in zip(select.tokens, select.tokens[1:], strict=False):
        if after.text == "(" and (name := token.text.lower()) in (*_MEANS_ANOTHER_THING, "session_window"):
            raise UntranslatableError(f"{name}() means another thing in DuckDB")
    tree = select.tree.copy()
    for call in list(time_windows(tree)):
        _unnest(call)
    try:
        return tree.sql("duckdb", identify=True, comments=False, unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise UntranslatableError(f"it cannot be written for DuckDB: {error}") from error


def _unnest(call: exp.Anonymous) -> None:
    """Replace a call of `window` by a column, and let its SELECT make that column."""
    query = call.find_ancestor(exp.Select)
    length, slide, offset = window_lengths(call)
    if query is None or length is None or query.args.get("from_") is None:
        raise UntranslatableError("its windows are not written as text")
    step = slide or length
    time = call.expressions[0].copy()
    windows = _windows(time, length // _MICROSECOND, step // _MICROSECOND, (offset or timedelta()) // _MICROSECOND)
    call.replace(exp.column("window"))
    if "window_of_time" not in (join.this.alias for join in query.args.get("joins") or ()):
        made = exp.select(exp.alias_(exp.func("unnest", windows), "window", quoted=True))
        lateral = exp.Lateral(this=made.subquery(), alias=exp.TableAlias(this=exp.to_identifier("window_of_time")))
        query.append("joins", exp.Join(this=lateral))


def _windows(time: exp.Expr, length: int, step: int, offset: int) -> exp.Expr:
    """Return a list of structs with `start` and `end`: all windows that hold a time; none for no time."""
    micros = exp.func("epoch_us", time).sql("duckdb", identify=True)
    newest = f"({micros} - (({micros} - {offset}) % {step} + {step}) % {step})"
    bounds = f"{{'start': make_timestamptz(s), 'end': make_timestamptz(s + {length})}}"
    starts = f"list_filter(range({newest}, {micros} - {length}, -{step}), s -> s > {micros} - {length})"
    return exp.maybe_parse(f"list_transform({starts}, s -> {bounds})", dialect="duckdb")
