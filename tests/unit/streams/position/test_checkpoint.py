from __future__ import annotations

import contextlib
import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sluice.errors import CorruptionError
from sluice.streams.position.checkpoint import MAX_FOLLOWED, Checkpoint, CheckpointState, location


def write_offsets(folder: Path, batch: int, offsets: dict[str, dict[str, int]], watermark_ms: int = 0) -> None:
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    metadata = json.dumps({"batchWatermarkMs": watermark_ms, "batchTimestampMs": 1})
    (folder / "offsets" / str(batch)).write_text(f"v1\n{metadata}\n{json.dumps(offsets)}")


def commit(folder: Path, batch: int) -> None:
    (folder / "commits").mkdir(parents=True, exist_ok=True)
    (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_a_checkpoint_that_was_never_started_has_no_position(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "nowhere")
    assert checkpoint.newest_committed() is None
    assert checkpoint.lineage() is None
    assert checkpoint.origin() is None


def test_the_position_is_the_newest_commit_and_never_the_newest_plan(tmp_path: Path) -> None:
    write_offsets(tmp_path, 9, {"t": {"0": 5}}, watermark_ms=1_357_000_000_000)
    write_offsets(tmp_path, 10, {"t": {"0": 7, "1": 2}})
    commit(tmp_path, 9)
    position = Checkpoint(tmp_path).newest_committed()
    assert position is not None
    assert (position.batch_id, dict(position.offsets)) == (9, {"t/0": 5})
    assert position.watermark == datetime.fromtimestamp(1_357_000_000, UTC)


def test_batch_ten_is_newer_than_batch_nine(tmp_path: Path) -> None:
    for batch in (9, 10):
        write_offsets(tmp_path, batch, {"t": {"0": batch}})
        commit(tmp_path, batch)
    (tmp_path / "commits" / ".10.crc").write_text("x")
    position = Checkpoint(tmp_path).newest_committed()
    assert position is not None
    assert position.offsets == {"t/0": 10}


def test_the_origin_is_read_behind_sparks_prefix(tmp_path: Path) -> None:
    (tmp_path / "sources" / "0").mkdir(parents=True)
    (tmp_path / "sources" / "0" / "0").write_bytes(b'\0v1\n{"t":{"1":3,"0":0}}')
    assert Checkpoint(tmp_path).origin() == {"t/0": 0, "t/1": 3}


def test_a_watermark_of_zero_means_that_there_is_none(tmp_path: Path) -> None:
    write_offsets(tmp_path, 0, {"t": {"0": 1}}, watermark_ms=0)
    planned = Checkpoint(tmp_path).planned(0)
    assert planned is not None
    assert planned.watermark is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "v1",
        "v9\n{}\n{}",
        "v1\nno json\n{}",
        'v1\n{}\n["list"]',
        "garbage",
        'v1\n{"batchWatermarkMs":"x"}\n{}',
        'v1\n{}\n{"t":{"0":null}}',
    ],
)
def test_a_damaged_offset_log_is_corruption_and_names_the_file(tmp_path: Path, content: str) -> None:
    write_offsets(tmp_path, 0, {"t": {"0": 1}})
    commit(tmp_path, 0)
    (tmp_path / "offsets" / "0").write_text(content)
    with pytest.raises(CorruptionError, match="offsets"):
        Checkpoint(tmp_path).newest_committed()


def test_a_commit_without_its_plan_is_corruption(tmp_path: Path) -> None:
    commit(tmp_path, 4)
    with pytest.raises(CorruptionError, match="commits/4"):
        Checkpoint(tmp_path).newest_committed()


@given(st.binary(max_size=200))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_a_position_or_corruption(tmp_path: Path, content: bytes) -> None:
    write_offsets(tmp_path, 0, {})
    (tmp_path / "offsets" / "0").write_bytes(content)
    with contextlib.suppress(CorruptionError):
        Checkpoint(tmp_path).planned(0)


def commit_with(folder: Path, batch: int, text: str) -> None:
    (folder / "commits").mkdir(parents=True, exist_ok=True)
    (folder / "commits" / str(batch)).write_text(text)


def test_the_next_watermark_is_what_the_newest_commit_leaves_behind(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path).next_watermark() is None
    commit_with(tmp_path, 9, 'v1\n{"nextBatchWatermarkMs":1357000000000}')
    commit_with(tmp_path, 10, 'v1\n{"nextBatchWatermarkMs":1357003600000}')
    assert Checkpoint(tmp_path).next_watermark() == datetime(2013, 1, 1, 1, 26, 40, tzinfo=UTC)


def test_there_is_no_next_watermark_before_the_first_event(tmp_path: Path) -> None:
    commit(tmp_path, 0)
    assert Checkpoint(tmp_path).next_watermark() is None


@pytest.mark.parametrize("text", ["", "v1", "v1\n[]", "v9\n{}", 'v1\n{"nextBatchWatermarkMs":"soon"}'])
def test_a_commit_that_cannot_be_read_is_corruption(tmp_path: Path, text: str) -> None:
    commit_with(tmp_path, 0, text)
    with pytest.raises(CorruptionError, match="commits/0"):
        Checkpoint(tmp_path).next_watermark()


def test_a_check_brings_batches_plan_and_watermark(tmp_path: Path) -> None:
    for batch in range(3):
        write_offsets(tmp_path, batch, {"t": {"0": batch}})
    for batch in range(2):
        commit_with(tmp_path, batch, 'v1\n{"nextBatchWatermarkMs":1357003600000}')
    found = Checkpoint(tmp_path).read()
    assert [(batch.batch_id, dict(batch.offsets)) for batch in found.batches] == [(1, {"t/0": 1}), (0, {"t/0": 0})]
    assert found.running is not None
    assert (found.running.batch_id, dict(found.running.offsets)) == (2, {"t/0": 2})
    assert found.watermark == datetime(2013, 1, 1, 1, 26, 40, tzinfo=UTC)


def test_a_check_reads_no_batch_again_but_the_newest(tmp_path: Path) -> None:
    for batch in range(5):
        write_offsets(tmp_path, batch, {"t": {"0": batch}})
        commit(tmp_path, batch)
    checkpoint = Checkpoint(tmp_path)
    assert [batch.batch_id for batch in checkpoint.read(after=2).batches] == [4, 3]
    assert [batch.batch_id for batch in checkpoint.read(after=4).batches] == [4]
    assert [batch.batch_id for batch in checkpoint.read(after=99).batches] == [4]
    (tmp_path / "offsets" / "2").write_text("damaged")
    assert [batch.batch_id for batch in checkpoint.read(after=2).batches] == [4, 3]


def test_a_check_of_a_checkpoint_that_was_never_started_is_empty(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path / "nowhere").read() == CheckpointState()


def test_a_plan_without_any_commit_is_seen(tmp_path: Path) -> None:
    write_offsets(tmp_path, 0, {"t": {"0": 5}})
    found = Checkpoint(tmp_path).read()
    assert found.batches == ()
    assert found.running is not None


def test_when_a_batch_was_planned_and_committed_is_when_its_files_appeared(tmp_path: Path) -> None:
    write_offsets(tmp_path, 0, {"t": {"0": 5}})
    commit(tmp_path, 0)
    os.utime(tmp_path / "offsets" / "0", (1_357_000_000, 1_357_000_000))
    os.utime(tmp_path / "commits" / "0", (1_357_000_060, 1_357_000_060))
    (batch,) = Checkpoint(tmp_path).read().batches
    assert batch.planned_at == datetime.fromtimestamp(1_357_000_000, UTC)
    assert batch.committed_at == datetime.fromtimestamp(1_357_000_060, UTC)


def test_a_checkpoint_has_one_absolute_address_wherever_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert location(Path("a b") / "departures") == location(tmp_path / "a b" / "departures")
    assert location(tmp_path / "a b") == f"file://{tmp_path}/a b"


def test_following_reads_each_batch_once_and_always_says_what_a_check_says(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    before, read = None, []
    for batch in range(12):
        write_offsets(tmp_path, batch, {"t": {"0": batch}})
        if batch % 3:
            commit(tmp_path, batch - 1)
            commit(tmp_path, batch)
        before = checkpoint.follow(before)
        read += [found.batch_id for found in reversed(before.batches) if found.batch_id not in read]
        whole = checkpoint.read()
        assert (before.newest, before.running, before.watermark) == (whole.newest, whole.running, whole.watermark)
    assert read == list(range(12))


def test_what_a_follower_knows_is_not_read_again(tmp_path: Path) -> None:
    for batch in range(4):
        write_offsets(tmp_path, batch, {"t": {"0": batch}})
        commit(tmp_path, batch)
    write_offsets(tmp_path, 4, {"t": {"0": 9}})
    checkpoint = Checkpoint(tmp_path)
    before = checkpoint.follow(None)
    planned_at = (tmp_path / "offsets" / "4").stat()
    for batch in range(5):
        (tmp_path / "offsets" / str(batch)).write_text("damaged")
    os.utime(tmp_path / "offsets" / "4", ns=(planned_at.st_atime_ns, planned_at.st_mtime_ns))
    again = checkpoint.follow(before)
    assert [batch.batch_id for batch in again.batches] == [3]
    assert (again.newest, again.running) == (before.newest, before.running)


def test_who_begins_to_follow_or_is_far_behind_reads_the_newest_batches_only(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    before: CheckpointState | None = None
    for until in (3 * MAX_FOLLOWED, 7 * MAX_FOLLOWED):
        for batch in range(until):
            write_offsets(tmp_path, batch, {"t": {"0": batch}})
            commit(tmp_path, batch)
        before = checkpoint.follow(before)
        newest_first = list(range(until - 1, until - 1 - MAX_FOLLOWED, -1))
        assert [batch.batch_id for batch in before.batches] == newest_first


@pytest.mark.parametrize("newest", [1, 3, 9])
def test_another_checkpoint_at_the_same_place_is_checked_from_the_beginning(tmp_path: Path, newest: int) -> None:
    """A copy that was put back, or a checkpoint that was deleted and begun again: its files are other ones."""
    for batch in range(4):
        write_offsets(tmp_path, batch, {"t": {"0": batch}})
        commit(tmp_path, batch)
        os.utime(tmp_path / "commits" / str(batch), (1_357_000_000 + batch, 1_357_000_000 + batch))
    checkpoint = Checkpoint(tmp_path)
    before = checkpoint.follow(None)
    shutil.rmtree(tmp_path / "commits")
    for batch in range(newest + 1):
        write_offsets(tmp_path, batch, {"t": {"0": 100 + batch}})
        commit(tmp_path, batch)
    after = checkpoint.follow(before)
    assert [batch.batch_id for batch in after.batches] == list(range(newest, -1, -1))
    assert after.newest == checkpoint.newest_committed()


def test_a_checkpoint_without_a_commit_is_followed_to_its_first(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.follow(None) == CheckpointState()
    write_offsets(tmp_path, 0, {"t": {"0": 5}})
    planned = checkpoint.follow(CheckpointState())
    assert planned.running is not None
    assert planned.batches == ()
    commit(tmp_path, 0)
    committed = checkpoint.follow(planned)
    assert [batch.batch_id for batch in committed.batches] == [0]
    assert committed.running is None
