from __future__ import annotations

import pytest

from tests.oracle import departures, differences


def test_identical_tables_do_not_differ() -> None:
    table = departures("2013-01-01", "2013-01-01")
    assert differences(table, table) == []


@pytest.mark.parametrize("sabotage", ["drop", "duplicate", "value", "null", "airline"])
def test_the_oracle_convicts_a_table_with_one_fault(sabotage: str) -> None:
    expected = departures("2013-01-01", "2013-01-01")
    table = expected.copy()
    match sabotage:
        case "drop":
            table = table.iloc[1:]
        case "duplicate":
            table = table.loc[[*table.index, table.index[0]]]
        case "value":
            table.loc[0, "delay_sum_min"] += 1
        case "null":
            table.loc[0, "delay_max_min"] = None
        case "airline":
            table.loc[0, "airline"] = "Somebody Else"
    assert differences(table, expected)


def test_late_flights_count_only_when_asked_for() -> None:
    week = ("2013-01-01", "2013-01-07")
    on_time, everything = departures(*week), departures(*week, with_late=True)
    assert everything["departed"].sum() + everything["cancelled"].sum() == 6099
    assert on_time["departed"].sum() < everything["departed"].sum()
