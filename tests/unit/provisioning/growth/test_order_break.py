"""A growth leaves on record from where keys are out of order, whenever whoever did it died."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import CorruptionError, RefusedError
from sluice.provisioning.growth.order_break import OrderBreak, forecast, grow_on_record, happened, settle
from sluice.topics.administration import TopicCreation, TopicExtent
from tests.twins.clock import START, ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.order_breaks import InMemoryOrderBreaks


class CutError(Exception):
    """The process was killed."""


class Cluster(InMemoryKafkaAdministration):
    """Writers go on: `busy` partitions get a record at each growth. Dies where `dies` says, around the growth."""

    def __init__(self, partitions: int = 2, records: int = 3) -> None:
        super().__init__(brokers=2)
        self.create([TopicCreation("t", partitions, 1)])
        self.busy: set[int] = set()
        self.dies = ""
        for partition in range(partitions):
            self.append("t", partition, [START] * records)

    def grow(self, topic: str, partitions: int, assignment: object = ()) -> None:
        if self.dies == "before":
            raise CutError
        super().grow(topic, partitions, assignment)  # type: ignore[arg-type]
        for partition in self.busy:
            self.append(topic, partition, [START])
        if self.dies == "after":
            raise CutError


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def breaks() -> InMemoryOrderBreaks:
    return InMemoryOrderBreaks()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_the_ends_of_the_old_partitions_are_on_record(
    cluster: Cluster, breaks: InMemoryOrderBreaks, clock: ManualClock
) -> None:
    found = grow_on_record(cluster, breaks, "t", 4, clock)
    assert found == OrderBreak(
        "t", cluster.topics["t"].topic_id, 2, 4, {0: 3, 1: 3}, START, grown_at=START, drained=False
    )
    assert list(breaks.of("t")) == [found]
    assert cluster.topics["t"].partitions == 4
    assert "out of order from t/0 at 3, t/1 at 3" in str(found)


def test_new_partitions_lie_where_the_plan_says(
    cluster: Cluster, breaks: InMemoryOrderBreaks, clock: ManualClock
) -> None:
    grow_on_record(cluster, breaks, "t", 4, clock, assignment=((2,), (1,)))
    assert cluster.topics["t"].replicas[2:] == ((2,), (1,))


@given(
    records=st.integers(0, 3), dies=st.sampled_from(["before", "after"]), more=st.integers(0, 3), drained=st.booleans()
)
def test_killed_anywhere_the_next_run_leaves_an_offset_that_is_no_later_than_the_break(
    records: int, dies: str, more: int, drained: bool
) -> None:
    cluster, breaks, clock = Cluster(records=records), InMemoryOrderBreaks(), ManualClock()
    ends = {0: records, 1: records} if drained else None
    cluster.dies = dies
    with pytest.raises(CutError):
        grow_on_record(cluster, breaks, "t", 4, clock, drained_at=ends)
    at_growth = records if dies == "after" else records + more
    cluster.append("t", 0, [START] * more)
    clock.sleep(60)
    cluster.dies = ""
    found = grow_on_record(cluster, breaks, "t", 4, clock, drained_at=ends)
    assert found is not None
    assert found.offsets[0] <= at_growth
    assert found.grown_at == START + timedelta(seconds=60)
    assert not (dies == "after" and found.drained), "nobody has looked when it grew"
    assert found.drained == (drained and dies == "before" and not more)
    assert list(breaks.of("t")) == [found], "and there is one record of it"


@pytest.mark.parametrize("busy", [set(), {0}, {1}])
def test_a_growth_is_drained_only_if_nothing_came_until_it_was_over(busy: set[int]) -> None:
    cluster, breaks = Cluster(), InMemoryOrderBreaks()
    cluster.busy = busy
    found = grow_on_record(cluster, breaks, "t", 4, ManualClock(), drained_at={0: 3, 1: 3})
    assert found is not None
    assert found.drained is not bool(busy)
    assert ("the order of its keys holds" in str(found)) is not bool(busy)


def test_what_came_after_the_last_check_makes_it_one_with_a_break() -> None:
    found = grow_on_record(Cluster(), InMemoryOrderBreaks(), "t", 4, ManualClock(), drained_at={0: 3, 1: 2})
    assert found is not None
    assert not found.drained
    assert found.offsets == {0: 3, 1: 3}


def test_a_topic_that_somebody_else_gave_its_partitions_has_no_record(
    cluster: Cluster, breaks: InMemoryOrderBreaks, clock: ManualClock
) -> None:
    cluster.grow("t", 4)
    assert grow_on_record(cluster, breaks, "t", 4, clock) is None
    assert list(breaks.of("t")) == []


def test_running_it_again_changes_nothing(cluster: Cluster, breaks: InMemoryOrderBreaks, clock: ManualClock) -> None:
    first = grow_on_record(cluster, breaks, "t", 4, clock)
    cluster.append("t", 0, [START])
    clock.sleep(60)
    assert grow_on_record(cluster, breaks, "t", 4, clock) == first


def test_it_takes_no_partition_away_and_makes_no_topic(
    cluster: Cluster, breaks: InMemoryOrderBreaks, clock: ManualClock
) -> None:
    with pytest.raises(RefusedError, match="t has 2 partitions, and is to have 1"):
        grow_on_record(cluster, breaks, "t", 1, clock)
    with pytest.raises(RefusedError, match="nowhere"):
        grow_on_record(cluster, breaks, "nowhere", 4, clock)
    assert breaks.records == {}


def test_a_topic_that_is_made_anew_while_it_grows_is_corruption(
    cluster: Cluster, breaks: InMemoryOrderBreaks, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grow_anew(topic: str, partitions: int, _assignment: object = ()) -> None:
        cluster.forget(topic)
        cluster.create([TopicCreation(topic, partitions, 1)])

    monkeypatch.setattr(cluster, "grow", grow_anew)
    with pytest.raises(CorruptionError, match="deleted and created again"):
        grow_on_record(cluster, breaks, "t", 4, clock)


def test_only_what_this_topic_went_through_counts(
    cluster: Cluster, breaks: InMemoryOrderBreaks, clock: ManualClock
) -> None:
    old = OrderBreak("t", "another", 1, 4, {0: 9}, START - timedelta(days=9))
    breaks.intend(old)
    breaks.confirm("another", 4, at=old.intended_at, drained=False)
    grow_on_record(cluster, breaks, "t", 4, clock)
    state = cluster.topics["t"]
    intent = OrderBreak("t", state.topic_id, 4, 8, dict.fromkeys(range(4), 9), START + timedelta(days=1))
    breaks.intend(intent)
    assert [each.after for each in happened(breaks.of("t"), state)] == [4]
    cluster.grow("t", 8)
    after = cluster.topics["t"]
    assert [each.after for each in happened(breaks.of("t"), after)] == [4, 8], "cut off after the topic had grown"
    assert settle(breaks, after, clock) == replace(intent, grown_at=START, drained=False)
    assert settle(breaks, replace(after, topic_id="new"), clock) is None


def test_before_it_grows_one_sees_where_the_order_would_break() -> None:
    extent = TopicExtent("id", dict.fromkeys(range(10), 0), {p: 1_000 * p for p in range(10)})
    assert forecast("t", extent) == (
        "if it grew now, the order of its keys would break at t/0 at 0, t/1 at 1,000, t/2 at 2,000, t/3 at 3,000, "
        "t/4 at 4,000, t/5 at 5,000, t/6 at 6,000, t/7 at 7,000 and 2 more partitions"
    )
