"""Starts that are no beginnings, and resets, with real drivers: closed intervals stay, and counts are the oracle's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kafka import KafkaAdminClient, TopicPartition
from pyspark.sql import SparkSession

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.backfill.request import Mode, Only
from sluice.intervals.ledger import LedgerRow
from sluice.specs.model.start import Edge
from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.resetting import Resetting, Target
from sluice.streams.position.epochs import Epochs
from sluice.streams.position.reset import StreamReset
from sluice.topics.administration import TopicCreation
from tests.integration.spark.backfill.backfills import Drained
from tests.integration.spark.conftest import DriverPlace, Feed, place_at
from tests.integration.spark.driver.deliveries import consumed, only_delays, records_of
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences, differing_hours
from tests.waiting import eventually

DAYS = ("2013-01-01", "2013-01-02")


def epochs(place: DriverPlace, stream: str = "departures") -> Epochs:
    return place.project().streams.epochs(stream)


def ends(place: DriverPlace) -> dict[int, int]:
    with place.project().kafka.administration() as cluster:
        return dict(cluster.ends("flights"))


def reset(place: DriverPlace, target: Target, *streams: str) -> Sequence[StreamReset]:
    """Reset what is stopped: no driver runs here beside the test."""
    project = place.project()
    with project.kafka.administration() as cluster:
        unit, catalog = project.catalog.units()["flights"], project.catalog
        resetting = Resetting(unit, catalog, lambda stream: epochs(place, stream), cluster, SystemClock())
        planned = resetting.plan(target, streams)
        for one in planned:
            resetting.record(one, target, by="test", why="to see")
    return planned


def run(place: DriverPlace, generation: int, expected: int = ExitCode.STOPPED, failpoint: str = "") -> None:
    finished = place.run(generation=generation, failpoint=failpoint)
    assert finished.returncode == expected, finished.stdout[-3000:] + finished.stderr[-3000:]
    assert not failpoint or place.fired(failpoint)


def ledger(place: DriverPlace) -> Mapping[pd.Timestamp, LedgerRow]:
    return {pd.Timestamp(start): row for start, row in place.project().tables.ledger("departures").rows.items()}


def dirty_hours(place: DriverPlace) -> set[pd.Timestamp]:
    return {start for start, row in ledger(place).items() if row.dirty}


def starting_at(place: DriverPlace, start: object) -> DriverPlace:
    return place.with_departures(f"start: {json.dumps(start)}")


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_a_start_in_the_middle_outlives_a_crash_and_what_it_knows_in_part_is_dirty(
    place: DriverPlace, two_days: int
) -> None:
    half = {str(partition): end // 2 for partition, end in ends(place).items()}
    own = starting_at(place, half)
    run(own, 1, expected=-9, failpoint="before_write@departures")
    begun = {stream: epochs(own, stream).newest() for stream in ("departures", "departures_live")}
    assert {record and json.dumps(record.offsets) for record in begun.values()} == {
        json.dumps({f"flights/{partition}": offset for partition, offset in half.items()})
    }
    run(own, 2)

    wrong, dirty = differing_hours(own.table("departures"), departures(*DAYS)), dirty_hours(own)
    assert wrong, "a start in the middle lacks what came before"
    first = own.table("departures")["hour"].min()
    assert {hour for hour in wrong if hour >= first} <= dirty
    assert dirty < set(ledger(own))
    assert len(own.table("flights_raw")) == two_days, "a raw table begins with its topic, wherever its pipelines do"


@dataclass(frozen=True)
class Bench:
    """A place whose broker no other test knows, and what is sent to it."""

    place: DriverPlace
    feed: Feed
    broker: BrokerProcess


@pytest.fixture
def bench(own_broker: BrokerProcess, tmp_path: Path) -> Bench:
    return Bench(place_at(tmp_path / "state", own_broker), Feed(own_broker.bootstrap), own_broker)


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_resets_forwards_and_backwards_leave_closed_intervals_as_they_are(bench: Bench) -> None:
    place = bench.place
    bench.feed.send(0.4)
    run(place, 1)
    closed, rows = ledger(place), place.table("departures")
    assert closed

    skipped = bench.feed.send(0.2) - sum(epochs(place).checkpoint().read().batches[0].offsets.values())
    planned = reset(place, Edge.LATEST)
    assert [(one.stream, one.repeated, one.skipped) for one in planned] == [
        ("departures", 0, skipped),
        ("departures_live", 0, skipped),
    ]
    bench.feed.send_rest()
    run(place, 2, expected=-9, failpoint="before_write@departures")  # between the record and the first commit
    run(place, 3)
    after = ledger(place)
    assert {start: after[start] for start in closed} == closed
    table, expected = place.table("departures"), departures(*DAYS)
    assert differences(table[table["hour"].isin(rows["hour"])], expected[expected["hour"].isin(rows["hour"])]) == []
    assert differences(table, expected) == [], "what its stream has skipped is in the raw table"
    assert dirty_hours(place) == set()

    # Backwards over everything, with every interval closed: all is read again, and nothing is written again.
    (planned_back,) = reset(place, Edge.EARLIEST, "departures")
    assert planned_back.repeated == bench.feed.sent
    run(place, 4)
    assert ledger(place) == after
    assert differences(place.table("departures"), expected) == []
    assert len(place.table("flights_raw")) == bench.feed.sent
    assert [epoch.number for epoch in epochs(place).all()] == [0, 1, 2]


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_rows_are_repeated_and_left_out_exactly_as_a_reset_says(bench: Bench) -> None:
    place = only_delays(bench.place, "  - {kind: rows, table: delays}\n")
    bench.feed.send(0.4)
    run(place, 1)
    then = {f"flights/{partition}": end // 2 for partition, end in ends(place).items()}
    (back,) = reset(place, then)
    run(place, 2)
    once = delivered(bench, lambda _partition, _offset: True)
    again = delivered(bench, lambda partition, offset: offset >= then[f"flights/{partition}"])
    assert Counter(place.table("delays")["flight_id"]) == once + again
    assert back.repeated == sum(ends(place).values()) - sum(then.values())

    before = ends(place)
    bench.feed.send(0.2)
    left_out = ends(place)
    (on,) = reset(place, Edge.LATEST)
    assert (on.repeated, on.skipped) == (0, sum(left_out.values()) - sum(before.values()))
    bench.feed.send_rest()
    run(place, 3)
    news = delivered(bench, lambda partition, offset: offset >= left_out[partition])
    assert news
    assert Counter(place.table("delays")["flight_id"]) == once + again + news


def delivered(bench: Bench, wanted: Callable[[int, int], bool]) -> Counter[int]:
    """Count the flights of some records that the pipeline `delays` must deliver."""
    return Counter(value["flight_id"] for value in departed(bench, wanted))


def departed(bench: Bench, wanted: Callable[[int, int], bool]) -> Iterator[Mapping[str, Any]]:
    """Yield what the pipeline `delays` must deliver of some records, by the test's own reading of them."""
    for partition, offset, value in records_of(bench.broker.bootstrap, "flights"):
        if wanted(partition, offset) and "departed_at" in value and value["dep_delay_min"] <= 180:
            yield value


NEWEST_AND_RECORDS = """\
  - {{kind: latest, table: slowest, keys: [carrier], newest_by: delay}}
  - {{kind: topic, topic: {topic}, keys: [carrier], create: {{partitions: 2}}}}
"""


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_newest_rows_stay_and_records_are_repeated_and_left_out_exactly_as_a_reset_says(
    bench: Bench, topic_name: str
) -> None:
    place = only_delays(bench.place, NEWEST_AND_RECORDS.format(topic=topic_name))
    bench.feed.send(0.4)
    run(place, 1)
    newest = slowest(place)
    then = {f"flights/{partition}": end // 2 for partition, end in ends(place).items()}
    reset(place, then)
    run(place, 2, expected=-9, failpoint=f"after_write_before_commit@{topic_name}")  # repeats by itself what it sent
    run(place, 3)
    once = delivered(bench, lambda _partition, _offset: True)
    again = delivered(bench, lambda partition, offset: offset >= then[f"flights/{partition}"])
    assert told(bench, topic_name) == once + again
    assert slowest(place) == newest == slowest_of(departed(bench, lambda _partition, _offset: True))

    read = ends(place)
    bench.feed.send(0.2)
    left_out = ends(place)
    reset(place, Edge.LATEST)
    bench.feed.send_rest()
    run(place, 4)

    def is_news(partition: int, offset: int) -> bool:
        return offset >= left_out[partition]

    assert told(bench, topic_name) == once + again + delivered(bench, is_news)
    assert slowest(place) == slowest_of(departed(bench, lambda p, o: o < read[p] or is_news(p, o)))
    assert slowest(place) != slowest_of(departed(bench, lambda _partition, _offset: True)), "the control"


def told(bench: Bench, topic: str) -> Counter[int]:
    """Count the flights in the output topic, as a consumer that drops repetitions takes them."""
    return Counter(value["flight_id"] for value in consumed(bench.broker.bootstrap, topic).once)


def slowest(place: DriverPlace) -> dict[str, int]:
    found: dict[str, int] = place.table("slowest").set_index("carrier")["delay"].to_dict()
    return found


def slowest_of(values: Iterator[Mapping[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for value in values:
        found[value["carrier"]] = max(found.get(value["carrier"], -1_000), value["dep_delay_min"])
    return found


@pytest.mark.verify
@pytest.mark.timeout(900)
@pytest.mark.proves("topic-recreated")
def test_a_topic_that_was_created_again_is_refused_and_after_a_reset_read_whole(
    bench: Bench, spark: SparkSession, faults: FaultRecorder
) -> None:
    place, streams = bench.place, ("raw_flights", "departures", "departures_live")
    bench.feed.send(0.3)
    run(place, 1)
    old, closed = place.table("flights_raw"), ledger(place)
    assert closed
    with closing(KafkaAdminClient(bootstrap_servers=bench.broker.bootstrap)) as client:
        client.delete_topics(["flights"])
    eventually(lambda: not exists(place))
    create(place)
    bench.feed.send_rest()  # more than was read of the old topic: no offset is out of range
    run(place, 2, expected=ExitCode.DATA_LOSS)
    faults.struck("the topic has another id, and the driver ended as DATA_LOSS")
    assert len(place.table("flights_raw")) == len(old)

    assert [(one.stream, one.repeated) for one in reset(place, Edge.EARLIEST, *streams)] == [(s, 0) for s in streams]
    run(place, 3)
    faults.recovered()
    faults.counted(place.census(bench.feed.sent_values))
    raw = place.table("flights_raw")
    new = raw[~raw["topic_id"].isin(old["topic_id"])]
    assert len(raw) - len(new) == len(old)
    assert len(new) == bench.feed.sent - len(old)
    assert not new.duplicated(["topic_id", "partition", "offset"]).any()

    after, expected = ledger(place), departures(*DAYS)
    assert {start: after[start].base for start in closed} == {start: row.base for start, row in closed.items()}
    assert differences(place.table("departures"), expected) == [], "open intervals are made of both topics"
    assert dirty_hours(place) == set()
    assert Drained(place.state, spark, place.project()).run(Mode.VERIFY).outcome == "identical"


def create(place: DriverPlace) -> None:
    with place.project().kafka.administration() as cluster:
        cluster.create([TopicCreation("flights", 4, 1, {"retention.ms": "-1"})])


def exists(place: DriverPlace) -> bool:
    with place.project().kafka.administration() as cluster:
        return bool(cluster.describe(["flights"]))


@pytest.mark.verify
@pytest.mark.timeout(900)
@pytest.mark.proves("retention-overtakes")
def test_records_that_are_gone_are_acknowledged_by_a_reset_and_no_other_is_lost_or_repeated(
    bench: Bench, spark: SparkSession, faults: FaultRecorder
) -> None:
    place = bench.place
    bench.feed.send(0.4)
    run(place, 1)
    read = ends(place)
    bench.feed.send(0.3)
    gone = {partition: offset + 20 for partition, offset in read.items()}
    with closing(KafkaAdminClient(bootstrap_servers=bench.broker.bootstrap)) as client:
        client.delete_records({TopicPartition("flights", partition): offset for partition, offset in gone.items()})
    run(place, 2, expected=ExitCode.DATA_LOSS)
    faults.struck(f"{20 * len(gone)} unread records are gone from the broker, and the driver ended as DATA_LOSS")

    planned = reset(place, Edge.EARLIEST, "raw_flights", "departures", "departures_live")
    assert [(one.stream, one.repeated, one.gone) for one in planned] == [
        (stream, 0, 20 * len(gone)) for stream in ("raw_flights", "departures", "departures_live")
    ]
    bench.feed.send_rest()
    run(place, 3)
    faults.recovered()
    raw = place.table("flights_raw")
    assert not raw.duplicated(["topic_id", "partition", "offset"]).any()
    for partition, offsets in raw.groupby("partition")["offset"]:
        end = ends(place)[partition]
        assert sorted(offsets) == [*range(read[partition]), *range(gone[partition], end)]
    there = records_of(bench.broker.bootstrap, "flights")  # what is gone is not there either: no record is owed twice
    owed = [(p, o) for p in read for o in range(read[p])] + [(p, o) for p, o, _ in there if o >= gone[p]]
    found = zip(raw["partition"], raw["offset"], strict=True)
    faults.counted(Census.of(owed, found), what="raw records, without those that are acknowledged as gone")

    wrong, marked = differing_hours(place.table("departures"), departures(*DAYS)), dirty_hours(place)
    assert wrong, "the control: what is gone is missing"
    assert wrong <= marked
    rows = ledger(place)
    assert all(rows[hour].lossy for hour in marked)
    assert len(marked) < len(rows) / 2, "only hours that lost records may have belonged to"
    drained = Drained(place.state, spark, place.project())
    recomputed = drained.run(Mode.RECOMPUTE, only=Only.DIRTY)
    assert recomputed.outcome == "gate_failed", "the gate misses what is gone"
    assert dirty_hours(place) == marked
    assert drained.run(Mode.VERIFY).outcome == "inconclusive", "what is lost in part is not compared"
