"""A failure at run time names the line of the transform that made the column; other columns cost nothing for that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

import pytest
from py4j.clientserver import JavaClient
from py4j.protocol import MEMORY_COMMAND_NAME
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.spark.records.transforms import FunctionTransform


@contextmanager
def counted_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Count what this thread asks of the JVM in this block.

    Left out: what other threads ask, and the release of objects, which Python's collector decides the moment of.
    """
    asked: list[str] = []
    send = JavaClient.send_command
    caller = get_ident()

    def counting(self: JavaClient, command: str, *arguments: object, **named: object) -> object:
        if get_ident() == caller and not command.startswith(MEMORY_COMMAND_NAME):
            asked.append(command)
        return send(self, command, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(JavaClient, "send_command", counting)
        yield asked


def divided(rows: DataFrame) -> DataFrame:
    return rows.select(F.lit(7) / F.col("id"))


def test_an_error_at_run_time_names_the_line_of_the_transform(spark: SparkSession) -> None:
    rows = FunctionTransform(divided)({"rows": spark.range(1)}, {})
    with pytest.raises(
        ArithmeticException, match=rf"was called from\n{__file__}:{divided.__code__.co_firstlineno + 1}"
    ):
        rows.collect()


def test_our_own_columns_ask_the_jvm_for_no_call_site(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = spark.range(1)
    FunctionTransform(divided)({"rows": rows}, {})
    with counted_calls(monkeypatch) as ours:
        divided(rows)
    with counted_calls(monkeypatch) as theirs:
        FunctionTransform(divided)({"rows": rows}, {})
    assert not [command for command in ours if "PySparkCurrentOrigin" in command]
    assert [command for command in theirs if "PySparkCurrentOrigin" in command]
    assert len(theirs) > len(ours) + 10
