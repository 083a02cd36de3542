"""A function over the records of each key, live: its state goes on from batch to batch, and over a restart."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession

from sluice.errors import SpecError
from sluice.spark.records.pipeline import called
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.shape import Shape
from tests.oracle import flights
from tests.shapes import carried
from tests.shapes.carried_specs import carried_pipeline, turns_of
from tests.shapes.oracle import differences

COLUMNS = ["scheduled_at", "flight_id", "carrier", "origin"]
PARTS = 3


@pytest.fixture
def arrivals(tmp_path: Path) -> Path:
    """A folder that gets a file of flights for each batch, in the order of time."""
    (tmp_path / "arrivals").mkdir()
    return tmp_path / "arrivals"


def sent() -> pd.DataFrame:
    rows = flights(FIRST, LAST)
    return rows.assign(flight_id=rows.index, scheduled_at=rows["scheduled"]).sort_values(["scheduled_at", "flight_id"])


def drain(spark: SparkSession, arrivals: Path, folder: Path) -> list[int]:
    """Run the stream until nothing is left; each batch adds a file of rows. Return how many rows each batch had."""
    schema = "scheduled_at timestamp, flight_id bigint, carrier string, origin string"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(arrivals))
    empty = spark.createDataFrame([], "carrier string, number bigint, at timestamp, origins array<string>")
    rows, after = carried.turns(stream, fleet=empty)
    assert after is empty
    counts = list[int]()

    def write(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(folder / f"rows/{number}"))
        counts.append(batch.count())

    query = rows.writeStream.outputMode("update").option("checkpointLocation", str(folder / "checkpoint"))
    query.foreachBatch(write).trigger(availableNow=True).start().awaitTermination()
    return counts


def test_the_state_of_a_key_goes_on_from_batch_to_batch_and_over_a_restart(
    spark: SparkSession, arrivals: Path, tmp_path: Path
) -> None:
    rows, before = sent(), 0
    for number, until in enumerate((len(rows) // PARTS, len(rows))):
        part = rows.iloc[before:until].sample(frac=1, random_state=1)  # within a batch the order does not matter
        part[COLUMNS].astype({"scheduled_at": "datetime64[us, UTC]"}).to_parquet(arrivals / f"{number}.parquet")
        assert drain(spark, arrivals, tmp_path) == [until - before]
        before = until
    found = spark.read.parquet(*(str(path) for path in sorted((tmp_path / "rows").iterdir()))).toPandas()
    found["at"] = found["at"].dt.tz_localize("UTC")
    assert differences("turns", found, turns_of(flights(FIRST, LAST))) == []


@pytest.mark.verify
def test_a_live_output_of_a_transform_that_works_out_its_state_with_dataframes_is_refused(
    drained: Drained, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "transforms.carried", carried)
    schema = "scheduled_at timestamp, flight_id bigint, carrier string, origin string"
    (tmp_path / "records").mkdir()
    stream = drained.spark.readStream.schema(schema).parquet(str(tmp_path / "records"))
    code = Shape.of_pipeline(drained, carried_pipeline("running")).code
    monkeypatch.setattr(type(code.sources["flights"]), "given", lambda _self, good: good)
    with pytest.raises(SpecError, match="works out 'counted' with DataFrames") as refused:
        called({"flights": stream}, code)
    assert "in_order" in refused.value.fix
