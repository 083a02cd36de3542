"""What a `latest` table lacks, or holds otherwise, compared with settled rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError
from sluice.live.rebuilding import Rebuild, plan_rebuild
from tests.suites.latest_suite import TABLE, at, rows

Given = tuple[int, str, int | None]

a_row = st.tuples(st.integers(0, 6), st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 3)))


def planned(settled: list[Given], held: list[Given], *, keys: tuple[str, ...], before: int) -> Rebuild:
    return plan_rebuild(rows(*settled), rows(*held).to_pylist(), replace(TABLE, keys=keys), at(before))


def one_per_hour(given_rows: list[Given]) -> list[Given]:
    """Keep one row for each hour and carrier, as an interval table of such windows does."""
    return list({(hour, carrier): (hour, carrier, value) for hour, carrier, value in given_rows}.values())


@given(st.lists(a_row), st.lists(a_row), st.integers(0, 6), st.booleans())
def test_after_it_the_table_holds_the_newest_settled_rows_and_its_own_later_ones(
    settled: list[Given], held: list[Given], before: int, by_hour: bool
) -> None:
    keys = ("hour", "carrier") if by_hour else ("carrier",)
    settled = one_per_hour(settled)

    def key(row: Given) -> tuple[object, ...]:
        return row[:2] if by_hour else (row[1],)

    table = {key(row): row for row in held}
    expected = {key(row): row for row in sorted(settled, key=lambda row: row[0]) if row[0] < before}
    expected |= {k: row for k, row in table.items() if row[0] >= before}
    plan = planned(settled, list(table.values()), keys=keys, before=before)
    kept = {k: row for k, row in table.items() if row[0] >= before}
    written = {key(_given(row)): _given(row) for row in plan.rows.to_pylist()}
    assert written | kept == expected
    assert plan.missing == len(expected.keys() - table.keys())
    assert plan.extra == len(table.keys() - expected.keys())
    assert plan.different == sum(table[k] != row for k, row in expected.items() if k in table)
    assert plan.later == len(kept)
    assert plan.needed == (table != expected)
    assert not planned(settled, list(expected.values()), keys=keys, before=before).needed


def _given(row: dict[str, object]) -> Given:
    start, carrier, value = row["hour"], row["carrier"], row["departed"]
    assert isinstance(start, datetime)
    assert isinstance(carrier, str)
    assert value is None or isinstance(value, int)
    return int((start - at(0)).total_seconds() // 3600), carrier, value


def test_a_row_without_its_key_is_refused() -> None:
    without = rows((1, "a", 1)).set_column(1, "carrier", [[None]])
    with pytest.raises(RefusedError, match="have no 'carrier'"):
        plan_rebuild(without.cast(rows().schema), [], TABLE, at(3))


def test_a_value_that_is_no_number_is_equal_to_itself() -> None:
    settled = rows((1, "a", 1)).set_column(3, "delay", pa.array([float("nan")]))
    assert not plan_rebuild(settled, settled.to_pylist(), TABLE, at(3)).needed
    assert plan_rebuild(settled, rows((1, "a", 1)).to_pylist(), TABLE, at(3)).different == 1
