from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError, SpecError
from sluice.feeds.pace import Pace
from sluice.feeds.publish import SendProgress
from sluice.feeds.record import encode
from sluice.specs.model.model import FieldType, TimeRules, ValueField
from sluice.topics.records import RecordTooLargeError
from tests.twins.clock import ManualClock
from tests.twins.feed_source import NOON, ListSource, make_record
from tests.twins.feed_topic import InMemoryAcknowledgement, InMemoryTopic
from tests.unit.feeds.feed_bench import (
    HOUR,
    PIPELINE,
    QUARTER,
    TOPIC,
    DyingProducer,
    KilledError,
    MemoryStore,
    Sources,
    day,
    feed,
    file_source,
    flights,
    heartbeats,
    identities,
    sent,
)

SECOND = timedelta(seconds=1)


@pytest.fixture(scope="module", params=[ListSource, file_source], ids=["list", "file"])
def source_of(request: pytest.FixtureRequest) -> Sources:
    """Every test of sending holds for every source."""
    found: Sources = request.param
    return found


def test_a_range_is_sent_once_with_a_heartbeat_at_its_end(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    done = feed(source_of(records), topic, store).send(day(1), day(2))
    assert sent(topic) == identities(records, 1, 2)
    assert done.sent == 48
    # The last event is at 23:30 of the second day; its hour ends at midnight, and the watermark is 4 hours behind.
    assert heartbeats(topic) == ["2013-01-03T04:00:00Z"]
    assert json.loads(topic.log[0][-1] or b"") == {
        "heartbeat": True,
        "observed_at": "2013-01-03T04:00:00Z",
        "scheduled_at": "2013-01-03T04:00:00Z",
    }


def test_each_partition_has_its_records_in_the_order_in_which_they_became_known(source_of: Sources) -> None:
    topic = InMemoryTopic(patience=9)
    feed(source_of(flights()), topic, MemoryStore()).send(heartbeat=False)
    for partition in topic.log:
        arrivals = [json.loads(value or b"")["observed_at"] for value in partition]
        assert arrivals == sorted(arrivals)


def test_the_same_range_again_sends_nothing(source_of: Sources) -> None:
    topic, store, source = InMemoryTopic(), MemoryStore(), source_of(flights())
    feed(source, topic, store).send(day(1), day(2))
    before, manifest = topic.ends(), store.load()
    done = feed(source, topic, store).send(day(1), day(2))
    assert (done.sent, done.recovered, done.heartbeat) == (0, 0, None)
    assert (topic.ends(), store.load()) == (before, manifest)


def test_an_overlapping_range_sends_only_what_is_missing(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    feed(source_of(records), topic, store).send(day(1), day(2))
    done = feed(source_of(records), topic, store).send(day(1), day(3))
    assert done.sent == 24
    assert sent(topic) == identities(records, 1, 3)
    assert heartbeats(topic) == ["2013-01-03T04:00:00Z", "2013-01-04T04:00:00Z"]


def test_a_part_of_what_was_sent_sends_nothing_and_no_heartbeat(source_of: Sources) -> None:
    topic, store, source = InMemoryTopic(), MemoryStore(), source_of(flights())
    feed(source, topic, store).send(day(1), day(3))
    before = topic.ends()
    assert feed(source, topic, store).send(day(2), day(2)).sent == 0
    assert topic.ends() == before


def test_the_next_range_fits_behind_the_heartbeat(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    for number in (1, 2, 3):
        feed(source_of(records), topic, store).send(day(number), day(number))
    assert sent(topic) == identities(records, 1, 3)


def test_an_earlier_range_after_a_later_one_is_refused_and_nothing_is_sent(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    feed(source_of(records), topic, store).send(day(3), day(3))
    before = topic.ends()
    with pytest.raises(RefusedError, match=r"24 records from 2013-01-01 to 2013-01-01 come too late.*departures"):
        feed(source_of(records), topic, store).send(day(1), day(1))
    assert topic.ends() == before


def test_an_earlier_range_is_sent_if_somebody_insists(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    feed(source_of(records), topic, store).send(day(3), day(3))
    feed(source_of(records), topic, store).send(day(1), day(1), out_of_order=True)
    assert sent(topic) == identities(records, 1, 1) + identities(records, 3, 3)


def test_without_a_pipeline_ranges_come_in_any_order_and_without_heartbeats(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    for number in (3, 1):
        feed(source_of(records), topic, store, pipelines=()).send(day(number), day(number))
    assert sent(topic) == identities(records, 1, 1) + identities(records, 3, 3)
    assert heartbeats(topic) == []


def test_a_heartbeat_that_was_left_out_can_be_sent_later_and_only_once(source_of: Sources) -> None:
    topic, store, source = InMemoryTopic(), MemoryStore(), source_of(flights())
    feed(source, topic, store).send(day(1), day(1), heartbeat=False)
    assert heartbeats(topic) == []
    for _ in range(2):
        feed(source, topic, store).send(day(1), day(1))
    assert heartbeats(topic) == ["2013-01-02T04:00:00Z"]
    manifest = store.load()
    assert manifest is not None
    assert [f"{entry.heartbeat:%d %H}" for entry in manifest.ranges] == ["02 04"]


def test_a_heartbeat_is_counted_as_its_form_says_it(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    coarse = ValueField(type=FieldType.TIMESTAMP, format="yyyy-MM-dd HH:mm", zone="UTC")
    fields = {**TOPIC.value.fields, "scheduled_at": coarse}
    value = TOPIC.value.model_copy(update={"fields": fields})
    late = PIPELINE.model_copy(update={"time": TimeRules(allowed_lateness=3 * HOUR + SECOND, future_skew=HOUR)})
    plain = feed(source_of(records), topic, store, pipelines=(late,))
    sender = replace(plain, topic=TOPIC.model_copy(update={"value": value}))
    done = sender.send(day(1), day(2))
    assert done.heartbeat == done.manifest.latest_event == datetime(2013, 1, 3, 4, 1, tzinfo=UTC)
    assert heartbeats(topic) == ["2013-01-03 04:01"]
    assert sender.send(day(1), day(2)).heartbeat is None


def test_the_manifest_says_what_the_topic_has(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(patience=5), MemoryStore()
    feed(source_of(records), topic, store).send(day(1), day(2))
    manifest = store.load()
    assert manifest is not None
    (entry,) = manifest.ranges
    assert (entry.records, entry.finished, manifest.sending) == (48, True, False)
    assert entry.days == Counter(record.day for record in records if record.day <= day(2))
    assert entry.keys == Counter(record.key.decode() for record in records if record.day <= day(2))
    assert entry.start == dict.fromkeys(range(4), 0)
    assert entry.end == manifest.known_offsets == topic.ends()
    assert (manifest.complete, manifest.partial) == ({day(1), day(2)}, {})


def test_a_recreated_topic_starts_anew_and_the_old_manifest_is_kept(source_of: Sources) -> None:
    records, store = flights(), MemoryStore()
    feed(source_of(records), InMemoryTopic(), store).send(day(2), day(2))
    again = InMemoryTopic()
    again.id = "topic-2"
    feed(source_of(records), again, store).send(day(1), day(1))
    assert sent(again) == identities(records, 1, 1)
    assert store.retired == ["topic-1"]


def test_a_lost_manifest_is_rebuilt_from_the_topic(source_of: Sources) -> None:
    topic, store, source = InMemoryTopic(), MemoryStore(), source_of(flights())
    feed(source, topic, store).send(day(1), day(2))
    before, store.text = topic.ends(), None
    done = feed(source, topic, store).send(day(1), day(2))
    assert (done.recovered, done.sent, done.heartbeat) == (48, 0, None)
    assert topic.ends() == before
    assert done.manifest.complete == {day(1), day(2)}


def test_records_of_somebody_else_are_no_proof_that_a_flight_was_sent(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    for value in (None, b"", b"no json", b"[1]", b'{"flight_id": 3}', b'{"flight_id": true}', b"\xff"):
        topic.append(value)
    done = feed(source_of(records), topic, store).send(day(1), day(1))
    assert (done.recovered, done.sent) == (0, 24)


def test_a_doubled_record_of_somebody_else_is_counted_once(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    feed(source_of(records), topic, store).send(day(1), day(1))
    topic.append(encode(records[0].value))
    topic.append(encode(records[30].value))
    topic.append(encode(records[30].value))
    done = feed(source_of(records), topic, store).send(day(1), day(2))
    assert (done.recovered, done.sent, done.manifest.records) == (1, 23, 48)


def test_a_topic_that_lost_records_which_nobody_counted_is_refused(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    feed(source_of(records), topic, store).send(day(1), day(1))
    topic.trimmed = [offset + 2 for offset in topic.ends().values()]
    with pytest.raises(RefusedError, match="might be sent twice"):
        feed(source_of(records), topic, store).send(day(2), day(2))


def test_what_was_still_on_its_way_when_the_sender_died_is_waited_for(source_of: Sources) -> None:
    class SlowTopic(InMemoryTopic):
        """What waits is appended after the first check of the ends, as a broker may do with a dead sender's request."""

        polls = 0

        def ends(self) -> Mapping[int, int]:
            found = super().ends()
            self.polls += 1
            if self.polls == 2:
                while any(self.waiting):
                    self.deliver(next(p for p, waiting in enumerate(self.waiting) if waiting))
            return found

    records, topic, store = [make_record(n, 0, n) for n in range(12)], SlowTopic(patience=10**6), MemoryStore()
    with pytest.raises(KilledError):
        feed(source_of(records), topic, store, producer=DyingProducer(topic, 6)).send(day(1), day(1))
    assert any(topic.waiting)
    topic.polls = 1
    feed(source_of(records), topic, store).send(day(1), day(1))
    assert sent(topic) == identities(records, 1, 1)


@given(
    seed=st.integers(0, 10**6),
    patience=st.sampled_from([0, 2, 10, 40]),
    deaths=st.lists(st.tuples(st.sampled_from(["sends", "saves"]), st.integers(0, 30), st.integers(1, 3)), max_size=4),
)
def test_however_often_the_sender_is_killed_every_record_is_in_the_topic_once(
    source_of: Sources, seed: int, patience: int, deaths: list[tuple[str, int, int]]
) -> None:
    records, topic, store = flights(), InMemoryTopic(patience=patience, seed=seed), MemoryStore()
    source = source_of(records)
    for where, count, last in deaths:
        store.saves_left = count if where == "saves" else None
        producer = DyingProducer(topic, count if where == "sends" else 10**6)
        try:
            feed(source, topic, store, producer=producer).send(day(1), day(last))
        except KilledError:
            topic.lose_the_sender()
    store.saves_left = None
    # A heartbeat after a shorter range is no reason to refuse what follows it.
    done = feed(source, topic, store).send(day(1), day(3))
    assert sent(topic) == identities(records, 1, 3)
    assert len(set(heartbeats(topic))) == len(heartbeats(topic))
    assert done.manifest.records == len(records)
    assert done.manifest.days() == Counter(record.day for record in records)
    assert done.manifest.known_offsets == topic.ends()
    assert not done.manifest.sending


class WatchingProducer:
    """Measures how much arrival time the unacknowledged records span."""

    def __init__(self, topic: InMemoryTopic) -> None:
        self._topic = topic
        self.widest = timedelta(0)

    def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> InMemoryAcknowledgement:
        acknowledgement = self._topic.send(key, value, partition)
        arrivals = [
            datetime.fromisoformat(json.loads(waiting)["observed_at"])
            for queue in self._topic.waiting
            for waiting, _ in queue
        ]
        if arrivals:
            self.widest = max(self.widest, max(arrivals) - min(arrivals))
        return acknowledgement


@given(
    seed=st.integers(0, 10**6),
    minutes=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 90), st.sampled_from("ABCDE")), max_size=60),
)
def test_unacknowledged_records_never_span_more_arrival_time_than_allowed(
    source_of: Sources, seed: int, minutes: list[tuple[int, int, str]]
) -> None:
    records = [make_record(i, 0, minute, delay, key) for i, (minute, delay, key) in enumerate(minutes)]
    records.append(make_record(10_000, 0, 0))
    topic = InMemoryTopic(patience=30, seed=seed)
    producer = WatchingProducer(topic)
    feed(source_of(records), topic, MemoryStore(), producer=producer).send(heartbeat=False)  # type: ignore[arg-type]
    assert producer.widest <= QUARTER
    assert sum(sent(topic).values()) == len(records)


def test_several_records_are_in_flight_at_a_time(source_of: Sources) -> None:
    records = [make_record(i, 0, i) for i in range(30)]
    topic = InMemoryTopic(patience=10**6)
    producer = WatchingProducer(topic)
    feed(source_of(records), topic, MemoryStore(), producer=producer).send(heartbeat=False)  # type: ignore[arg-type]
    assert producer.widest == QUARTER


def test_a_heartbeat_is_sent_only_after_everything_is_acknowledged(source_of: Sources) -> None:
    class StrictTopic(InMemoryTopic):
        def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> InMemoryAcknowledgement:
            if b"heartbeat" in value:
                assert not any(self.waiting)
            return super().send(key, value, partition)

    topic = StrictTopic(patience=50)
    feed(source_of(flights()), topic, MemoryStore()).send()
    assert len(heartbeats(topic)) == 1


@pytest.mark.parametrize(
    ("pace", "seconds"),
    [(Pace(rate=10), 2.2), (Pace(speed=3600), 11.0)],
    ids=["by rate", "in step with arrival"],
)
def test_a_pace_is_kept_by_the_clock(source_of: Sources, pace: Pace, seconds: float) -> None:
    clock = ManualClock()
    records = [make_record(n, 0, 30 * n) for n in range(23)]
    feed(source_of(records), InMemoryTopic(), MemoryStore(), clock=clock).send(pace=pace, heartbeat=False)
    assert clock.monotonic() == pytest.approx(seconds)


def test_progress_ends_with_everything_sent(source_of: Sources) -> None:
    seen: list[SendProgress] = []
    feed(source_of(flights()), InMemoryTopic(patience=3), MemoryStore()).send(report=seen.append)
    assert (seen[-1].sent, seen[-1].total, seen[-1].seconds_left) == (72, 72, 0)
    assert len(seen) > 2
    assert [p.sent for p in seen] == sorted(p.sent for p in seen)
    assert all(p.rate > 0 for p in seen[1:])


def test_without_dates_all_of_the_source_is_sent(source_of: Sources) -> None:
    records, topic = flights(), InMemoryTopic()
    feed(source_of(records), topic, MemoryStore()).send()
    assert sent(topic) == identities(records, 1, 3)


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [(2, 1, "ends before it begins"), (9, 10, "no record from 2013-01-09 to 2013-01-10")],
)
def test_a_range_without_days_is_refused_with_what_there_is(
    source_of: Sources, first: int, last: int, said: str
) -> None:
    with pytest.raises(SpecError, match=said):
        feed(source_of(flights()), InMemoryTopic(), MemoryStore()).send(day(first), day(last))


def test_the_bytes_in_the_topic_are_those_of_the_source(source_of: Sources) -> None:
    records, topic = flights(1), InMemoryTopic()
    feed(source_of(records), topic, MemoryStore()).send(heartbeat=False)
    assert Counter(topic.values()) == Counter(encode(record.value) for record in records)
    assert records[0].event == NOON


def test_a_feed_that_was_killed_waits_for_an_open_transaction_that_may_hide_its_records(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    with pytest.raises(KilledError):
        feed(source_of(records), topic, store, producer=DyingProducer(topic, 30)).send(day(1), day(2))
    topic.behind_open = {0: 1}
    with pytest.raises(RefusedError, match=r"hides the last offsets of flights \(1 of partition 0\)"):
        feed(source_of(records), topic, store).send(day(1), day(2))
    topic.behind_open = {}
    feed(source_of(records), topic, store).send(day(1), day(2))
    assert sent(topic) == identities(records, 1, 2)


def test_a_record_that_the_topic_does_not_take_is_named_and_the_rest_is_sent_when_it_does(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    topic.largest = 10
    with pytest.raises(RecordTooLargeError, match=r"before its record \d+\. A record is larger than 10 bytes"):
        feed(source_of(records), topic, store).send(day(1), day(1))
    topic.largest = None
    assert feed(source_of(records), topic, store).send(day(1), day(1)).sent == 24


def test_a_feed_that_knows_what_it_sent_goes_on_beside_an_open_transaction(source_of: Sources) -> None:
    records, topic, store = flights(), InMemoryTopic(), MemoryStore()
    feed(source_of(records), topic, store).send(day(1), day(1))
    topic.append(b"{}")
    topic.behind_open = {0: 2}  # one of them is our own, which lies behind the record of the transaction
    feed(source_of(records), topic, store).send(day(2), day(2))
    topic.behind_open = {}
    feed(source_of(records), topic, store).send(day(1), day(3))
    assert sent(topic) == identities(records, 1, 3)
