"""The newest rows in a Delta table, by delta-rs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable

from sluice.delta import latest as module
from sluice.delta.latest import DeltaLatest
from sluice.delta.live_table import DeltaLiveTable
from sluice.delta.reading import read_rows
from sluice.delta.rebuilding import DeltaRebuildStore
from sluice.errors import NotReadyError, RefusedError
from sluice.live.store import Change, LatestStore, LatestTable
from sluice.streams.position.fencing import FencedError
from tests.suites.latest_suite import SCHEMA, TABLE, WRITER, LatestSuite, Place, change
from tests.suites.live_suite import LiveTableSuite, OpenSource
from tests.suites.rebuild_suite import OpenRebuilt, RebuildSuite

_TYPES: Mapping[pa.DataType, str] = {
    pa.timestamp("us", tz="UTC"): "timestamp",
    pa.string(): "string",
    pa.int64(): "long",
    pa.float64(): "double",
    pa.bool_(): "boolean",
}


def spark_schema(schema: pa.Schema) -> str:
    """Return a schema as Spark and Delta write it."""
    fields = [{"name": f.name, "type": _TYPES[f.type], "nullable": True, "metadata": {}} for f in schema]
    return json.dumps({"type": "struct", "fields": fields})


class TestDeltaLiveTable(LiveTableSuite):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return delta_place(tmp_path / "live")

    @pytest.fixture
    def source(self, tmp_path: Path) -> OpenSource:
        return lambda: DeltaLiveTable(tmp_path / "live")

    def test_a_table_that_is_not_there_yet_is_waited_for(self, tmp_path: Path) -> None:
        with pytest.raises(NotReadyError):
            DeltaLiveTable(tmp_path / "nothing")

    def test_more_rows_than_are_held_are_refused(
        self, place: Place, source: OpenSource, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sluice.delta.live_table.MAX_VALUES", 1)
        place.store().apply(change(10, (5, "AA", 1), (5, "UA", 2)))
        with pytest.raises(RefusedError, match="has 2 rows; 1 are held in memory"):
            source().read(1)


def delta_place(folder: Path) -> Place:
    """Return a table in a folder."""

    def build(table: LatestTable, generation: int, writer: str) -> LatestStore:
        return DeltaLatest(folder, table, spark_schema(table.schema), writer, generation)

    return Place(build, lambda: read_rows(folder).to_pylist())


class TestDeltaRebuildStore(RebuildSuite):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return delta_place(tmp_path / "live")

    @pytest.fixture
    def rebuilt(self, tmp_path: Path) -> OpenRebuilt:
        return lambda: DeltaRebuildStore(tmp_path / "live")


class TestDeltaLatest(LatestSuite):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return delta_place(tmp_path / "live")

    def test_each_change_is_one_commit_that_names_its_batch(self, place: Place, tmp_path: Path) -> None:
        store = place.store()
        version = DeltaTable(str(tmp_path / "live")).version()
        for end in (10, 20):
            store.apply(change(end, (1, "UA", end)))
        found = DeltaTable(str(tmp_path / "live"))
        assert found.version() == version + 2
        assert found.transaction_version(WRITER) == 40

    def test_whoever_sleeps_between_its_check_of_the_fence_and_its_merge_changes_nothing(
        self, place: Place, tmp_path: Path
    ) -> None:
        class Sleepy(DeltaLatest):
            def _merge(self, table: DeltaTable, change: Change, properties: CommitProperties) -> None:
                place.store(generation=2)
                super()._merge(table, change, properties)

        zombie = Sleepy(tmp_path / "live", TABLE, spark_schema(SCHEMA), WRITER, 1)
        zombie.open()
        with pytest.raises(FencedError, match="generation 2"):
            zombie.apply(change(10, (1, "UA", 1)))
        assert place.held() == {}

    def test_old_files_are_removed_as_the_table_changes(
        self, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_CHANGES_BETWEEN_VACUUMS", 5)
        monkeypatch.setattr(module, "_KEPT_HOURS", 0)
        store = place.store()
        for end in range(10, 120, 10):
            store.apply(change(end, (1, "UA", end)))
        assert len(list((tmp_path / "live").glob("*.parquet"))) == 1
        assert place.held() == {(1, "UA"): 110}
        assert place.store(generation=2).latest == change(110).entry

    def test_so_are_those_of_drivers_that_end_after_a_few_changes(
        self, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_KEPT_HOURS", 0)
        for generation in range(1, 5):
            place.store(generation).apply(change(10 * generation, (1, "UA", generation)))
        assert len(list((tmp_path / "live").glob("*.parquet"))) == 1

    def test_what_a_killed_merge_has_left_is_removed_once_no_writer_can_commit_it(
        self, place: Place, tmp_path: Path
    ) -> None:
        place.store().apply(change(10, (1, "UA", 1)))
        (written,) = (tmp_path / "live").glob("*.parquet")
        old, young = (written.with_name(f"part-00000-{name}.snappy.parquet") for name in ("old", "young"))
        for left, days in ((old, 8), (young, 6)):
            left.write_bytes(written.read_bytes())
            age(left, timedelta(days=days))
        place.store(generation=2).apply(change(20, (2, "UA", 1)))
        assert not old.exists()
        assert young.exists()

    def test_a_checkpoint_does_not_forget_files_before_they_are_removed(self) -> None:
        known = module.NEWEST_VALUES["delta.deletedFileRetentionDuration"]
        assert int(known.split()[1]) > module._KEPT_HOURS

    def test_a_quiet_table_keeps_its_newest_entry_and_the_log_is_cut_short_all_the_same(
        self, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_CHANGES_BETWEEN_VACUUMS", 3)
        often = {**module.NEWEST_VALUES, "delta.checkpointInterval": "1"}  # any commit may be the one with a checkpoint
        monkeypatch.setattr(module, "NEWEST_VALUES", often)
        log = tmp_path / "live" / "_delta_log"
        store = place.store()
        for end in (10, 20):
            store.apply(change(end, (1, "UA", end)))
        grow_old(log)
        quiet = place.store(generation=2)
        assert quiet.latest == change(20).entry
        old = len(list(log.glob("*.json")))
        for end in (30, 40, 50):
            quiet.apply(change(end, (1, "UA", end)))
        assert len(list(log.glob("*.json"))) < old
        assert place.store(generation=3).latest == change(50).entry


def age(file: Path, length: timedelta) -> None:
    past = (datetime.now(UTC) - length).timestamp()
    os.utime(file, (past, past))


def grow_old(log: Path) -> None:
    for file in log.iterdir():
        age(file, timedelta(days=2))


def test_the_suites_schema_is_spelt_out_for_delta() -> None:
    assert [field.type in _TYPES for field in SCHEMA] == [True] * len(SCHEMA)
