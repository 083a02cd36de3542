"""Others write while a backfill publishes: neighbours are let be, an intruder is found, a reader never sees a mix."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import pandas as pd
import pyarrow.dataset as ds
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.reading import read_rows
from sluice.errors import RefusedError
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import BackfillEntry
from sluice.spark.backfill.publishing import Publication
from sluice.spark.backfill.staging import Stage
from sluice.spark.records.content import content_of
from sluice.spark.tables.output import OutputTable
from tests.integration.spark.backfill.backfills import RANGE, Drained

pytestmark = pytest.mark.timeout(600)

HOUR = timedelta(hours=1)
TARGET = RANGE.start + HOUR
ONCE = CommitProperties(max_commit_retries=0)


def rows_of(drained: Drained, start: datetime) -> DataFrame:
    table = drained.spark.read.format("delta").load(str(drained.table))
    return drained.spark.createDataFrame(table.where(F.col("hour") == F.lit(start)).collect(), table.schema)


def publication(drained: Drained, still_ours: Callable[[], None]) -> Publication:
    table = OutputTable(drained.table, drained.code.pipeline.intervals)
    content = content_of(rows_of(drained, TARGET), "hour")
    entry = BackfillEntry("b", "recompute", "tests", "", {}, {}, content, drained.code.code_hash, "")
    return Publication(table, entry, 0, table.files(content, table.version()), still_ours)


def staged(drained: Drained, folder: Path) -> ds.Scanner:
    rows = rows_of(drained, TARGET)
    stage = Stage.write([rows], lambda: rows.schema, folder, "true", "hour")
    return stage.of_intervals([TARGET])


def intrude(drained: Drained, start: datetime) -> None:
    """Append one row of an interval, as somebody who knows nothing of owners."""
    found = DeltaTable(str(drained.table)).to_pyarrow_table(partitions=[("hour", "=", f"{start:%Y-%m-%d %H:%M:%S}")])
    write_deltalake(str(drained.table), found.slice(0, 1), mode="append")


@pytest.mark.parametrize("neighbour", [False, pytest.param(True, marks=pytest.mark.verify)])
def test_a_commit_between_the_check_and_the_replacement_counts_only_inside_its_intervals(
    drained: Drained, tmp_path: Path, neighbour: bool
) -> None:
    before, old = drained.versions(), rows_of(drained, TARGET).count()
    intrusions: list[datetime] = []

    def intrude_once() -> None:
        if not intrusions:
            intrusions.append(TARGET + (HOUR if neighbour else timedelta()))
            intrude(drained, intrusions[0])

    publishing = publication(drained, intrude_once)
    rows = staged(drained, tmp_path / "stage")
    if neighbour:
        assert publishing.publish(rows) == before + 2
        assert newest_owner(drained) == "b"
        assert rows_of(drained, TARGET).count() == old
    else:
        with pytest.raises(RefusedError, match="not those that were compared"):
            publishing.publish(rows)
        assert newest_owner(drained) != "b"
        assert rows_of(drained, TARGET).count() == old + 1
    assert intrusions


@pytest.mark.verify
def test_an_interval_that_changed_hands_is_not_replaced(drained: Drained, tmp_path: Path) -> None:
    def not_ours() -> None:
        raise RefusedError("it belongs to another writer")

    version = drained.versions()
    with pytest.raises(RefusedError, match="belongs to another"):
        publication(drained, not_ours).publish(staged(drained, tmp_path / "stage"))
    assert drained.versions() == version


@pytest.mark.verify
def test_a_reader_sees_the_old_or_the_new_beside_a_running_stream(drained: Drained) -> None:
    old = readable(drained.table)
    seen: list[pd.DataFrame] = []
    done = Event()
    appended = 0

    def read() -> None:
        while not done.is_set():
            seen.append(readable(drained.table))

    def stream() -> None:
        nonlocal appended
        rows = rows_of(drained, TARGET)
        while not done.is_set():
            hour = F.lit(RANGE.end + (10 + appended) * HOUR)
            with suppress(CommitFailedError):  # somebody was quicker: once more, as a stream does
                write_deltalake(
                    str(drained.table), rows.withColumn("hour", hour).toArrow(), mode="append", commit_properties=ONCE
                )
                appended += 1

    others = [Thread(target=read), Thread(target=stream)]
    for other in others:
        other.start()
    result = drained.run(Mode.CORRECT)
    done.set()
    for other in others:
        other.join()
    new = readable(drained.table)
    assert result.outcome == "explained"
    assert appended > 0
    assert not old.equals(new)
    assert all(frame.equals(old) or frame.equals(new) for frame in seen)
    assert any(frame.equals(old) for frame in seen)


def readable(table: Path) -> pd.DataFrame:
    """Return what a reader finds in the range, in a fixed order."""
    frame = read_rows(table).to_pandas()
    within = frame[frame["hour"] < RANGE.end]
    return within.sort_values(["hour", "origin", "carrier"]).reset_index(drop=True)


def newest_owner(drained: Drained) -> str:
    current = drained.ledger.rows[TARGET].current
    assert current is not None
    return current.owner
