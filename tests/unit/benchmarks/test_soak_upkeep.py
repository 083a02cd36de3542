"""Upkeep in compressed time, and what a soak counts of its place: on real tables, without a driver."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import Schema

from benchmarks.soaking.looking import place_levels, raw_files
from benchmarks.soaking.place import NEWEST, RAW, TABLE, UNIT, written_project
from benchmarks.soaking.upkeep import look_after_all
from sluice.delta.latest import NEWEST_VALUES
from sluice.delta.reading import dataset_of
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import APPENDED
from sluice.delta.writer_log import WriterLog
from sluice.intervals.entries import StreamEntry
from sluice.intervals.writers import writer_id
from sluice.project.project import Project
from sluice.specs.catalog.streams import raw_stream
from sluice.storage.folder import Folder
from sluice.streams.life.attempts import Desired
from tests.unit.delta.test_raw_floor import COLUMNS

KEPT = timedelta(seconds=60)
BATCHES = 40
START = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.open_strict(written_project(tmp_path))
    for table in (RAW, TABLE):
        columns = Schema.from_arrow(COLUMNS).to_json()
        ensure_table(project.folder.table(table), columns, configuration=APPENDED)
    project.records.registry().set_desired_state(UNIT, Desired.RUNNING, by="ann", why="to see")
    return project


def write(log: WriterLog, number: int) -> None:
    row = {"topic_id": "id", "partition": 0, "offset": number, "timestamp": START, "event_time": START}
    entry = StreamEntry(log.writer, 1, "a", number, {"readings/0": number}, {"readings/0": number + 1})
    log.append(pa.Table.from_pylist([row], COLUMNS), entry, number + 1)


def age(table: Folder, but: Path | None = None) -> None:
    """Let a table's log be older than all that is kept."""
    long_ago = datetime.now(UTC).timestamp() - 10 * KEPT.total_seconds()
    for commit in Path(str(table / "_delta_log")).iterdir():
        if commit != but:
            os.utime(commit, (long_ago, long_ago))


def test_files_stay_level_and_no_record_goes(project: Project) -> None:
    log = WriterLog(project.folder.table(RAW), writer_id(raw_stream("readings"), "id", 0), 1)
    log.open()
    levels = []
    for round_ in range(4):
        for number in range(BATCHES):
            write(log, round_ * BATCHES + number)
        age(project.folder.table(RAW))
        look_after_all(project, datetime.now(UTC), KEPT)
        levels.append(raw_files(project))
    assert max(levels) < 3 * BATCHES, "of each of the four rounds a file and a commit for each batch otherwise"
    assert dataset_of(project.folder.table(RAW)).count_rows() == 4 * BATCHES


def test_newest_values_keep_a_short_log_and_few_files(project: Project) -> None:
    table = project.folder.table(NEWEST)
    ensure_table(table, Schema.from_arrow(COLUMNS).to_json(), configuration=NEWEST_VALUES)
    log = WriterLog(table, "live", 1)
    log.open()
    counts = []
    for round_ in range(3):
        for number in range(BATCHES):
            write(log, round_ * BATCHES + number)
        newest = max(Path(str(table / "_delta_log")).glob("*.json"))
        age(table, but=newest)
        look_after_all(project, datetime.now(UTC), KEPT)
        counts.append(len(list(Path(str(table / "_delta_log")).glob("*.json"))))
    assert max(counts) < 10, "a commit for each batch otherwise"
    again = WriterLog(table, "live", 2)
    again.open()
    assert again.latest is not None
    assert again.latest.batch_id == 3 * BATCHES - 1, "whoever goes on finds where the last one stopped"


def test_files_are_counted_by_what_they_are_of(project: Project) -> None:
    before = place_levels(project)
    assert (before.acts, before.intervals, before.act_files) == (0, 0, 0)
    assert before.rows > 0
    folder = project.folder
    ended, at_work = (folder.drivers / f"local.soak.g{number}" / "driver.log" for number in (9, 10))
    for file in (ended, at_work, folder.root / "elsewhere" / "file"):
        file.parent.mkdir(parents=True)
        file.touch()
    after = place_levels(project)
    assert (after.act_files - before.act_files, after.files - before.files) == (1, 1), (
        "what the driver at work has is not counted yet"
    )
    (Path(str(folder.table(TABLE))) / "another.parquet").touch()
    assert place_levels(project).table_files == after.table_files + 1
