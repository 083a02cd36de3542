from __future__ import annotations

from pyspark.sql import Row

from sluice.spark.backfill.comparison import difference_text

KEYS, VALUES = ["origin", "carrier"], ["departed", "airline"]


def difference(table: int, computed: int, **values: str | None) -> Row:
    given = {"key_origin": "EWR", "key_carrier": None, **values}
    sides = {f"{side}_{name}": None for side in ("table", "computed") for name in VALUES}
    return Row(table_rows=table, computed_rows=computed, **{**sides, **given})


def test_a_row_on_one_side_only_is_missing_or_extra() -> None:
    assert difference_text(difference(0, 1), KEYS, VALUES) == "origin=EWR carrier=null: missing"
    assert difference_text(difference(2, 0), KEYS, VALUES) == "origin=EWR carrier=null: extra, 2 times"


def test_other_values_are_told_side_by_side() -> None:
    row = difference(1, 1, table_departed="5", computed_departed="6", table_airline="A", computed_airline="A")
    assert difference_text(row, KEYS, VALUES) == "origin=EWR carrier=null: departed 5, computed 6"


def test_a_row_that_is_there_twice_is_told_by_numbers() -> None:
    assert difference_text(difference(2, 1), KEYS, VALUES) == "origin=EWR carrier=null: 2 rows, computed 1"
