"""Dead letters: what is quarantined, in a topic, with its bytes as they were, each once for whoever reads as told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import pytest
from pyspark.sql import Row, SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.deduplication import deduplicated
from sluice.project.tracing.record import trace_record
from sluice.quality.quarantine import LETTER_PREFIX as PREFIX
from sluice.quality.reasons import Reason
from sluice.spark.records.pipeline import PipelineCode, sources_of
from sluice.spark.sinks.dead_letters import letters, refused
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.expectations.model import Expectation, Subject
from sluice.streams.failures.exits import ExitCode
from sluice.tracing.address import RecordAddress
from tests.editing import edit
from tests.integration.spark.conftest import BAD_VALUES, DriverPlace, two_days_of_values
from tests.integration.spark.driver.deliveries import CAP, consumed_raw, only_delays
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder

OUTPUTS = """\
  - {{kind: rows, table: delays}}
  - {{kind: dead_letters, topic: {topic}, create: {{partitions: 3}}}}
"""
GOOD = (
    '{"flight_id": 1, "carrier": "UA", "flight": 7, "origin": "EWR", "dest": "SFO", "cancelled": false, '
    '"scheduled_at": "2013-01-01T10:00:00Z", "observed_at": "2013-01-01T10:05:00Z"}'
)
AT = datetime(2013, 1, 1, 10, 0, 0, 250000, tzinfo=UTC)
RECORDS = "_topic_id string, _partition int, _offset long, _timestamp timestamp, _key binary, _value binary, {headers}"
HEADERS = "_headers array<struct<key: string, value: binary>>"


def headers_of(headers: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    return {name: bytes(value).decode() for name, value in headers}


def sent(
    spark: SparkSession,
    catalog: Catalog,
    value: bytes | None,
    *,
    headers: Sequence[tuple[str, bytearray]] | None = None,
    expected: Sequence[Expectation] = (),
) -> list[Row]:
    pipeline = catalog.pipelines["departures"]
    sources = sources_of(pipeline, catalog.topics, {"flights": expected})
    code = PipelineCode(pipeline, sources, {}, "c0de")
    row = ("id", 3, 41, AT, None, value if value is None else bytearray(value), headers)
    records = spark.createDataFrame([row], RECORDS.format(headers=HEADERS))
    return letters(refused({"flights": records}, code), code, partitions=2, generation=5, position=99).collect()


def test_a_letter_is_the_record_with_where_it_was_and_why_it_was_refused(spark: SparkSession, catalog: Catalog) -> None:
    broken = GOOD.replace('"flight": 7', '"flight": "secret-7"').encode()
    (letter,) = sent(spark, catalog, broken, headers=[("trace", bytearray(b"\xff"))])
    assert (letter["key"], bytes(letter["value"]), letter["partition"]) == (None, broken, 1)
    own, *ours = letter["headers"]
    assert (own["key"], bytes(own["value"])) == ("trace", b"\xff")
    told = headers_of(ours)
    assert {name.removeprefix(PREFIX): value for name, value in told.items() if name.startswith(PREFIX)} == {
        "topic": "flights",
        "topic.id": "id",
        "partition": "3",
        "offset": "41",
        "timestamp": str(int(AT.timestamp() * 1000)),
        "pipeline": "departures",
        "pipeline.code": "c0de",
        "stage": "VALIDATION",
        "reason": "wrong_type",
        "message": f"{Reason.WRONG_TYPE.meaning}: flight is text, and no whole number",
    }
    assert "secret-7" not in str(told)
    assert (told["sluice-id"], told["sluice-generation"], told["sluice-position"]) == ("id-3-41", "5", "99")


def test_a_tombstone_stays_one_and_what_is_not_quarantined_sends_nothing(spark: SparkSession, catalog: Catalog) -> None:
    (letter,) = sent(spark, catalog, None)
    assert letter["value"] is None
    assert headers_of(letter["headers"])[f"{PREFIX}reason"] == "tombstone"
    assert sent(spark, catalog, GOOD.encode()) == []
    late = GOOD.replace("2013-01-01T10:00", "2013-01-01T06:00")
    assert sent(spark, catalog, late.encode()) == []
    heartbeat = '{"heartbeat": true, "scheduled_at": "2013-01-01T10:00:00Z", "observed_at": "2013-01-01T10:00:00Z"}'
    assert sent(spark, catalog, heartbeat.encode()) == []


def test_a_broken_expectation_is_named(spark: SparkSession, catalog: Catalog) -> None:
    expected = Expectation(
        expect="expect_column_values_to_be_in_set",
        kwargs={"column": "dest", "value_set": ["LAX"]},
        on=(Subject.RECORD,),
    )
    (letter,) = sent(spark, catalog, GOOD.encode(), expected=[expected])
    told = headers_of(letter["headers"])
    assert told[f"{PREFIX}reason"] == "unexpected"
    assert told[f"{PREFIX}message"].startswith(f"{Reason.UNEXPECTED.meaning}: expect_column_values_to_be_in_set ")
    assert sent(spark, catalog, GOOD.replace("SFO", "LAX").encode(), expected=[expected]) == []


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.proves("poison-records")
def test_each_quarantined_record_is_told_once_whatever_dies(
    place: DriverPlace, broker: BrokerProcess, two_days: int, topic_name: str, faults: FaultRecorder
) -> None:
    assert two_days
    own = only_delays(place, OUTPUTS.format(topic=topic_name))
    # All letters are of one batch.
    edit(own.home / "include/pipelines/delays.yaml", f"max_records_per_batch: {CAP}\n", "")
    failpoint = f"after_write_before_commit@{topic_name}"
    killed = own.run(failpoint=failpoint, generation=1)
    assert killed.returncode == -9, killed.stdout[-3000:] + killed.stderr[-3000:]
    assert own.fired(failpoint)
    assert own.run(generation=2).returncode == ExitCode.STOPPED
    records = consumed_raw(broker.bootstrap, topic_name)
    once = list(deduplicated(records))
    assert {bytes(each.key).decode(): each.value for each in once} == BAD_VALUES
    assert len(once) == len(BAD_VALUES)
    reasons = {bytes(each.key).decode(): headers_of(each.headers)[f"{PREFIX}reason"] for each in once}
    assert reasons == {kind: kind for kind in BAD_VALUES}
    faults.struck(f"{len(BAD_VALUES)} records were quarantined, each for its own reason: {', '.join(reasons)}")
    faults.counted(Census.of(BAD_VALUES.values(), [each.value for each in once]), what="dead letters")
    faults.counted(own.census(two_days_of_values()), what="dead letters and raw records")
    assert len(records) > len(once), "the killed batch was sent twice, or the kill proved nothing"
    assert own.run(generation=3).returncode == ExitCode.STOPPED
    assert len(consumed_raw(broker.bootstrap, topic_name)) == len(records), "a restart sends nothing again"
    for letter in once:
        told = headers_of(letter.headers)
        address = RecordAddress("flights", int(told[f"{PREFIX}partition"]), int(told[f"{PREFIX}offset"]))
        (delays,) = (each for each in trace_record(own.project(), address).pipelines if each.pipeline == "delays")
        (found,) = (each.letter for each in delays.outputs if each.kind == "dead_letters")
        assert found is not None, "the letter that is found is one of the batch that was sent twice"
        assert found.place.startswith(f"{topic_name}/{letter.partition}/")
        assert (found.reason, found.message) == (told[f"{PREFIX}reason"], told[f"{PREFIX}message"])
