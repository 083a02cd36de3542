"""Files that come into a folder are sent whole, each line once, wherever the follower is killed."""

from __future__ import annotations

import gzip
import io
import os
from collections import Counter
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError
from sluice.feeds.connectors.folder import FolderConnection, FolderSource
from sluice.feeds.following.ending import FollowUntil
from sluice.feeds.following.file_records import UnreadableFileError, file_records
from sluice.specs.model.fields import FieldType
from sluice.specs.model.model import ValueField
from tests.twins.clock import ManualClock
from tests.unit.feeds.following.follow_bench import Bench, KilledError, Steps, folder_spec

FIELDS = {
    "id": ValueField(type=FieldType.LONG),
    "price": ValueField(type=FieldType.DECIMAL, precision=10, scale=2),
    "paid": ValueField(type=FieldType.BOOLEAN),
    "shop": ValueField(type=FieldType.STRING),
    "placed": ValueField(type=FieldType.LONG, path="$.placed_ms"),
}


def bench(folder: Path, *, patience: int = 0, **keys: object) -> Bench:
    clock = ManualClock()
    live = folder_spec(**keys)
    return Bench(FolderSource(folder, live, FIELDS, clock), live, clock, patience=patience)


def put(folder: Path, name: str, content: bytes, modified: int = 0) -> None:
    """Write a file as one that is renamed into place."""
    (folder / f".{name}").write_bytes(content)
    os.utime(folder / f".{name}", (modified, modified))
    (folder / f".{name}").rename(folder / name)


def test_the_lines_of_files_are_sent_in_the_order_of_their_changes(tmp_path: Path) -> None:
    put(tmp_path, "b", b"1\n2\r\n\n3", 10)
    put(tmp_path, "a", gzip.compress(b"4\n5\n"), 20)
    put(tmp_path, ".hidden", b"x\n")
    follower = bench(tmp_path)
    follower.topic.log = [[]]
    follower.topic.waiting = follower.topic.waiting[:1]
    manifest = follower.follow()
    assert follower.topic.log == [[b"1", b"2", b"3", b"4", b"5"]]
    assert (manifest.records, manifest.following) == (5, False)
    size = (tmp_path / "a").stat().st_size
    marks = {"mark": [size, 20 * 10**9], "sent": {"b": [7, 10 * 10**9]}}
    assert manifest.cursor == {"file": "a", "line": 2, "last": True, **marks}


def test_a_file_is_sent_once_and_another_one_of_its_name_again(tmp_path: Path) -> None:
    follower = bench(tmp_path)
    put(tmp_path, "a", b"1\n", 10)
    follower.follow()
    assert follower.follow().records == 1
    put(tmp_path, "a", b"1\n2\n", 20)
    put(tmp_path, "b", b"3\n", 5)
    follower.follow()
    assert follower.values() == Counter([b"1", b"1", b"2", b"3"])


def test_a_folder_that_is_away_for_a_moment_has_no_new_files(tmp_path: Path) -> None:
    clock, away = ManualClock(), tmp_path / ".away"
    connection = FolderSource(tmp_path, folder_spec(), FIELDS, clock).open(None)
    put(tmp_path, "a", b"1\n", 10)
    assert [event.value for event in connection.receive(1)] == [b"1"]
    (tmp_path / "a").rename(away)
    assert connection.receive(200) == []
    away.rename(tmp_path / "a")
    assert connection.receive(200) == []
    (tmp_path / "a").rename(away)
    assert connection.receive(299) == []
    away.rename(tmp_path / "a")
    assert connection.receive(1) == []


def test_what_was_sent_is_forgotten_when_it_has_not_been_there_for_long(tmp_path: Path) -> None:
    connection = FolderSource(tmp_path, folder_spec(), FIELDS, ManualClock()).open(None)
    for number in range(5):
        put(tmp_path, f"f{number}", b"x\n", number)
        assert len(connection.receive(1)) == 1
        (tmp_path / f"f{number}").unlink()
    assert connection.receive(301) == []
    assert connection.receive(1) == []
    put(tmp_path, "last", b"y\n", 9)
    (event,) = connection.receive(1)
    assert isinstance(event.cursor, dict)
    assert event.cursor["sent"] == {}


def test_a_file_is_complete_when_it_has_not_changed_for_a_while(tmp_path: Path) -> None:
    follower = bench(tmp_path, complete_after="10 s")
    follower.clock.sleep(100)
    put(tmp_path, "a", b"1\n")
    assert follower.follow(idle=9).records == 0
    assert follower.follow(idle=11).records == 1


def test_wherever_it_is_killed_every_line_is_in_the_topic_once(tmp_path: Path) -> None:
    lines = [b"%d" % (number % 7) for number in range(30)]  # most of them are there several times
    put(tmp_path, "a", b"\n".join(lines[:12]), 1)
    put(tmp_path, "b", b"\n".join(lines[12:]), 2)
    whole = Steps()
    bench(tmp_path, patience=4).follow(step=whole, idle=2)
    for last in range(whole.taken):
        follower = bench(tmp_path, patience=4, max_unacknowledged=5)
        with pytest.raises(KilledError):
            follower.follow(step=Steps(last), idle=2)
        follower.topic.lose_the_sender()
        manifest = follower.follow(idle=2)
        assert follower.values() == Counter(lines), f"killed before step {last}"
        assert manifest.records == 30


@given(kills=st.lists(st.integers(0, 60), max_size=4), seed=st.integers(0, 10**6))
def test_however_often_it_is_killed_every_line_is_in_the_topic_once(
    tmp_path_factory: pytest.TempPathFactory, kills: list[int], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("in")
    lines = [b"%d" % (number % 3) for number in range(25)]
    put(folder, "a", b"\n".join(lines[:5]), 1)
    put(folder, "b", b"\n".join(lines[5:]), 2)
    follower = bench(folder, patience=9, max_unacknowledged=8)
    follower.topic._random.seed(seed)
    for last in kills:
        try:
            follower.follow(step=Steps(last), idle=2)
        except KilledError:
            follower.topic.lose_the_sender()
    follower.follow(idle=2)
    assert follower.values() == Counter(lines)


@pytest.mark.parametrize("change", ["remove", "replace"])
def test_a_file_that_changes_while_it_is_sent_is_refused_until_somebody_decides(tmp_path: Path, change: str) -> None:
    put(tmp_path, "a", b"\n".join(b"%d" % number for number in range(300)), 1)
    follower = bench(tmp_path)
    stopped = follower.follow(until=FollowUntil(stopping=lambda: sum(follower.values().values()) > 0))
    assert 0 < stopped.records < 300
    (tmp_path / "a").unlink()
    if change == "replace":
        put(tmp_path, "a", b"other\n", 2)
    with pytest.raises(RefusedError, match=r"a was removed or changed after \d+ of its records were sent.*--from-now"):
        follower.follow()
    put(tmp_path, "b", b"next\n", 3)
    follower.follow(from_now=True)
    assert follower.values()[b"next"] == 1
    assert follower.store.manifest.gaps[-1].why == "the feed was told to go on from now"


@pytest.mark.parametrize("sent", [1, 300])
def test_a_file_that_grows_while_it_is_sent_is_refused_and_no_line_is_sent_twice(tmp_path: Path, sent: int) -> None:
    lines = [b"%d" % number for number in range(500)]
    put(tmp_path, "a", b"\n".join(lines) + b"\n", 1)
    follower = bench(tmp_path)

    def grows() -> bool:
        if sum(follower.values().values()) >= sent and (tmp_path / "a").stat().st_size < 2_000:
            with (tmp_path / "a").open("ab") as file:
                file.write(b"more\n" * 200)
        return False

    with pytest.raises(RefusedError, match=r"a was removed or changed after \d+ of its records were sent"):
        follower.follow(until=FollowUntil(idle_seconds=20, stopping=grows))
    assert set(follower.values().values()) == {1}
    assert set(follower.values()) <= set(lines)
    with pytest.raises(RefusedError, match="was removed or changed"):
        follower.follow()


def test_a_file_that_grows_before_anything_of_it_is_sent_is_sent_as_it_is_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a", b"1\n", 10)
    opened = FolderConnection._unpacked

    def late(connection: FolderConnection, file: BinaryIO) -> BinaryIO:
        if (tmp_path / "a").stat().st_size == 2:
            (tmp_path / "a").write_bytes(b"1\n2\n")
        return opened(connection, file)

    monkeypatch.setattr(FolderConnection, "_unpacked", late)
    follower = bench(tmp_path)
    follower.follow()
    assert follower.values() == Counter([b"1", b"2"])


def test_a_damaged_file_is_told_by_its_name(tmp_path: Path) -> None:
    put(tmp_path, "a.gz", gzip.compress(b"")[:-9])
    put(tmp_path, "b", b"1\n", 9)
    follower = bench(tmp_path)
    with pytest.raises(RefusedError, match=r"a\.gz cannot be read to its end.*move it away"):
        follower.follow()
    (tmp_path / "a.gz").unlink()
    assert follower.follow().records == 1


def test_of_a_damaged_file_what_is_sound_is_sent_and_the_rest_given_up_as_the_message_says(tmp_path: Path) -> None:
    lines = [b"%d" % number for number in range(5_000)]
    put(tmp_path, "a.gz", gzip.compress(b"\n".join(lines))[:-500])
    follower = bench(tmp_path)
    with pytest.raises(RefusedError, match=r"of its records were sent. Fix: give up the rest .*--from-now") as refused:
        follower.follow()
    sent = follower.store.manifest.records
    assert f"{sent:,} of its records" in refused.value.message
    assert 3_000 < sent < 5_000
    assert follower.values() == Counter(lines[:sent])
    put(tmp_path, "b", b"next\n", 9)
    assert follower.follow(from_now=True).records == sent + 1


def test_a_folder_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    follower = bench(tmp_path / "later")
    follower.follow(idle=3)
    assert "The folder" in follower.told[0]
    (tmp_path / "later").mkdir()
    put(tmp_path / "later", "a", b"1\n")
    assert follower.follow().records == 1


def rows(content: bytes, **keys: object) -> list[bytes]:
    return list(file_records(io.BytesIO(content), folder_spec(format="csv", **keys), FIELDS))


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"id,shop\n1,north\n", [b'{"id":1,"shop":"north"}']),
        (b"\xef\xbb\xbfid,shop\r\n1,2\r\n", [b'{"id":1,"shop":"2"}']),
        (b'id,shop\n1,"a ""b""\nc, d"\n', [b'{"id":1,"shop":"a \\"b\\"\\nc, d"}']),
        (b"id,price,paid\n7,12.30,True\n", [b'{"id":7,"price":12.30,"paid":true}']),
        (b"id,price,paid\nseven,,1\n", [b'{"id":"seven","paid":"1"}']),
        (b"id,price\n007,+1\n", [b'{"id":"007","price":"+1"}']),
        (b"placed_ms,placed\n5,6\n", [b'{"placed_ms":5,"placed":"6"}']),
        (b"id,shop\n1\n1,2,3\n", [b'["1"]', b'["1", "2", "3"]']),
        (b"id,shop\n1,M\xfcnchen\n", [b'{"id":1,"shop":"M\xfcnchen"}']),
        ("id,shop\n1,München\n".encode(), ['{"id":1,"shop":"München"}'.encode()]),
        (b"id,shop\n", []),
        (b"", []),
    ],
)
def test_rows_become_objects_by_their_header_and_the_types_of_the_topic(content: bytes, values: list[bytes]) -> None:
    assert rows(content) == values


def test_another_delimiter_is_taken_as_it_is_declared() -> None:
    assert rows(b"id;shop\n1;a,b\n", delimiter=";") == [b'{"id":1,"shop":"a,b"}']


@pytest.mark.parametrize(
    ("content", "said"), [(b"id,id\n1,2\n", "'id' twice"), (b'id,shop\n1,"x"y\n', "line 2"), (b'id\n"x', "line 2")]
)
def test_what_is_no_csv_is_told_with_its_line(content: bytes, said: str) -> None:
    with pytest.raises(UnreadableFileError, match=said):
        rows(content)
