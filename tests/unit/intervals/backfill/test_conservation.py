"""A raw table that lacks a record, alters one or has one twice is convicted; marks, holes and retention are not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill import conservation
from sluice.intervals.backfill.conservation import STRETCH, STRETCHES, KafkaRecords, compare_with_kafka
from sluice.intervals.backfill.raw_parity import RawFault, RawFaultKind, RawParity
from sluice.intervals.raw_floor import RawFloor
from sluice.intervals.reach import Hole, RawPosition, Reach
from tests.twins.stored_records import FORMER, MIDNIGHT, TOPIC, InMemoryRawTable, InMemoryStoredTopic

HOURS = Interval(MIDNIGHT, MIDNIGHT + timedelta(hours=6))
SAMPLE = STRETCH * (STRETCHES + 2)


@dataclass
class Bench:
    raw: InMemoryRawTable = field(default_factory=InMemoryRawTable)
    kafka: InMemoryStoredTopic = field(default_factory=InMemoryStoredTopic)
    holes: tuple[Hole, ...] = ()
    floor: RawFloor | None = None
    begun: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, *ends: int) -> Bench:
        """Return a sound table: so many records in each partition."""
        bench = cls()
        for partition, end in enumerate(ends):
            for offset in range(end):
                bench.raw.add(partition, offset)
                bench.kafka.add(partition, offset)
        return bench

    def lose(self, partition: int, offset: int) -> None:
        del self.raw.rows[TOPIC, partition, offset]

    def alter(self, partition: int, offset: int, **parts: object) -> None:
        place = (TOPIC, partition, offset)
        self.raw.rows[place] = [replace(self.raw.rows[place][0], **parts)]  # type: ignore[arg-type]  fields of it

    def compared(self, *, seed: str = "b", kafka: KafkaRecords | None = None, times: Interval = HOURS) -> RawParity:
        ends = {f"flights/{partition}": end for partition, end in self.kafka.end.items()}
        position = RawPosition(7, Reach(ends, (FORMER, TOPIC)), self.holes, floor=self.floor, begun=self.begun)
        opened = kafka or self.kafka
        return compare_with_kafka(self.raw, lambda: opened, position, [times], topic="flights", seed=seed)


def fault(partition: int, offset: int, kind: RawFaultKind, *parts: str) -> RawFault:
    return RawFault(TOPIC, f"flights/{partition}", offset, kind, parts)


def test_a_sound_table_is_checked_whole_and_its_bytes_at_both_ends_and_in_between() -> None:
    bench = Bench.of(2_000, 100)
    found = bench.compared()
    assert found == RawParity(partitions=2, offsets=2_100, compared=found.compared)
    assert bench.kafka.asked == {0: found.compared - 100, 1: 100}
    assert STRETCH * STRETCHES < found.compared - 100 <= SAMPLE
    assert found.lines[1] == f"{found.compared} records compared with Kafka byte by byte"


def test_copies_of_a_former_topic_lie_below_where_its_stream_was_to_begin_and_are_not_lost() -> None:
    bench = Bench.of(2_000)
    for offset in (*range(700), 900):
        bench.lose(0, offset)
    assert bench.compared().faults[RawFaultKind.LOST] > 1
    bench.begun = {"flights/0": 700}
    assert bench.compared().examples == (fault(0, 900, RawFaultKind.LOST),), "what is lost behind there is"
    bench.begun = {"flights/0": 900}
    assert bench.compared().faults == {RawFaultKind.LOST: 1}, "it is never believed against what the table has"


@pytest.mark.parametrize("offset", [0, 1, 999, 1_000, 1_999])
def test_a_record_that_the_table_lacks_and_kafka_has_is_lost_also_at_the_edges(offset: int) -> None:
    bench = Bench.of(2_000)
    bench.lose(0, offset)
    found = bench.compared()
    assert found.faults == {RawFaultKind.LOST: 1}
    assert found.examples == (fault(0, offset, RawFaultKind.LOST),)
    assert f"flights/0 offset {offset} lost" in found.why


@pytest.mark.parametrize(("part", "value"), [("key", None), ("value", b"1"), ("headers", ()), ("timestamp", None)])
def test_another_byte_of_any_part_is_found_and_named(part: str, value: object) -> None:
    bench = Bench.of(100)
    bench.alter(0, 50, **{part: value})
    found = bench.compared()
    assert found.examples == (fault(0, 50, RawFaultKind.ALTERED, part),)
    assert f"flights/0 offset 50 altered ({part})" in found.why


def test_the_first_and_the_last_record_are_always_compared_and_the_seed_chooses_the_others() -> None:
    for offset in (0, 4_999):
        bench = Bench.of(5_000)
        bench.alter(0, offset, value=b"other")
        assert bench.compared().faults == {RawFaultKind.ALTERED: 1}
    bench = Bench.of(5_000)
    bench.alter(0, 2_500, value=b"other")
    found = {seed: bool(bench.compared(seed=str(seed)).faults) for seed in range(200)}
    assert set(found.values()) == {True, False}
    assert {seed: bool(bench.compared(seed=str(seed)).faults) for seed in range(200)} == found


def test_a_record_that_is_there_twice_is_found_without_kafka() -> None:
    bench = Bench.of(100)
    bench.raw.add(0, 7)
    assert bench.compared().examples == (fault(0, 7, RawFaultKind.REPEATED),)
    assert bench.compared(kafka=InMemoryStoredTopic(reachable=False)).faults == {RawFaultKind.REPEATED: 1}


def test_a_record_that_kafka_does_not_have_among_those_that_it_has_is_foreign() -> None:
    bench = Bench.of(100)
    del bench.kafka.committed[0, 50]
    assert bench.compared().examples == (fault(0, 50, RawFaultKind.FOREIGN),)


def test_marks_of_transactions_and_aborted_records_are_no_records() -> None:
    bench = Bench.of(0)
    for offset in range(3_000):
        is_record = offset % 4 != 3
        bench.kafka.add(0, offset, record=is_record)
        if is_record:
            bench.raw.add(0, offset)
    found = bench.compared()
    assert found.sound
    assert found.no_records + found.unchecked == 750
    assert found.no_records >= conservation.MAX_LOOKED_UP
    assert any("not looked up" in line for line in found.lines)


def test_a_known_hole_is_no_fault_and_what_lies_beside_it_is() -> None:
    bench = Bench.of(2_000)
    for offset in range(500, 601):
        bench.lose(0, offset)
    for offset in range(500, 600):
        del bench.kafka.committed[0, offset]
    bench.holes = (Hole(TOPIC, "flights/0", 500, 600),)
    found = bench.compared()
    assert (found.known, found.faults) == (100, {RawFaultKind.LOST: 1})
    assert found.examples == (fault(0, 600, RawFaultKind.LOST),)


def test_what_kafka_does_not_hold_any_more_is_said_and_never_called_sound_silently() -> None:
    bench = Bench.of(2_000)
    bench.lose(0, 10)
    bench.kafka.first[0] = 900
    found = bench.compared()
    assert found.sound
    assert (found.gone, found.unheld) == (1, 900)
    assert "1 are missing and cannot be checked any more" in found.text
    assert "900 are not held by Kafka any more" in found.text


def test_records_of_a_topic_that_was_created_again_cannot_be_checked_any_more() -> None:
    bench = Bench.of(100)
    for offset in (0, 1, 3):
        bench.raw.add(0, offset, topic=FORMER)
    found = bench.compared()
    assert (found.partitions, found.gone, found.unheld, found.compared) == (2, 1, 4, 100)
    assert found.sound


def test_without_kafka_nothing_fails_and_the_reason_is_said() -> None:
    bench = Bench.of(100)
    bench.lose(0, 50)
    found = bench.compared(kafka=InMemoryStoredTopic(reachable=False))
    assert found.sound
    assert (found.unchecked, found.compared) == (1, 0)
    assert "not compared with Kafka: No Kafka broker could be reached." in found.text


def test_only_the_neighbourhood_of_the_times_is_checked_and_idle_partitions_are_said() -> None:
    bench = Bench.of(10_000, 0, 5)
    for offset in range(10_000):
        bench.raw.times[TOPIC, 0, offset] = MIDNIGHT + timedelta(minutes=10 * (offset - 5_000))
    for offset in range(5):
        bench.raw.times[TOPIC, 2, offset] = MIDNIGHT - timedelta(days=30)
    found = bench.compared()
    a_day, hours = 144, 36
    assert (found.partitions, found.offsets) == (1, 2 * a_day + hours + 2_000)
    assert found.idle == 1
    assert "no record of 1 partition lies in these times" in found.text


def test_a_long_gap_is_looked_up_at_its_ends_and_the_rest_is_said() -> None:
    bench = Bench.of(10_000)
    for offset in range(2_000, 8_000):
        bench.lose(0, offset)
    found = bench.compared()
    assert found.faults == {RawFaultKind.LOST: found.faults[RawFaultKind.LOST]}
    assert found.faults[RawFaultKind.LOST] + found.unchecked == 6_000
    assert len(found.examples) == 20


def test_a_range_ends_after_so_many_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conservation, "MAX_OFFSETS", 1_500)
    found = Bench.of(2_000).compared()
    assert (found.offsets, found.unchecked) == (1_500, 500)


@given(st.data())
def test_whatever_the_table_lacks_is_accounted_for_and_only_what_kafka_has_is_a_fault(data: st.DataObject) -> None:
    bench, kinds = Bench.of(0), {}
    first = data.draw(st.integers(0, 20), "the first offset that Kafka holds")
    bench.kafka.first[0] = first
    for offset, kind in enumerate(data.draw(st.lists(st.sampled_from(["same", "mark", "lost", "hole"]), min_size=1))):
        kinds[offset] = kind
        bench.kafka.add(0, offset, record=kind in {"same", "lost"})
        if kind == "same":
            bench.raw.add(0, offset)
    bench.holes = tuple(Hole(TOPIC, "flights/0", o, o + 1) for o, kind in kinds.items() if kind == "hole")
    found = bench.compared()
    if "same" not in kinds.values():
        assert (found.partitions, found.idle) == (0, 1)
        return
    held = {offset: kind for offset, kind in kinds.items() if offset >= first}
    lost = [offset for offset, kind in held.items() if kind == "lost"]
    assert [each.offset for each in found.examples] == lost[:20]
    assert found.faults == ({RawFaultKind.LOST: len(lost)} if lost else {})
    assert found.known == sum(kind == "hole" for kind in kinds.values())
    began = min(offset for offset, kind in kinds.items() if kind in {"same", "hole"})
    assert found.gone == sum(kind in {"mark", "lost"} for offset, kind in kinds.items() if began < offset < first)
    assert found.no_records == sum(kind == "mark" for kind in held.values())
    assert found.compared == sum(kind == "same" for kind in held.values())
    assert (found.offsets, found.unchecked) == (len(kinds), 0)


def test_parts_are_joined() -> None:
    assert RawParity.joined([]) is None
    one = replace(Bench.of(100).compared(), not_compared="it sleeps")
    broken = Bench.of(50)
    broken.lose(0, 20)
    joined = RawParity.joined([one, broken.compared(), one])
    assert joined is not None
    assert (joined.partitions, joined.offsets, joined.compared) == (3, 250, 249)
    assert (joined.faults, joined.not_compared) == ({RawFaultKind.LOST: 1}, "it sleeps")
    assert {"249 records compared with Kafka byte by byte", "not compared with Kafka: it sleeps"} < set(joined.lines)
    assert joined.why in joined.lines
    assert joined.as_json()["examples"] == [
        {"kind": "lost", "topic_id": TOPIC, "partition": "flights/0", "offset": 20, "parts": []}
    ]


def test_a_table_that_begins_above_the_first_offset_lacks_nothing_below() -> None:
    bench = Bench.of(2_000)
    for offset in range(700):
        bench.lose(0, offset)
    bench.kafka.first[0] = 700
    found = bench.compared()
    assert (found.sound, found.gone, found.unheld, found.unchecked) == (True, 0, 0, 0)
    bench.kafka.first[0] = 699
    found = bench.compared()
    assert found.examples == (fault(0, 699, RawFaultKind.LOST),), "Kafka holds it"
    bench.raw.add(0, 3, at=MIDNIGHT - timedelta(days=9))
    bench.kafka.first[0] = 900
    assert bench.compared().gone == 696, "the table holds an earlier one"


def test_what_retention_has_removed_is_no_fault_and_what_is_younger_is_lost() -> None:
    bench = Bench.of(200)
    bench.floor = RawFloor(MIDNIGHT + timedelta(milliseconds=50), MIDNIGHT)  # offsets below 50 are stamped before it
    for offset in (*range(10), 30, 60):
        bench.lose(0, offset)
    found = bench.compared()
    assert found.faults == {RawFaultKind.LOST: 1}
    assert found.examples == (fault(0, 60, RawFaultKind.LOST),)
    assert (found.removed, found.no_records, found.gone) == (11, 0, 0)
    assert "11 are missing below the floor of raw retention" in found.text


def test_what_neither_has_any_more_is_not_told_apart_from_what_was_removed_beside_the_floor_alone() -> None:
    bench = Bench.of(200)
    bench.kafka.first[0] = 100
    bench.lose(0, 30)
    assert (bench.compared().gone, bench.compared().removed) == (1, 0)
    bench.floor = RawFloor(MIDNIGHT, MIDNIGHT)
    assert (bench.compared().gone, bench.compared().removed) == (0, 1)
    bench.floor = RawFloor(MIDNIGHT - timedelta(days=2), MIDNIGHT)
    assert (bench.compared().gone, bench.compared().removed) == (1, 0)
