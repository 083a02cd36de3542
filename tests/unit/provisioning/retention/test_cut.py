"""What a shorter retention lets go, and whose records those are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError, UnreachableError
from sluice.provisioning.retention.cut import (
    Cut,
    Position,
    Unread,
    cut_by_size,
    cut_by_time,
    cutoff,
    deletes,
    kept_at,
    observe_cut,
    unread_of,
)
from sluice.topics.administration import TopicExtent
from tests.twins.ageing_kafka import AgeingKafka
from tests.twins.clock import START, ManualClock

HOUR_MS = 3_600_000


def ago(hours: float) -> datetime:
    return START - timedelta(hours=hours)


def aged(*partitions: list[float], segment: int = 1) -> tuple[AgeingKafka, ManualClock]:
    """Return a cluster with a topic whose records are so many hours old."""
    clock = ManualClock()
    cluster = AgeingKafka(clock, segment=segment)
    cluster.fill("t", [[ago(hours) for hours in each] for each in partitions])
    return cluster, clock


partitions = st.lists(st.lists(st.integers(0, 50), max_size=12), min_size=1, max_size=3)


@given(partitions, st.integers(0, 60), st.integers(1, 5))
def test_a_broker_deletes_what_was_said_up_to_one_segment_and_never_more(
    ages: list[list[int]], hours: int, segment: int
) -> None:
    cluster, clock = aged(*[[age + 0.5 for age in each] for each in ages], segment=segment)
    cut = observe_cut(cluster, "t", hours * HOUR_MS, {}, now=clock.now())
    cluster.set_configs("t", {"retention.ms": str(hours * HOUR_MS)})
    clock.sleep(300)
    for partition, first in cluster.beginnings("t").items():
        said = cut.partitions[partition]
        assert said.stays - segment < first <= said.stays
        assert said.safe == said.stays


def test_what_goes_is_counted_by_partition_and_as_a_share() -> None:
    cluster, clock = aged([30, 20, 10, 1], [30, 29], [], [2])
    cut = observe_cut(cluster, "t", 24 * HOUR_MS, {}, now=clock.now())
    assert {p: each.going for p, each in cut.partitions.items()} == {0: 1, 1: 2, 2: 0, 3: 0}
    assert (cut.going, cut.held, cut.share) == (3, 7, pytest.approx(3 / 7))
    assert cut.clauses() == ("at most 3 records go, 42.9% of 7, as the broker deletes whole segments (t/0: 1, t/1: 2)",)


def test_an_old_record_after_a_young_one_stays() -> None:
    cluster, clock = aged([30, 1, 30])
    assert observe_cut(cluster, "t", 24 * HOUR_MS, {}, now=clock.now()).going == 1


@pytest.mark.parametrize("retention", [-1, 10**15])
def test_a_retention_beyond_all_times_lets_nothing_go(retention: int) -> None:
    cluster, clock = aged([30])
    assert observe_cut(cluster, "t", retention, {}, now=clock.now()).clauses() == ("no record goes at once",)
    assert cutoff(clock.now(), retention) == datetime(1970, 1, 1, tzinfo=UTC)


def test_streams_that_have_yet_to_read_what_goes_are_named_with_how_many_records() -> None:
    cluster, clock = aged([30, 29, 28, 1], [30, 1])
    committed: dict[str, Position] = {
        "ahead": {"t/0": 3, "t/1": 1},
        "behind": {"t/0": 1, "t/1": 1},
        "elsewhere": {"u/0": 100, "u/1": 100},
        "new": {},
        "one_partition": {"t/0": 4},
        "unseen": None,
    }
    cut = observe_cut(cluster, "t", 24 * HOUR_MS, committed, now=clock.now())
    assert {each.stream: each.records for each in cut.unread} == {
        "behind": 2,
        "elsewhere": 4,
        "new": 4,
        "one_partition": 1,
        "unseen": None,
    }
    assert "behind has yet to read 2 records of them, and never will" in cut.clauses()
    assert "one_partition has yet to read 1 record of them, and never will" in cut.clauses()
    assert "whether unseen has yet to read some of them is not known" in cut.clauses()


@given(partitions, st.integers(0, 60), st.data())
def test_whoever_loses_a_record_is_named_whatever_its_position(
    ages: list[list[int]], hours: int, data: st.DataObject
) -> None:
    cluster, clock = aged(*[[age + 0.5 for age in each] for each in ages])
    position = {
        f"t/{p}": data.draw(st.integers(0, len(each)))
        for p, each in enumerate(ages)
        if data.draw(st.booleans(), label="has read")
    }
    cut = observe_cut(cluster, "t", hours * HOUR_MS, {"s": position}, now=clock.now())
    cluster.set_configs("t", {"retention.ms": str(hours * HOUR_MS)})
    clock.sleep(300)
    lost = sum(max(0, first - position.get(f"t/{p}", 0)) for p, first in cluster.beginnings("t").items())
    assert cut.unread == ((Unread("s", lost),) if lost else ())


def extent(**ends: int) -> TopicExtent:
    found = {int(name[1:]): end for name, end in ends.items()}
    return TopicExtent("id", dict.fromkeys(found, 0), found)


def test_by_size_it_is_an_estimate_and_says_so() -> None:
    cut = cut_by_size("t", extent(p0=1_000, p1=1_000), 250, {0: 1_000, 1: 200})
    assert {p: each.going for p, each in cut.partitions.items()} == {0: 750, 1: 0}
    assert cut.estimated
    assert cut.clauses() == ("about 750 records go, 37.5% of 2,000 (t/0: 750)",)


@pytest.mark.parametrize(("sizes", "which"), [(None, "its logs is"), ({0: 5}, "its logs of partition 1 is")])
def test_by_size_nothing_is_said_without_the_sizes(sizes: Mapping[int, int] | None, which: str) -> None:
    cut = cut_by_size("t", extent(p0=10, p1=10), 100, sizes)
    assert (cut.partitions, cut.going) == ({}, 0)
    assert f"how many records go is unknown: the size of {which} not known" in cut.clauses()[0]
    assert unread_of(cut, {"s": {"t/0": 10, "t/1": 10}}) == (Unread("s", None),)


def by_size(position: int) -> tuple[Unread, ...]:
    """Return whom a cut harms of which 750 records go by estimate, and 990 at most."""
    cut = cut_by_size("t", extent(p0=1_000), 250, {0: 1_000}, largest_bytes=25)
    return unread_of(cut, {"s": {"t/0": position}})


def test_by_size_only_who_is_near_the_end_is_called_safe() -> None:
    assert by_size(990) == ()
    assert by_size(989) == (Unread("s", 0, estimated=True),)
    assert str(by_size(989)[0]) == "s may have yet to read some of them, and never will"
    assert str(by_size(700)[0]) == "s may have yet to read about 50 records of them, and never will"


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(0, 300), st.integers(0, 30))
def test_by_size_whoever_loses_a_record_is_named_however_uneven_they_are(
    sizes: list[int], keep: int, position: int
) -> None:
    kept, first = 0, len(sizes)
    while first and kept < keep:  # a broker that could delete single records
        first -= 1
        kept += sizes[first]
    cut = cut_by_size("t", extent(p0=len(sizes)), keep, {0: sum(sizes)}, largest_bytes=50)
    if position < first:
        assert unread_of(cut, {"s": {"t/0": position}})


@pytest.mark.parametrize(
    ("policy", "counts"), [(None, True), ("delete", True), ("compact,delete", True), ("compact", False)]
)
def test_a_retention_counts_only_where_old_records_are_deleted(policy: str | None, counts: bool) -> None:
    assert deletes(policy) is counts


def test_offsets_of_partitions_that_come_while_one_checks_are_no_fault() -> None:
    cut = cut_by_time("t", extent(p0=10), {0: 5, 1: 3})
    assert cut.partitions.keys() == {0}
    assert cut_by_time("t", extent(p0=10, p1=4), {0: 5}).partitions[1].going == 4, "nothing says that it is young"


def test_what_a_retention_keeps_is_asked_for_once() -> None:
    cluster, clock = aged([30, 20, 10, 1])
    kept = kept_at(cluster, "t", now=clock.now())
    assert [kept(hours * HOUR_MS) for hours in (0, 5, 15, 25, 35, 10**6)] == [0, 1, 2, 3, 4, 4]
    cluster.reachable = False
    assert kept(5 * HOUR_MS) == 1
    with pytest.raises(UnreachableError):
        kept(6 * HOUR_MS)


def test_a_topic_that_is_not_there_is_refused() -> None:
    cluster, clock = aged([1])
    with pytest.raises(RefusedError, match="nowhere"):
        observe_cut(cluster, "nowhere", 0, {}, now=clock.now())


def test_an_empty_topic_loses_nothing() -> None:
    cluster, clock = aged([], [])
    cut = observe_cut(cluster, "t", 0, {"s": {}}, now=clock.now())
    assert (cut.going, cut.share, cut.unread) == (0, 0.0, ())
    assert isinstance(cut, Cut)
