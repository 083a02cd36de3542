"""A suite that a person may take: what has held so far, as expectations with the reason for each.

It proposes what the published intervals show, never what is true by accident of a few rows: keys, columns that are
never null, small sets of values, signs, and the number of rows of an interval. Its user reviews and edits it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import yaml

from sluice.quality.measured import number
from sluice.specs.model.outputs import IntervalsOutput

MAX_VALUES = 12
"""A column with more values than these has no set worth naming."""

_ENOUGH_ROWS = 50
_ENOUGH_INTERVALS = 8
_DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Column:
    """What a column holds.

    Attributes:
        name: its name.
        numeric: whether it holds numbers.
        text: whether it holds text.
        nulls: rows without a value.
        low: the least number.
        high: the greatest number.
        values: all its values if they are text and few, sorted; empty otherwise.
    """

    name: str
    numeric: bool
    text: bool
    nulls: int
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """What published intervals hold.

    Attributes:
        pipeline: whose they are.
        output: the declaration of their table.
        first: start of the first one (UTC).
        last: start of the last one (UTC).
        intervals: the number of profiled intervals.
        rows: how many they have.
        empty: how many of them have none.
        repeated: rows that share their keys and window with another one; None where no keys are declared.
        columns: in the table's order.
        static: static inputs by the columns that they share with the table and whose values they all have.
    """

    pipeline: str
    output: IntervalsOutput
    first: datetime
    last: datetime
    intervals: int
    rows: int
    empty: int
    repeated: int | None
    columns: tuple[Column, ...]
    static: Mapping[str, str]


Proposal = tuple[dict[str, object], str]
"""An expectation as YAML has it, and why it is proposed."""


def proposals(profile: Profile) -> Iterator[Proposal]:
    """Yield expectations with their reasons; none where there are too few rows to say anything."""
    if profile.rows < _ENOUGH_ROWS:
        return
    yield from _of_keys(profile)
    for column in profile.columns:
        yield from _of_column(profile, column)
    for column_name, static in profile.static.items():
        kwargs = {"column": column_name, "static": static}
        why = f"Every value is one of the static input {static}."
        yield _about("expect_column_values_to_be_in_reference", kwargs, on="interval", severity="warning"), why
    yield _about("expect_interval_offsets_to_be_complete", {}, on="interval"), "The raw table shall have every record."
    yield from _of_volume(profile)


def as_yaml(profile: Profile) -> str:
    """Return a suite as a file to be reviewed: each expectation below a comment that says why."""
    proposed = list(proposals(profile))
    many = f"{profile.intervals:,} intervals with {profile.rows:,} rows"
    span = f"{profile.first:%Y-%m-%dT%H:%MZ} to {profile.last:%Y-%m-%dT%H:%MZ}"
    head = [
        f"# Proposed from {many}, {span}.",
        "# It says what has held, not what must: read each line, and take what you mean.",
        f"name: {profile.pipeline}",
        f"pipeline: {profile.pipeline}",
    ]
    if not proposed:
        return "\n".join(
            [*head, f"# {profile.rows:,} rows are too few to propose anything from.", "expectations: []", ""]
        )
    lines = [*head, "expectations:"]
    for expectation, why in proposed:
        dumped = yaml.safe_dump([expectation], sort_keys=False, default_flow_style=None, width=200, allow_unicode=True)
        lines += [f"  # {why}", *(f"  {line}" for line in dumped.rstrip().splitlines())]
    return "\n".join([*lines, ""])


def _of_keys(profile: Profile) -> Iterator[Proposal]:
    if profile.repeated == 0:
        columns = [*profile.output.keys, profile.output.time_column]
        kwargs = {"column_list": columns, "ignore_row_if": "never"}
        why = f"The declared keys name each of the {profile.rows:,} rows once."
        yield _about("expect_compound_columns_to_be_unique", kwargs), why


def _of_column(profile: Profile, column: Column) -> Iterator[Proposal]:
    named = {"column": column.name}
    if not column.nulls:
        yield _about("expect_column_values_to_not_be_null", named), f"None of {profile.rows:,} rows lacks it."
    elif column.nulls * 100 <= profile.rows:
        share = 1 - column.nulls / profile.rows
        why = f"{column.nulls:,} of {profile.rows:,} rows lack it."
        mostly = {**named, "mostly": round(share - (1 - share), 4)}
        yield _about("expect_column_values_to_not_be_null", mostly, severity="warning"), why
    if column.values:
        why = f"These {len(column.values)} are all there were."
        kwargs = {**named, "value_set": list(column.values)}
        yield _about("expect_column_values_to_be_in_set", kwargs, severity="warning"), why
    if column.numeric and column.low is not None and column.low >= 0 and column.high != column.low:
        why = f"It was never negative: {number(column.low)} to {number(column.high or 0)}."
        yield _about("expect_column_values_to_be_between", {**named, "min_value": 0}), why


def _of_volume(profile: Profile) -> Iterator[Proposal]:
    if profile.intervals < _ENOUGH_INTERVALS:
        return
    daily = profile.output.interval_length.total_seconds() < _DAY_SECONDS
    history: dict[str, object] = {"intervals": 14, "deviations": 8, "share": 0.5} | (
        {"every": "1 day"} if daily else {"every": "7 days"}
    )
    when = "this hour of other days" if daily else "this day of other weeks"
    why = f"As many rows as at {when}; {profile.empty:,} of {profile.intervals:,} intervals had none."
    volume = _about("expect_table_row_count_to_be_between", {}, on="interval", severity="warning")
    yield {**volume, "history": history}, why


def _about(
    name: str, kwargs: Mapping[str, object], *, on: str = "table", severity: str = "critical"
) -> dict[str, object]:
    expectation: dict[str, object] = {"expect": name}
    if on != "table":
        expectation["on"] = [on]
    if kwargs:
        expectation["kwargs"] = dict(kwargs)
    if severity != "critical":
        expectation["severity"] = severity
    return expectation
