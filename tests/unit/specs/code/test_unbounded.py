"""What a transform does with all records that a call is given: refused where that may be any number of intervals."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.specs.bench import PIPELINE, PIPELINE_FILE, TRANSFORM_FILE, sound_project

HEADER = "from pyspark.sql import DataFrame, Window\nfrom pyspark.sql import functions as F\n\n\n"


def faults(tmp_path: Path, body: str, *declared: str) -> list[str]:
    bench = sound_project(tmp_path)
    bench.write(PIPELINE_FILE, PIPELINE.replace("window: 1 hour", "\n  ".join(["window: 1 hour", *declared])))
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    bench.write(TRANSFORM_FILE, f"{HEADER}def sales(orders: DataFrame, *, shops: DataFrame) -> DataFrame:\n{lines}")
    return [f"{fault.message} {fault.fix}" for fault in bench.scan().faults]


REFUSED = [
    ('return orders.agg(F.max("price"))', "`.agg(F.max('price'))` makes one group of all records"),
    ("return orders.where('x').groupBy().count()", "`.groupBy()` makes one group of all records"),
    ("return orders.orderBy('price').limit(3)", "`.limit(3)` chooses among all records"),
    (
        "return orders.withColumn('place', F.percent_rank().over(Window.orderBy('price')))",
        "`F.percent_rank().over(Window.orderBy('price'))` compares all records",
    ),
    (
        (
            "order = Window.orderBy('price')\nplace = F.ntile(4).over(order)\n"
            "orders = orders.where('x')\nreturn orders.select('shop', place.alias('place'))"
        ),
        "`F.ntile(4).over(order)` compares all records",
    ),
    (
        "some = orders.join(shops, 'shop')\nreturn some.crossJoin(some.select('price').agg(F.sum('price')))",
        "`.agg(F.sum('price'))` makes one group",
    ),
]


@pytest.mark.parametrize(("body", "words"), REFUSED)
def test_what_depends_on_how_many_intervals_are_read_is_refused_with_what_to_write(
    tmp_path: Path, body: str, words: str
) -> None:
    (fault,) = faults(tmp_path, body)
    assert words in fault
    assert "line " in fault
    assert "or write `scope: interval` under the output" in fault


@pytest.mark.parametrize("body", [body for body, _ in REFUSED])
def test_it_is_taken_where_a_call_is_given_one_interval(tmp_path: Path, body: str) -> None:
    assert faults(tmp_path, body, "scope: interval") == []


@pytest.mark.parametrize(
    "body",
    [
        "return orders.groupBy('shop').agg(F.max('price'))",
        "shop = orders.groupBy('shop')\nreturn shop.agg(F.max('price'))",
        "return orders.groupBy(*['shop']).count()",
        "return orders.dropDuplicates(['id'])",
        (
            "order = Window.partitionBy('id').orderBy('ordered_at')\n"
            "return orders.withColumn('n', F.row_number().over(order)).where('n = 1')"
        ),
        "return orders.withColumn('before', F.lag('price').over(Window.orderBy('ordered_at')))",
        "return orders.withColumn('n', F.sum('price').over(Window.orderBy('ordered_at').rangeBetween(-60, 0)))",
        "return orders.crossJoin(shops.agg(F.max('size')))",
        "most = shops.agg(F.max('size'))\nreturn orders.crossJoin(most)",
        "return orders.join(shops.withColumn('n', F.rank().over(Window.orderBy('size'))), 'shop')",
        "return orders.join(shops.limit(3), 'shop')",
        "a = F.upper(b)\nb = F.lower(a)\nreturn orders.select(a, b)",
        "w = w.orderBy('x')\nreturn orders.select(F.rank().over(w))",
    ],
)
def test_what_may_be_right_is_left_to_a_comparison(tmp_path: Path, body: str) -> None:
    assert faults(tmp_path, body) == []


def test_another_scope_is_told_the_two_that_there_are(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "return orders", "scope: day")
    assert "'range'" in fault
    assert "'interval'" in fault
