from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from sluice.errors import CorruptionError, NotReadyError, RefusedError
from sluice.feeds.manifest import Manifest, ManifestStore
from sluice.topics.records import RecordPosition
from tests.twins.feed_source import FIRST_DAY, make_record

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND_DAY = date(2013, 1, 2)
SIZES = {FIRST_DAY: 2, SECOND_DAY: 1}


def manifest() -> Manifest:
    return Manifest(feed="flights", topic="flights", topic_id="one")


def filled() -> Manifest:
    found = manifest()
    entry = found.begin(FIRST_DAY, SECOND_DAY, {0: 0, 1: 0}, NOW)
    found.add(entry, make_record(1, 0, 0, key="AA"), RecordPosition(0, 0), SIZES)
    found.add(entry, make_record(2, 0, 60, key="UA"), RecordPosition(1, 4), SIZES)
    return found


def test_a_saved_manifest_reads_back_as_it_was(tmp_path: Path) -> None:
    store = ManifestStore(tmp_path)
    found = filled()
    found.add(found.ranges[0], make_record(7, 3, 0), RecordPosition(0, 9), {date(2013, 1, 4): 5})
    store.save(found)
    assert store.load() == found
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_nothing_sent_is_no_manifest(tmp_path: Path) -> None:
    assert ManifestStore(tmp_path / "never").load() is None


def test_records_are_counted_per_range_day_and_key() -> None:
    (entry,) = filled().ranges
    assert (entry.records, dict(entry.days), dict(entry.keys)) == (2, {FIRST_DAY: 2}, {"AA": 1, "UA": 1})


def test_a_day_is_complete_with_its_last_record() -> None:
    found = manifest()
    entry = found.begin(FIRST_DAY, FIRST_DAY, {}, NOW)
    first, second = make_record(1, 0, 0), make_record(2, 0, 60)
    found.add(entry, first, RecordPosition(0, 0), SIZES)
    assert (found.has(first), found.has(second), found.missing(FIRST_DAY, SECOND_DAY, SIZES)) == (True, False, 2)
    found.add(entry, second, RecordPosition(0, 1), SIZES)
    assert found.has(second)
    assert (found.complete, found.partial) == ({FIRST_DAY}, {})
    assert found.missing(FIRST_DAY, SECOND_DAY, SIZES) == 1


def test_it_knows_the_topic_up_to_the_last_counted_record() -> None:
    found = filled()
    assert found.known_offsets == {0: 1, 1: 5}
    assert found.latest_event == make_record(2, 0, 60).event


def test_an_older_event_does_not_move_the_latest_back() -> None:
    found = filled()
    found.advance(datetime(2012, 1, 1, tzinfo=UTC), RecordPosition(0, 7))
    assert found.latest_event == make_record(2, 0, 60).event
    assert found.known_offsets[0] == 8


def test_asking_for_the_same_range_again_is_the_same_entry() -> None:
    found = filled()
    assert found.begin(FIRST_DAY, SECOND_DAY, {0: 99}, NOW) is found.ranges[0]
    assert len(found.ranges) == 1


def test_days_and_identities_are_written_in_order() -> None:
    found = manifest()
    found.partial = {FIRST_DAY: {30, 4, 17}}
    found.complete = {SECOND_DAY, FIRST_DAY}
    written = json.loads(found.model_dump_json())
    assert written["partial"] == {"2013-01-01": [4, 17, 30]}
    assert written["complete"] == ["2013-01-01", "2013-01-02"]


def test_a_disk_that_takes_nothing_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(NotReadyError, match=r"manifest\.json cannot be written: .*Fix: free some space"):
        ManifestStore(tmp_path / "a file").save(filled())


@pytest.mark.parametrize("content", ["", "{}", '{"schema_version": 2}', "[1]"])
def test_a_damaged_manifest_is_told_with_its_path(tmp_path: Path, content: str) -> None:
    store = ManifestStore(tmp_path)
    store.path.write_text(content)
    with pytest.raises(CorruptionError, match=r"manifest\.json is no manifest"):
        store.load()


def test_only_one_sender_at_a_time_holds_a_feed(tmp_path: Path) -> None:
    store = ManifestStore(tmp_path / "feed")
    with store.alone(), pytest.raises(RefusedError, match="Another process"), ManifestStore(store.folder).alone():
        pass
    with store.alone():
        pass


def test_a_retired_manifest_keeps_its_content_under_its_topics_id(tmp_path: Path) -> None:
    store = ManifestStore(tmp_path)
    store.save(filled())
    store.retire(filled())
    assert store.load() is None
    assert Manifest.model_validate_json((tmp_path / "manifest-one.json").read_text()) == filled()
