"""A SELECT as Spark runs it: over inputs of whatever session, and refused at its line and column."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from sluice.errors import SpecError
from sluice.spark.records.transforms import SelectTransform

BY_CITY = """\
SELECT city, sum(price) AS total
FROM orders
JOIN shops USING (shop)
GROUP BY city;
"""


def ask(spark: SparkSession, text: str, *orders: tuple[str, int]) -> list[tuple[object, ...]]:
    """Run a SELECT over orders of this session and shops of the first one."""
    records = spark.createDataFrame(orders or [("north", 2), ("north", 3), ("south", 4)], "shop string, price long")
    shops = SparkSession.active().createDataFrame([("north", "Oslo"), ("south", "Rome")], "shop string, city string")
    rows = SelectTransform("spark_jobs/transforms/by_city.sql", text)({"orders": records}, {"shops": shops})
    return sorted(tuple(row) for row in rows.collect())


def test_inputs_are_views_that_nobody_finds_afterwards(spark: SparkSession) -> None:
    assert ask(spark, BY_CITY) == [("Oslo", 5), ("Rome", 4)]
    assert spark.catalog.listTables() == []
    assert spark.catalog.listTables("global_temp") == []


def test_a_batch_of_a_stream_has_a_session_of_its_own(spark: SparkSession) -> None:
    other = spark.newSession()
    assert ask(other, BY_CITY) == [("Oslo", 5), ("Rome", 4)]
    assert other.catalog.listTables() == []


def test_streams_that_analyse_at_the_same_time_do_not_see_each_others_records(spark: SparkSession) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda price: ask(spark, BY_CITY, ("south", price)), range(24)))
    assert answers == [[("Rome", price)] for price in range(24)]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (BY_CITY.replace("sum(price)", "sum(prices)"), "1:18", "`prices` cannot be resolved"),
        (BY_CITY.replace("JOIN shops", "JOIN shop"), "3:6", "`shop` cannot be found"),
        (BY_CITY.replace("sum(price)", "total(price)"), "1:14", "Cannot resolve routine `total`"),
        (BY_CITY.replace("AS total", "AS total of it"), "1:34", "Syntax error at or near 'of'"),
        (BY_CITY.replace("sum(price)", "sum(price) + array(1)"), "1:14", "data type mismatch"),
    ],
)
def test_what_spark_refuses_is_said_at_its_place_before_a_record_is_read(
    spark: SparkSession, text: str, place: str, words: str
) -> None:
    with pytest.raises(SpecError) as refused:
        ask(spark, text)
    assert str(refused.value).startswith(f"spark_jobs/transforms/by_city.sql:{place}: ")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not logging.getLogger("SQLQueryContextLogger").isEnabledFor(logging.ERROR), "it prints the whole plan"
    assert spark.catalog.listTables() == []
