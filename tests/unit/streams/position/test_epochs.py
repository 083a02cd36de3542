"""Records of epochs: whole or absent, exclusive, never changed; and what follows from the newest."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import pytest
from obstore.store import MemoryStore

from sluice.errors import CorruptionError, RefusedError
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.bucket_objects import BucketObjects
from sluice.storage.local_objects import LocalObjects
from sluice.streams.position.epochs import Epoch, Epochs
from sluice.streams.position.fencing import FencedError
from tests.unit.streams.position.test_checkpoint import commit, write_offsets

AT = datetime(2013, 1, 7, 12, tzinfo=UTC)
FIRST = Epoch(1, "id", {"t/0": 5, "t/1": 7}, "latest", "ada", "a bad day", AT)


@pytest.fixture(params=["beside", "memory"])
def epochs(request: pytest.FixtureRequest, tmp_path: Path) -> Epochs:
    """Return epochs whose records are beside the checkpoint, or in a bucket."""
    return Epochs(tmp_path / "departures", None if request.param == "beside" else in_memory())


def in_memory() -> BucketObjects:
    return BucketObjects(BucketFolder("bucket", "epochs/departures"), MemoryStore())


def test_a_stream_that_was_never_reset_is_in_epoch_0_and_begins_where_its_topic_does(
    epochs: Epochs, tmp_path: Path
) -> None:
    assert (epochs.number, epochs.all(), epochs.newest(), epochs.fresh) == (0, (), None, True)
    found = epochs.in_force()
    assert (found.number, found.checkpoint, found.start) == (0, tmp_path / "departures", None)
    assert epochs.checkpoint().read().start == {}


def test_a_record_is_read_back_and_its_epoch_has_a_checkpoint_of_its_own(epochs: Epochs, tmp_path: Path) -> None:
    epochs.record(FIRST)
    assert epochs.all() == (FIRST,)
    found = epochs.in_force()
    assert (found.number, found.start, found.topic_id) == (1, {"t/0": 5, "t/1": 7}, "id")
    assert found.checkpoint == tmp_path / "departures.epochs" / "1"
    assert not epochs.fresh


def test_the_topics_that_a_stream_has_read_are_told_once_each_oldest_first(epochs: Epochs) -> None:
    assert epochs.topics == epochs.in_force().topics == ()
    for number, topic in enumerate(("id", "id", "again", "again")):
        epochs.record(replace(FIRST, number=number, topic_id=topic))
    assert epochs.topics == epochs.in_force().topics == ("id", "again")


def test_what_is_never_read_is_said_by_the_newest_epoch_that_continues_no_other(epochs: Epochs) -> None:
    """A copy in another cluster begins at another offset: what was not read of the first topic is still to be read."""
    assert epochs.in_force().beginning is None
    copied = replace(FIRST, number=2, topic_id="copy+other", offsets={"t/0": 1}, continues=True)
    epochs.record(FIRST)
    epochs.record(copied)
    assert epochs.in_force().beginning == FIRST
    assert epochs.in_force().start == copied.offsets
    assert copied.topic_ids == ("copy", "other")
    again = replace(FIRST, number=3, topic_id="copy+other")
    assert epochs.in_future(again).beginning == again
    assert Epochs(Path("elsewhere"), in_memory()).in_force(FIRST).beginning == FIRST


def test_epoch_ten_is_newer_than_epoch_nine(epochs: Epochs) -> None:
    for number in range(1, 11):
        epochs.record(replace(FIRST, number=number))
    assert epochs.number == 10
    assert [epoch.number for epoch in epochs.all()] == list(range(1, 11))


def test_a_record_is_never_replaced(epochs: Epochs) -> None:
    epochs.record(FIRST)
    with pytest.raises(RefusedError, match="another reset has begun epoch 1"):
        epochs.record(replace(FIRST, to="earliest"))
    assert epochs.newest() == FIRST


@pytest.mark.parametrize("place", ["beside", "memory"])
def test_of_two_resets_at_once_one_is_refused(place: str, tmp_path: Path) -> None:
    barrier, records = Barrier(8), None if place == "beside" else in_memory()

    def race(number: int) -> bool:
        barrier.wait()
        try:
            Epochs(tmp_path / "departures", records).record(replace(FIRST, by=str(number)))
        except RefusedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(race, range(8)))
    assert won.count(True) == 1
    newest = Epochs(tmp_path / "departures", records).newest()
    assert newest is not None
    assert newest.by == str(won.index(True))


def test_what_a_crash_leaves_half_written_is_not_there_and_in_nobodys_way(tmp_path: Path) -> None:
    epochs, folder = Epochs(tmp_path / "departures"), tmp_path / "departures.epochs"
    folder.mkdir()
    (folder / ".4f2a").write_text('{"number": 1, "off')
    assert epochs.number == 0
    epochs.record(FIRST)
    assert epochs.newest() == FIRST
    assert sorted(path.name for path in folder.iterdir()) == [".4f2a", "1.json"]


@pytest.mark.parametrize("place", ["beside", "memory"])
def test_a_record_that_was_changed_is_corruption_and_not_an_older_epoch(place: str, tmp_path: Path) -> None:
    records = LocalObjects(tmp_path / "departures.epochs") if place == "beside" else in_memory()
    epochs = Epochs(tmp_path / "departures", records)
    epochs.record(FIRST)
    records.put("1.json", b'{"number": 1}')
    with pytest.raises(CorruptionError, match=r"departures.*1.json is no record of an epoch"):
        epochs.in_force()


def test_the_position_of_a_new_epoch_is_where_it_begins_until_its_first_commit(epochs: Epochs, tmp_path: Path) -> None:
    write_offsets(tmp_path / "departures", 0, {"t": {"0": 90, "1": 90}})
    commit(tmp_path / "departures", 0)
    before = epochs.checkpoint().read()
    assert (before.epoch, before.batches[0].offsets) == (0, {"t/0": 90, "t/1": 90})

    epochs.record(FIRST)
    began = epochs.checkpoint().follow(before)
    assert (began.epoch, began.batches, began.start) == (1, (), FIRST.offsets)

    write_offsets(tmp_path / "departures.epochs" / "1", 0, {"t": {"0": 6, "1": 9}})
    commit(tmp_path / "departures.epochs" / "1", 0)
    went_on = epochs.checkpoint().follow(None)
    assert (went_on.epoch, went_on.batches[0].offsets) == (1, {"t/0": 6, "t/1": 9})


def test_an_attempt_that_began_before_a_reset_is_told_so(epochs: Epochs) -> None:
    in_force = epochs.in_force()
    in_force.refuse_superseded()
    epochs.record(FIRST)
    with pytest.raises(FencedError, match="epoch 1 is on record"):
        in_force.refuse_superseded()
    epochs.in_force().refuse_superseded()


def test_a_stream_that_has_read_anything_is_not_fresh(epochs: Epochs, tmp_path: Path) -> None:
    (tmp_path / "departures" / "sources" / "0").mkdir(parents=True)
    assert epochs.fresh
    (tmp_path / "departures" / "sources" / "0" / "0").write_bytes(b'\0v1\n{"t":{"0":0}}')
    assert not epochs.fresh


def test_records_outlive_the_checkpoints_of_a_machine(tmp_path: Path) -> None:
    records = in_memory()
    Epochs(tmp_path / "lost" / "departures", records).record(FIRST)
    found = Epochs(tmp_path / "new" / "departures", records)
    in_force = found.in_force()
    assert (in_force.number, in_force.start) == (1, FIRST.offsets)
    assert in_force.checkpoint == tmp_path / "new" / "departures.epochs" / "1"
    assert not found.fresh
    Epochs(tmp_path / "other" / "departures", records).record(replace(FIRST, number=2))
    with pytest.raises(FencedError, match=r"s3://bucket/epochs/departures/2.json"):
        in_force.refuse_superseded()
