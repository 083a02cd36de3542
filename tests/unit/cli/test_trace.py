"""`sluice trace` over a project of two chained pipelines: its tables are real, its Kafka is in memory."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from sluice.cli import trace as command
from sluice.cli.main import app
from sluice.cli.views.trace_view import print_trace, trace_as_dict
from sluice.delta.log import append_entry, entry_properties
from sluice.delta.table import ensure_table
from sluice.errors import NotReadyError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.acceptance import GATE_FAILED
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.request import Mode, Request
from sluice.intervals.backfill.trial import RowDifference
from sluice.intervals.entries import Content, Entry, ExaminedSource, SettleEntry, StreamEntry
from sluice.intervals.reach import Hole
from sluice.intervals.record_positions import RecordPositions
from sluice.intervals.writers import writer_id
from sluice.project.project import Project
from sluice.project.tracing.record import trace_record
from sluice.quality.cases import Case, CaseEvent, CaseState
from sluice.settings import Settings, settings
from sluice.specs.catalog.streams import raw_stream
from sluice.topics.administration import TopicCreation
from sluice.topics.deduplication import GENERATION, ID, POSITION
from sluice.tracing.address import RecordAddress
from sluice.tracing.intervals import Part
from sluice.tracing.storage import StorageState
from sluice.tracing.trace import PipelineTrace, RecordRows, Trace
from tests.editing import edit
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.topic_records import InMemoryRecords
from tests.unit.cli.test_graph import SCHEMA
from tests.unit.delta.test_traced_records import WHOLE
from tests.unit.specs.bench import PIPELINE_FILE
from tests.unit.specs.chain import chained_project

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
DAY = datetime(2013, 1, 1, tzinfo=UTC)
OUTPUTS = """\
outputs:
  - kind: intervals
    table: sales
    time_column: hour
    window: 1 hour
    interval: hour
  - kind: dead_letters
    topic: refused
    create: {partitions: 1}
"""


class KafkaOfTests:
    """The cluster of a test, for whoever connects."""

    def __init__(self) -> None:
        self.cluster = InMemoryKafkaAdministration()
        self.records = InMemoryRecords(self.cluster)

    def administration(self, **_: object) -> InMemoryKafkaAdministration:
        return self.cluster

    def reader(self, **_: object) -> AbstractContextManager[InMemoryRecords]:
        return nullcontext(self.records)


class Traced:
    """A project whose topic `orders` has eight records, of which the raw table holds the first six."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        bench = chained_project(folder / "project")
        for name, value in {"HOME": bench.home, "STATE": folder / "state", "DEPLOYMENT": "prod"}.items():
            monkeypatch.setenv(f"SLUICE_{name}", str(value))
        settings.cache_clear()
        text = (bench.home / PIPELINE_FILE).read_text()
        before, _, after = text.partition("output:")
        bench.write(PIPELINE_FILE, before + OUTPUTS + after[after.index("driver:") :])
        self.kafka = KafkaOfTests()
        self.project = Project.open_strict(Settings(home=bench.home, state=folder / "state", deployment="prod"))
        self.project.__dict__["kafka"] = self.kafka
        self.kafka.cluster.create([TopicCreation(name, 2, 1) for name in ("orders", "refused")])
        self.topic_id = self.kafka.cluster.topics["orders"].topic_id
        for offset in range(8):
            self.kafka.records.append("orders", 0, value_of(offset), key=b"north")
        self.read(0, 6)

    @property
    def raw(self) -> Path:
        return self.project.folder.table("orders_raw")

    def read(self, start: int, end: int, *holes: Hole) -> None:
        """Let the raw stream read a range of partition 0."""
        rows = [row_of(self.topic_id, offset) for offset in range(start, end)]
        writer = writer_id(raw_stream("orders"), self.topic_id)
        entry = StreamEntry(writer, 2, "", 9, {"orders/0": start}, {"orders/0": end}, holes=holes)
        table = pa.Table.from_pylist(rows, schema=WHOLE)
        write_deltalake(str(self.raw), table, mode="append", commit_properties=entry_properties(entry))

    def settle(self, table: str, since: datetime, until: datetime, length: timedelta, read: ExaminedSource) -> None:
        count = (until - since) // length
        content = {since + n * length: Content(3, "1") for n in range(count)}
        pipeline = self.project.catalog.settled_tables[table]
        source = "orders" if table == "sales" else "table:sales"
        code = self.project.code_of(pipeline.name)
        entry = SettleEntry(f"settle:{table}", 1, f"{until}", since, until, {source: read}, content, code=code)
        self.commit(table, entry)

    def commit(self, table: str, entry: Entry) -> None:
        ensure_table(self.project.folder.table(table), SCHEMA)
        append_entry(self.project.folder.table(table), entry)

    def settle_hours(self, until: datetime, read: int = 6) -> None:
        self.settle("sales", NOON, until, HOUR, ExaminedSource({"orders/0": read}, (self.topic_id,)))

    def trace(self, offset: int, partition: int = 0) -> Trace:
        return trace_record(self.project, RecordAddress("orders", partition, offset))

    def sales(self, offset: int) -> PipelineTrace:
        (sales,) = self.trace(offset).pipelines
        return sales


def value_of(offset: int) -> bytes:
    if offset == 2:
        return b"{"
    happened = NOON + 10 * MINUTE if offset != 3 else NOON - 2 * HOUR
    fields = {"id": min(offset, 4), "shop": "north", "ordered_at": happened, "seen_at": NOON + 15 * MINUTE}
    return json.dumps(fields, default=datetime.isoformat).encode()


def row_of(topic_id: str, offset: int) -> dict[str, Any]:
    decodes = offset != 2
    happened = NOON + 10 * MINUTE if offset != 3 else NOON - 2 * HOUR
    return {
        "topic_id": topic_id,
        "partition": 0,
        "offset": offset,
        "timestamp": NOON + 15 * MINUTE,
        "key": b"north",
        "value": value_of(offset),
        "headers": None,
        "event_time": happened if decodes else None,
        "arrival_time": NOON + 15 * MINUTE if decodes else None,
        "decodes": decodes,
    }


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Traced:
    return Traced(tmp_path, monkeypatch)


def said(trace: Trace, capsys: pytest.CaptureFixture[str], *, masked: bool = False) -> str:
    print_trace(trace, masked=masked)
    return capsys.readouterr().out


def test_a_record_is_followed_to_the_interval_and_to_the_day_over_it(
    traced: Traced, capsys: pytest.CaptureFixture[str]
) -> None:
    traced.settle_hours(NOON + HOUR)
    version = traced.project.tables.ledger("sales").version
    traced.settle("days", DAY, DAY + 24 * HOUR, 24 * HOUR, ExaminedSource({"table:sales/0": version + 1}))
    found = traced.trace(0)
    assert (found.raw.state, found.commit and found.commit.batch_id) == (StorageState.HELD, 9)
    (sales,) = found.pipelines
    ((hour,), (day,)) = sales.intervals, sales.resting
    assert (hour.interval.start, hour.part, hour.state) == (NOON, Part.TAKEN, "closed")
    assert (day.pipeline, day.interval.start, day.current) == ("days", DAY, True)
    text = said(found, capsys)
    assert f"orders/0/0 (topic id {traced.topic_id})\n" in text
    assert "still there: orders/0 has the offsets 0 to 7" in text
    assert "(batch 9, generation 2), in part-" in text
    assert "happened 2013-01-01 12:10:00 UTC, arrived 2013-01-01 12:15:00 UTC" in text
    assert "sales (unit shop): good by its times: it arrived 5 min after it happened, and 60 min are allowed" in text
    assert "2013-01-01 12:00 to 2013-01-01 13:00 UTC: closed, taken: its rows were computed with the record" in text
    assert "then days over sales, 2013-01-01 00:00 to 2013-01-02 00:00 UTC: closed, made of these rows" in text


def test_an_open_interval_says_what_it_waits_for(traced: Traced, capsys: pytest.CaptureFixture[str]) -> None:
    sales = traced.sales(0)
    assert [each.part for each in sales.intervals] == [Part.OPEN]
    assert sales.waiting[0].startswith("Nothing is settled yet")
    assert "Nothing is settled yet" in said(traced.trace(0), capsys)


def test_an_interval_that_was_settled_before_the_record_was_read_is_missed(traced: Traced) -> None:
    traced.settle_hours(NOON + HOUR, read=1)
    assert [each.part for each in traced.sales(0).intervals] == [Part.TAKEN]
    assert [each.part for each in traced.sales(1).intervals] == [Part.MISSED]


def test_a_late_record_is_in_no_row_and_says_by_how_much(traced: Traced, capsys: pytest.CaptureFixture[str]) -> None:
    traced.settle_hours(NOON + HOUR)
    assert [each.part for each in traced.sales(3).intervals] == [Part.LATE]
    text = said(traced.trace(3), capsys)
    assert "late by 75 min: it arrived 2 h after it happened, and 60 min are allowed" in text
    assert "a backfill in mode correct adds it" in text


def test_a_record_that_did_not_decode_says_why_and_where_its_letter_is(
    traced: Traced, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"{traced.topic_id}-0-2".encode()
    headers = ((ID, place), (GENERATION, b"1"), (POSITION, b"1"), ("__sluice.errors.reason", b"malformed"))
    traced.kafka.records.append("refused", 0, b"{", headers=((ID, b"other"),))
    traced.kafka.records.append("refused", 0, b"{", headers=(*headers, ("__sluice.errors.message", b"no object")))
    entry = StreamEntry(writer_id("d", traced.topic_id), 1, "", 4, {"orders/0": 0}, {"orders/0": 6})
    traced.commit("refused_deliveries", entry)
    sales = traced.sales(2)
    assert (sales.judgement.outcome, sales.intervals) == ("quarantined", ())
    assert [output.letter and output.letter.place for output in sales.outputs] == ["refused/0/1"]
    text = said(traced.trace(2), capsys)
    assert "quarantined, it did not decode when it was read: it is no JSON" in text
    assert "dead letter: refused/0/1, which says malformed: no object" in text
    assert traced.sales(0).outputs == (), "a good record has no letter"


def test_copies_are_records_of_the_same_time_and_bytes(traced: Traced) -> None:
    assert traced.trace(4).copies == ("orders/0/5",)
    assert traced.trace(0).copies == ()


def test_cases_and_backfills_that_concern_it_are_named(traced: Traced) -> None:
    traced.settle_hours(NOON + HOUR)
    records = traced.project.records
    event = CaseEvent(CaseState.OPEN, "me", "look", NOON)
    held = RecordPositions.of([(traced.topic_id, 0, 2)])
    records.cases().open(Case("sales-q1", "sales", "all", held, {"malformed": 1}, (event,)))
    request = Request("sales", Interval(NOON, NOON + HOUR), Mode.RECOMPUTE, "me", "why")
    running = records.backfills().claim(request, "k", alive=lambda _: True)
    assert traced.sales(2).cases == ("sales-q1: open",)
    assert traced.sales(0).cases == ()
    assert traced.sales(0).backfills == (f"{running.id} (recompute) works on them: 0 of 0 done",)
    records.backfills().end(running.id, BackfillState.FAILED, outcome=GATE_FAILED, why="too few rows")
    (held_back,) = traced.sales(0).backfills
    assert held_back.endswith("would have published them again: too few rows")


def test_what_is_not_in_the_raw_table_is_an_answer(traced: Traced, capsys: pytest.CaptureFixture[str]) -> None:
    unread = traced.trace(7)
    assert (unread.raw.state, unread.record and unread.record.key) == (StorageState.UNREAD, b"north")
    assert [each.judgement.outcome for each in unread.pipelines] == [None]
    text = said(unread, capsys)
    assert "unread: orders/0: it is read up to offset 5, 2 offsets before this one is" in text
    assert "sales (unit shop): not judged yet" in text
    traced.read(7, 8, Hole(traced.topic_id, "orders/0", 6, 7))
    assert traced.trace(6).raw.state is StorageState.LOST
    assert traced.trace(0).raw.state is StorageState.HELD


def test_a_record_that_kafka_has_and_the_raw_stream_has_passed_is_missing(
    traced: Traced, capsys: pytest.CaptureFixture[str]
) -> None:
    traced.read(7, 8)
    missing = traced.trace(6)
    assert (missing.raw.state, missing.is_missing) == (StorageState.ABSENT, True)
    assert "Kafka has a record there, which the raw stream has passed over" in said(missing, capsys)
    traced.kafka.records.skip("orders", 0)
    traced.kafka.records.append("orders", 0, value_of(9))
    traced.read(9, 10)
    mark = traced.trace(8)
    assert (mark.raw.state, mark.is_missing, mark.pipelines) == (StorageState.ABSENT, False, ())
    assert "none is made of it" in said(mark, capsys)


def test_without_kafka_the_rest_is_said(traced: Traced, capsys: pytest.CaptureFixture[str]) -> None:
    traced.kafka.cluster.reachable = False
    assert "not known: " in said(traced.trace(0), capsys)
    assert traced.trace(900).raw.state is StorageState.UNREAD
    with pytest.raises(SpecError, match="orders has the partitions 0 to 1, and not 2"):
        traced.trace(0, partition=2)


def test_what_there_is_not_is_refused(traced: Traced) -> None:
    with pytest.raises(SpecError, match=r"orders/0 has no offset 8 yet: its last one is 7\.") as refusal:
        traced.trace(8)
    assert "sluice topics tail orders --partition 0" in str(refusal.value)
    with pytest.raises(SpecError, match="orders/1 has no offset 0 yet: it is empty"):
        traced.trace(0, partition=1)
    with pytest.raises(SpecError, match="did you mean 'orders'"):
        trace_record(traced.project, RecordAddress("order", 0, 0))
    with pytest.raises(SpecError, match="refused is filled by sales, and no spec declares what its records are"):
        trace_record(traced.project, RecordAddress("refused", 0, 0))


def test_the_command_prints_json_and_masks(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    traced.settle_hours(NOON + HOUR)
    monkeypatch.setattr(command.Project, "open_tolerant", lambda _: traced.project)
    answer = CliRunner().invoke(app, ["trace", "orders/0/0", "-o", "json"], catch_exceptions=False)
    data = json.loads(answer.stdout)
    assert (data["raw"]["state"], data["kafka"]["holds"], data["fields"]["shop"]) == ("held", True, "north")
    (sales,) = data["pipelines"]
    assert sales["judged"] == {
        "outcome": "good",
        "reason": None,
        "detail": "",
        "delay_seconds": 300.0,
        "allowed_seconds": 3600.0,
        "by_all_rules": False,
    }
    (hour,) = sales["intervals"]
    assert (hour["part"], hour["written"]["rows"], hour["from"]) == ("taken", 3, NOON.isoformat())
    masked = CliRunner().invoke(app, ["trace", "orders/0/0", "--masked", "-o", "json"], catch_exceptions=False).stdout
    assert "north" not in masked
    with pytest.raises(NotReadyError, match="the raw table does not hold orders/0/7"):
        CliRunner().invoke(app, ["trace", "orders/0/7", "--rows"], catch_exceptions=False)


def test_rows_are_masked_for_people_and_for_programs(traced: Traced, capsys: pytest.CaptureFixture[str]) -> None:
    found = trace_record(traced.project, RecordAddress("orders", 0, 0))
    rows = RecordRows((RowDifference(NOON, {"shop": "north"}, 0, 1),), alone=({"shop": "north"},))
    found = replace(found, pipelines=(replace(found.pipelines[0], rows=rows),))
    for masked in (False, True):
        print_trace(found, masked=masked)
        texts = (capsys.readouterr().out, json.dumps(trace_as_dict(found, masked=masked)))
        assert ["north" in text for text in texts] == [not masked] * 2


def test_one_unreadable_log_hides_nothing_else(traced: Traced) -> None:
    traced.settle_hours(NOON + HOUR)
    folder = traced.project.folder.table("days")
    traced.settle("days", DAY, DAY + 24 * HOUR, 24 * HOUR, ExaminedSource())
    edit(folder / "_delta_log" / f"{1:020}.json", '\\"sluice\\":2', '\\"sluice\\":99')
    sales = traced.sales(0)
    assert [each.part for each in sales.intervals] == [Part.TAKEN]
    assert "ledger schema 99" in sales.notes[0]
    assert sales.resting == ()
