"""Upkeep in compressed time, and what a soak counts of its place: on real tables, without a driver."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import Schema

from benchmarks.soaking.looking import place_levels, raw_files
from benchmarks.soaking.place import RAW, TABLE, UNIT, written_project
from benchmarks.soaking.upkeep import look_after_all
from sluice.delta.reading import dataset_of
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import APPENDED
from sluice.delta.writer_log import WriterLog
from sluice.intervals.entries import StreamEntry
from sluice.intervals.writers import writer_id
from sluice.project.project import Project
from sluice.specs.catalog.streams import raw_stream
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


def age(project: Project) -> None:
    """Let what is there be older than all that is kept."""
    long_ago = datetime.now(UTC).timestamp() - 10 * KEPT.total_seconds()
    for commit in Path(project.folder.table(RAW) / "_delta_log").iterdir():
        os.utime(commit, (long_ago, long_ago))


def test_files_stay_level_and_no_record_goes(project: Project) -> None:
    log = WriterLog(project.folder.table(RAW), writer_id(raw_stream("readings"), "id", 0), 1)
    log.open()
    levels = []
    for round_ in range(4):
        for number in range(BATCHES):
            write(log, round_ * BATCHES + number)
        age(project)
        look_after_all(project, datetime.now(UTC), KEPT)
        levels.append(raw_files(project))
    assert max(levels) < 3 * BATCHES, "of each of the four rounds a file and a commit for each batch otherwise"
    assert dataset_of(project.folder.table(RAW)).count_rows() == 4 * BATCHES


def test_files_are_counted_by_what_they_are_of(project: Project) -> None:
    before = place_levels(project)
    assert (before.acts, before.intervals, before.act_files) == (0, 0, 0)
    assert before.rows > 0
    folder = project.folder
    for file in (folder.drivers / "local.soak.g1" / "driver.log", folder.root / "elsewhere" / "file"):
        file.parent.mkdir(parents=True)
        file.touch()
    after = place_levels(project)
    assert (after.act_files - before.act_files, after.files - before.files) == (1, 1)
    (Path(str(folder.table(TABLE))) / "another.parquet").touch()
    assert place_levels(project).table_files == after.table_files + 1
