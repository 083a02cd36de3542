"""Small objects: whole or absent, one winner of many, whatever holds them and whatever becomes of an answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore

from sluice.errors import UnreachableError
from sluice.storage import bucket_folder
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.bucket_objects import BucketObjects
from sluice.storage.local_objects import LocalObjects
from sluice.storage.objects import Objects, objects_in
from tests.buckets import BucketServer


@pytest.fixture(params=["folder", "memory", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    match request.param:
        case "folder":
            return objects_in(tmp_path / "made later" / "%20 ü")
        case "memory":
            return BucketObjects(BucketFolder("none", "a/%20 ü"), MemoryStore())
    server: BucketServer = request.getfixturevalue("store")
    return objects_in(server.new_bucket() / "a/%20 ü")


@pytest.fixture
def bucket(store: BucketServer) -> Objects:
    return objects_in(store.new_bucket() / "epochs")


def test_before_the_first_object_there_is_nothing(objects: Objects) -> None:
    assert (objects.names(), objects.has("1.json"), objects.read("1.json")) == ([], False, None)


def test_what_was_put_is_read_listed_and_replaced(objects: Objects) -> None:
    objects.put("b", b"1")
    objects.put("b", b"22")
    objects.put("a", b"")
    assert (objects.read("b"), objects.read("a"), sorted(objects.names())) == (b"22", b"", ["a", "b"])
    assert objects.has("a")
    assert objects.place("b").endswith("/%20 ü/b")


def test_an_object_that_is_there_is_never_replaced(objects: Objects) -> None:
    assert objects.put_if_absent("1.json", b"first")
    assert not objects.put_if_absent("1.json", b"second")
    assert not objects.put_if_absent("1.json", b"first")  # the same bytes are another's object all the same
    objects.put("2.json", b"put")
    assert not objects.put_if_absent("2.json", b"second")
    assert (objects.read("1.json"), objects.read("2.json")) == (b"first", b"put")


def test_of_many_writers_of_one_name_one_wins(objects: Objects) -> None:
    barrier = Barrier(8)

    def write(number: int) -> bool:
        barrier.wait()
        return objects.put_if_absent("1.json", str(number).encode())

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(write, range(8)))
    assert won.count(True) == 1
    assert objects.read("1.json") == str(won.index(True)).encode()
    assert objects.names() == ["1.json"]


def test_what_lies_deeper_is_of_another_folder(store: BucketServer) -> None:
    bucket = store.new_bucket()
    objects_in(bucket / "a" / "b").put("1.json", b"")
    objects_in(bucket / "ab").put("1.json", b"")
    assert objects_in(bucket / "a").names() == []
    assert objects_in(bucket / "a" / "b").names() == ["1.json"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=2_000))
def test_bytes_come_back_as_they_were(objects: Objects, content: bytes) -> None:
    objects.put("any", content)
    assert objects.read("any") == content


@pytest.mark.parametrize("kind", ["refuse", "lose", "fail"])
def test_a_faulty_store_is_asked_again_and_an_own_object_is_recognised(
    bucket: Objects, store: BucketServer, kind: str
) -> None:
    store.make_faults({"kind": kind, "times": 2})
    assert bucket.put_if_absent("1.json", b"first")
    assert store.faults_made()[kind] >= 1
    assert not bucket.put_if_absent("1.json", b"second")
    assert bucket.read("1.json") == b"first"


@pytest.mark.parametrize("kind", ["refuse", "lose", "fail"])
def test_another_writers_object_is_recognised_behind_the_same_faults(
    bucket: Objects, store: BucketServer, kind: str
) -> None:
    assert bucket.put_if_absent("1.json", b"first")
    store.make_faults({"kind": kind, "times": 2})
    assert not bucket.put_if_absent("1.json", b"second")
    assert store.faults_made()[kind] >= 1
    assert bucket.read("1.json") == b"first"


def test_of_many_writers_behind_lost_answers_one_wins_each_name(bucket: Objects, store: BucketServer) -> None:
    store.make_faults({"kind": "lose", "share": 0.2}, {"kind": "fail", "share": 0.2}, {"kind": "refuse", "share": 0.1})
    names = [f"{number}.json" for number in range(10)]
    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(lambda who: [bucket.put_if_absent(name, who) for name in names], [b"1", b"2", b"3", b"4"]))
    made = store.faults_made()
    assert min(made[kind] for kind in ("lose", "fail", "refuse")) > 0
    assert [sum(of_name) for of_name in zip(*won, strict=True)] == [1] * len(names)
    writers = [str(row.index(True) + 1).encode() for row in zip(*won, strict=True)]
    assert [bucket.read(name) for name in names] == writers


def test_a_slow_list_is_waited_for(bucket: Objects, store: BucketServer) -> None:
    bucket.put("1.json", b"")
    store.make_faults({"kind": "slow", "method": "GET", "contains": "list-type", "seconds": 0.2, "times": 1})
    assert bucket.names() == ["1.json"]
    assert store.faults_made() == {"slow": 1}


def test_a_store_that_never_answers_is_unreachable_and_not_empty(
    bucket: Objects, store: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put("1.json", b"")
    monkeypatch.setattr(bucket_folder, "MOST_RETRIES", 1)
    bucket_folder.forget_stores()
    store.make_faults({"kind": "refuse"}, {"kind": "refuse", "method": "GET"}, {"kind": "refuse", "method": "HEAD"})
    for ask in (
        bucket.names,
        lambda: bucket.has("1.json"),
        lambda: bucket.read("1.json"),
        lambda: bucket.put("1.json", b""),
        lambda: bucket.put_if_absent("2.json", b""),
    ):
        with pytest.raises(UnreachableError, match=r"1.json|2.json|epochs"):
            ask()


def test_a_write_that_nobody_knows_of_is_unknown(
    bucket: Objects, store: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_folder, "MOST_RETRIES", 0)
    bucket_folder.forget_stores()
    store.make_faults({"kind": "refuse"})
    with pytest.raises(UnreachableError, match=r"whether .*1.json was written is unknown"):
        bucket.put_if_absent("1.json", b"")


@pytest.mark.usefixtures("store")
def test_a_bucket_that_is_not_there_is_named() -> None:
    missing = objects_in(BucketFolder("no-such-bucket", "epochs"))
    with pytest.raises(UnreachableError, match="s3://no-such-bucket/epochs"):
        missing.names()


def test_a_folder_that_cannot_be_listed_read_or_written_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    objects = LocalObjects(tmp_path / "file")
    for ask in (objects.names, lambda: objects.read("1"), lambda: objects.put_if_absent("1", b"")):
        with pytest.raises(UnreachableError, match="file"):
            ask()
