from __future__ import annotations

from datetime import timedelta

from sluice.feeds.in_flight import InFlight
from sluice.feeds.record import FeedRecord
from tests.twins.feed_source import make_record
from tests.twins.feed_topic import InMemoryAcknowledgement, InMemoryTopic

NEVER = 10**9
RECORDS = [make_record(n, 0, n) for n in range(4)]


def filled(topic: InMemoryTopic) -> tuple[InFlight, list[InMemoryAcknowledgement]]:
    """Send all to partitions 0, 1, 0, 1; nothing is acknowledged by itself."""
    in_flight, answers = InFlight(timedelta(minutes=15)), []
    for record in RECORDS:
        answers.append(topic.send(record.key, b"{}", partition=record.identity % 2))
        in_flight.add(record, answers[-1])
    return in_flight, answers


def identities(found: object) -> list[int]:
    return [record.identity for record, _ in found]  # type: ignore[attr-defined]


def test_what_is_acknowledged_leaves_without_waiting_for_the_rest() -> None:
    topic = InMemoryTopic(patience=NEVER)
    in_flight, _ = filled(topic)
    topic.deliver(0)
    assert identities(in_flight.make_room(RECORDS[-1].arrival)) == [0]
    assert len(topic.waiting[0]) + len(topic.waiting[1]) == 3


def test_records_leave_in_the_order_in_which_they_were_sent() -> None:
    topic = InMemoryTopic(patience=NEVER)
    in_flight, _ = filled(topic)
    topic.deliver(1)
    assert identities(in_flight.collect()) == []
    topic.deliver(0)
    assert identities(in_flight.collect()) == [0, 1]


def test_room_is_made_by_waiting_for_the_oldest_alone() -> None:
    topic = InMemoryTopic(patience=NEVER)
    in_flight, answers = filled(topic)
    new: FeedRecord = make_record(9, 0, 16)
    assert identities(in_flight.make_room(new.arrival)) == [0]
    assert [answer.position is None for answer in answers] == [False, True, True, True]


def test_draining_waits_for_everything() -> None:
    topic = InMemoryTopic(patience=NEVER)
    in_flight, _ = filled(topic)
    assert identities(in_flight.drain()) == [0, 1, 2, 3]
    assert identities(in_flight.drain()) == []
