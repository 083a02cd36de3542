"""Which output a batch is written to, after crashes and with checkpoints that know too little."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.writer_log import DataLossError
from sluice.errors import RefusedError
from sluice.intervals.entries import StreamEntry
from sluice.spark.sinks.batch_outputs import BatchOutputsSink, WholeWindows, all_known
from sluice.spark.sinks.output_stream import held_by_all
from sluice.spark.sinks.sink import MicroBatch
from sluice.spark.sinks.statefulness import state_in
from sluice.spark.sinks.topic_output import TopicMessages
from sluice.specs.model.outputs import TopicOutput
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.fencing import FencedError
from tests.integration.spark.sinks.lineages import Lineage


def at(hour: int) -> datetime:
    return datetime(2013, 1, 1, hour, tzinfo=UTC)


@dataclass
class Listed:
    """An output that keeps what it is given."""

    name: str
    latest: StreamEntry | None = None
    written: list[list[int]] = field(default_factory=list)
    fenced: bool = False

    def check_fence(self) -> None:
        if self.fenced:
            raise FencedError.of(self.name, 2, 1)

    def write(self, rows: DataFrame, batch: MicroBatch) -> None:
        self.written.append(sorted(row["n"] for row in rows.collect()))
        self.latest = ended(batch.end.offsets["t/0"], batch.lineage, **_others(batch))


def _others(batch: MicroBatch) -> dict[str, int]:
    return {f"p{name[2:]}": end for name, end in batch.end.offsets.items() if name != "t/0"}


def ended(end: int, lineage: str = "a", watermark: datetime | None = None, **others: int) -> StreamEntry:
    ends = {"t/0": end, **{f"t/{name[1:]}": other for name, other in others.items()}}
    return StreamEntry("w", 1, lineage, 0, {}, ends, watermark=watermark)


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(1, 6).select(
        F.col("id").alias("n"), F.timestamp_seconds(1_357_005_600 + F.col("id") * 3600).alias("hour")
    )


def stateless(lineage: Lineage, *outputs: Listed) -> BatchOutputsSink:
    return BatchOutputsSink(outputs, Checkpoint(lineage.folder), floor=held_by_all(outputs), known=all_known)


def stateful(
    lineage: Lineage, *outputs: Listed, newest: datetime | None = None, windows: bool = True
) -> BatchOutputsSink:
    def newest_before(_origin: Mapping[str, int]) -> datetime | None:
        return newest

    known = WholeWindows("hour" if windows else None, newest_before)
    return BatchOutputsSink(outputs, Checkpoint(lineage.folder), floor=None, known=known)


def test_the_output_that_a_crash_left_behind_is_the_only_one_that_is_written(rows: DataFrame, tmp_path: Path) -> None:
    lineage, ahead, behind = Lineage(tmp_path / "a", "a"), Listed("ahead"), Listed("behind")
    lineage.plan(10, None)
    second = lineage.plan(20, None)
    ahead.latest, behind.latest = ended(20), ended(10)
    stateless(lineage, ahead, behind)(rows, second)
    assert (ahead.written, behind.written) == ([], [[1, 2, 3, 4, 5]])


def test_one_output_that_a_newer_generation_owns_fences_the_stream(tmp_path: Path) -> None:
    """Also at a batch that writes nothing: its end would be put on record under the newer driver's checkpoint."""
    lineage, outputs = Lineage(tmp_path / "a", "a"), (Listed("rows"), Listed("topic"))
    for sink in (stateless(lineage, *outputs), stateful(lineage, *outputs)):
        sink.check_fence()
        outputs[1].fenced = True
        with pytest.raises(FencedError, match="topic"):
            sink.check_fence()
        outputs[1].fenced = False


def test_records_that_nobody_read_stop_the_stream(rows: DataFrame, tmp_path: Path) -> None:
    lineage, output = Lineage(tmp_path / "b", "b", origin=15), Listed("rows", ended(10))
    batch = lineage.plan(20, None)
    for sink in (stateless(lineage, output), stateful(lineage, output)):
        with pytest.raises(DataLossError, match="rows holds results up to"):
            sink(rows, batch)
    assert output.written == []


def test_a_new_checkpoint_goes_on_where_all_outputs_end(rows: DataFrame, tmp_path: Path) -> None:
    lineage, outputs = Lineage(tmp_path / "b", "b"), (Listed("rows", ended(15)), Listed("topic", ended(15)))
    sink = stateless(lineage, *outputs)
    sink(rows, lineage.plan(10, None))
    assert [output.written for output in outputs] == [[], []]
    sink(rows, lineage.plan(20, None))  # the stream leaves out what lies below the floor
    assert [len(output.written) for output in outputs] == [1, 1]


def test_a_new_checkpoint_that_passes_one_partition_first_repeats_nothing_of_the_other(
    rows: DataFrame, tmp_path: Path
) -> None:
    lineage, output = Lineage(tmp_path / "b", "b"), Listed("rows", ended(10, p1=10))
    sink = stateless(lineage, output)
    sink(rows, lineage.plan(20, None, p1=5))
    assert output.latest == ended(20, "b", p1=10), "what it holds of the other partition is not forgotten"
    last = lineage.plan(20, None, p1=15)
    again = replace(output, written=[])
    for restarted in (sink, stateless(lineage, again)):  # in the same driver, and in the next one
        restarted(rows, last)
    assert [len(one.written) for one in (output, again)] == [2, 1]
    assert output.latest == again.latest == ended(20, "b", p1=15)


def test_values_never_go_back_when_a_new_checkpoint_cuts_smaller_batches(rows: DataFrame, tmp_path: Path) -> None:
    lineage, output = Lineage(tmp_path / "b", "b"), Listed("live", ended(20, watermark=at(1)))
    sink = stateful(lineage, output)
    sink(rows, lineage.plan(18, at(5)))
    assert output.written == []
    sink(rows, lineage.plan(20, at(6)))  # the same values; the watermark closes windows
    assert len(output.written) == 1


def test_outputs_that_stand_apart_are_not_torn_by_a_new_checkpoint(rows: DataFrame, tmp_path: Path) -> None:
    lineage, outputs = Lineage(tmp_path / "b", "b"), (Listed("rows", ended(15)), Listed("topic", ended(10)))
    sink = stateless(lineage, *outputs)
    with pytest.raises(RefusedError, match="in the middle of batch 0 of a new checkpoint"):
        sink(rows, lineage.plan(20, None))
    assert [output.written for output in outputs] == [[], []]


def test_a_state_that_began_later_keeps_out_the_windows_that_it_knows_in_part(rows: DataFrame, tmp_path: Path) -> None:
    lineage, output = Lineage(tmp_path / "b", "b", origin=5), Listed("live", ended(10))
    # The rows begin at 03:00, an hour apart: of the window at 05:00 the old state may have known records.
    stateful(lineage, output, newest=at(5) + timedelta(minutes=10))(rows, lineage.plan(20, None))
    assert output.written == [[4, 5]]


def test_a_state_without_windows_that_began_later_replaces_nothing(rows: DataFrame, tmp_path: Path) -> None:
    lineage, output = Lineage(tmp_path / "b", "b", origin=5), Listed("totals", ended(10))
    with pytest.raises(DataLossError, match="computed from all of them"):
        stateful(lineage, output, windows=False)(rows, lineage.plan(20, None))
    assert output.written == []


def test_a_state_without_windows_that_began_no_later_goes_on_after_a_lost_checkpoint(
    rows: DataFrame, tmp_path: Path
) -> None:
    lineage, held = Lineage(tmp_path / "b", "b", origin=5), ended(10)
    output = Listed("totals", replace(held, origin={"t/0": 5}))
    stateful(lineage, output, windows=False)(rows, lineage.plan(20, None))
    assert output.written == [[1, 2, 3, 4, 5]]


def test_state_is_seen_in_the_plan_and_what_is_unknown_counts_as_state(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    static = spark.range(3).select(F.col("id").alias("value"), F.lit("x").alias("name"))
    assert state_in(stream.where("value > 1").select("value")) is None
    assert state_in(stream.join(F.broadcast(static), "value", "left")) is None
    assert state_in(stream.join(static.groupBy("value").count(), "value")) is None
    assert state_in(stream.withWatermark("timestamp", "1 hour").select(F.explode(F.array("value")))) is None
    assert state_in(stream.groupBy("value").count()) == "Aggregate"
    assert state_in(stream.dropDuplicates(["value"])) == "Deduplicate"
    assert state_in(stream.join(stream.select("value"), "value")) == "Join"
    assert state_in(stream.limit(3)) is not None


def test_a_batch_that_is_sent_again_has_the_same_ids_in_whatever_order_its_rows_come(spark: SparkSession) -> None:
    output = TopicOutput(kind="topic", topic="news", keys=("carrier",))
    data = [("UA", 1.5), ("UA", 2.5), ("UA", 2.5), ("DL", 1.5), (None, 3.0)]

    def identities(given: list[tuple[str | None, float]], generation: int) -> list[str]:
        frame = spark.createDataFrame(given, "carrier string, delay double").repartition(2)
        sent = TopicMessages(output)(frame, generation=generation, position=40).collect()
        assert {bytes(row["headers"][1]["value"]) for row in sent} == {str(generation).encode()}
        assert {bytes(row["headers"][2]["value"]) for row in sent} == {b"40"}
        return sorted(bytes(row["headers"][0]["value"]).decode() for row in sent)

    first = identities(data, 1)
    assert len(set(first)) == len(data)
    assert first == identities(data[::-1], 2)
    assert all(name.startswith("40-") for name in first)


def test_the_records_of_a_key_keep_the_order_of_their_rows(spark: SparkSession) -> None:
    output = TopicOutput(kind="topic", topic="news", keys=("carrier",))
    data = [(("UA", "DL", "AA")[number % 3], number) for number in range(90)]
    frame = spark.createDataFrame(data, "carrier string, number long").coalesce(1)
    sent = TopicMessages(output)(frame, generation=1, position=40).collect()
    by_key: dict[bytes, list[int]] = {}
    for row in sent:
        by_key.setdefault(bytes(row["key"]), []).append(json.loads(bytes(row["value"]))["number"])
    assert list(map(len, by_key.values())) == [30, 30, 30]
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


def test_a_record_is_the_row_as_json_under_its_keys(spark: SparkSession) -> None:
    output = TopicOutput(kind="topic", topic="news", keys=("hour", "carrier"))
    frame = spark.sql("SELECT timestamp '2013-01-01T05:00:00Z' AS hour, 'UA' AS carrier, 3L AS departed, null AS delay")
    (sent,) = TopicMessages(output)(frame, generation=1, position=40).collect()
    assert bytes(sent["key"]) == b'{"hour":"2013-01-01T05:00:00Z","carrier":"UA"}'
    assert bytes(sent["value"]) == b'{"hour":"2013-01-01T05:00:00Z","carrier":"UA","departed":3,"delay":null}'
