"""Raw records that are removed by their age: what a project's streams, tables and backfills keep, on real tables."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import Schema

from sluice.airflow.dags.table_upkeep import retain_raw
from sluice.delta.reading import dataset_of
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import APPENDED
from sluice.delta.writer_log import WriterLog
from sluice.errors import CorruptionError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Request
from sluice.intervals.entries import Content, ExaminedSource, SettleEntry, StreamEntry
from sluice.intervals.writers import writer_id
from sluice.project.upkeep.raw_retention import Retained, retain
from sluice.settings import settings
from sluice.streams.position.epochs import Epoch
from tests.twins.departures_project import MIDNIGHT, DeparturesProject, hour
from tests.unit.delta.test_raw_floor import COLUMNS

DAY = timedelta(days=1)
NOW = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)
TOPIC = "flights-id"
HOURS = 10 * 24
"""A record happens every hour, from MIDNIGHT on."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
    """A project whose raw table keeps four days, and whose streams have read all ten of them."""
    place = DeparturesProject.create(tmp_path, monkeypatch)
    keep(place, "4 days")
    raw(place)
    for stream in ("departures", "departures_live"):
        read(place, stream, HOURS)
    settle(place, HOURS)
    return place


def keep(place: DeparturesProject, retention: str) -> None:
    spec = place.home / "include" / "topics" / "flights.yaml"
    text = spec.read_text().split("  retention: ")[0].rstrip()
    spec.write_text(f"{text.replace('driver: flights', f'driver: flights{chr(10)}  retention: {retention}')}\n")
    settings.cache_clear()


def raw(place: DeparturesProject) -> None:
    table = raw_table(place)
    ensure_table(table, Schema.from_arrow(COLUMNS).to_json(), configuration=APPENDED)
    log = WriterLog(table, writer_id("raw_flights", TOPIC, 0), 1)
    log.open()
    each = [
        {"topic_id": TOPIC, "partition": 0, "offset": n, "timestamp": hour(n), "event_time": hour(n)}
        for n in range(HOURS)
    ]
    entry = StreamEntry(log.writer, 1, "a", 0, {"flights/0": 0}, {"flights/0": HOURS})
    log.append(pa.Table.from_pylist(each, COLUMNS), entry, 1)


def raw_table(place: DeparturesProject) -> Path:
    return place.project.folder.table("flights_raw")


def read(place: DeparturesProject, stream: str, until: int, *, topic: str = TOPIC) -> None:
    """Play a stream that has read up to an offset."""
    epochs = place.project.streams.epochs(stream)
    number = epochs.number if epochs.newest() is None else epochs.number + 1
    epochs.record(Epoch(number, topic, {}, "earliest", "a test", "", NOW))
    folder = epochs.checkpoint().folder
    for kind in ("offsets", "commits"):
        (folder / kind).mkdir(parents=True)
    text = f'v1\n{{"batchWatermarkMs":0}}\n{json.dumps({"flights": {"0": until}})}'
    (folder / "offsets" / "0").write_text(text)
    (folder / "commits" / "0").write_text("v1\n{}")


def settle(place: DeparturesProject, until: int, *overtaken: int, since: int = 0, seen: int = 0) -> None:
    content = {hour(number): Content(1, "1") for number in range(since, until)}
    sources = {"flights": ExaminedSource({"flights/0": seen or until}, (TOPIC,))}
    lacking = {hour(number): {"flights/0": seen or until} for number in overtaken}
    entry = SettleEntry("settle:departures", 1, f"{until}", hour(since), hour(until), sources, content, lacking)
    place.commit(entry)


def retained(place: DeparturesProject) -> Retained:
    return retain(place.project, "flights", NOW)


def offsets(place: DeparturesProject) -> list[int]:
    return sorted(dataset_of(raw_table(place)).to_table().column("offset").to_pylist())


def test_what_is_older_than_the_newest_record_by_the_age_goes(place: DeparturesProject) -> None:
    done = retained(place)
    assert done.floor is not None
    assert (done.floor.at, done.held) == (MIDNIGHT + 5 * DAY, "")
    # Departures believe an event 70 minutes ahead of its timestamp, so what was stamped up to then stays.
    assert (done.removed, offsets(place)) == (5 * 24 - 1, list(range(5 * 24 - 1, HOURS)))
    assert retained(place) == Retained(0, done.floor)
    assert str(done) == "floor 2013-01-06 00:00 UTC, 119 records removed"


def test_what_is_said_of_it_is_said_by_the_ledger(place: DeparturesProject) -> None:
    assert place.project.tables.ledger("departures").whole is None
    retained(place)
    whole = place.project.tables.ledger("departures").whole
    assert whole is not None
    assert (whole.start, whole.table) == (MIDNIGHT + 5 * DAY, "flights_raw")
    assert place.project.tables.index().refresh("departures").ledger.whole == whole


def test_without_an_age_everything_stays(place: DeparturesProject) -> None:
    keep(place, "forever")
    assert retain_raw(place.project, NOW) == {}
    assert retained(place) == Retained()
    assert len(offsets(place)) == HOURS


def test_an_open_interval_keeps_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = DeparturesProject.create(tmp_path, monkeypatch)
    keep(place, "4 days")
    raw(place)
    for stream in ("departures", "departures_live"):
        read(place, stream, HOURS)
    assert retained(place) == Retained(0, None, "departures has settled no interval yet")
    settle(place, 50)
    done = retained(place)
    assert done.floor is not None
    assert (done.floor.at, done.held) == (MIDNIGHT + 2 * DAY, "departures has not settled 2013-01-03 02:00 UTC yet")
    settle(place, HOURS, since=50)
    assert retained(place).held == ""


def test_a_dirty_interval_keeps_its_records_until_it_is_repaired(place: DeparturesProject) -> None:
    settle(place, HOURS, 30, since=HOURS, seen=HOURS + 1)
    done = retained(place)
    assert done.floor is not None
    assert (done.floor.at, done.held) == (MIDNIGHT + DAY, "departures: 2013-01-02 06:00 UTC is dirty")


def test_what_a_stream_has_not_read_stays(place: DeparturesProject) -> None:
    read(place, "departures_live", 60)
    done = retained(place)
    assert done.floor is not None
    assert (done.floor.at, done.held) == (MIDNIGHT + 2 * DAY, "departures_live has not read 2013-01-03 12:00 UTC yet")
    read(place, "departures_live", HOURS, topic="another")
    assert retained(place).held == "departures_live has not read 2013-01-02 23:00 UTC yet", "it counts another topic"


def test_a_stream_that_never_ran_keeps_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = DeparturesProject.create(tmp_path, monkeypatch)
    keep(place, "4 days")
    raw(place)
    read(place, "departures", HOURS)
    settle(place, HOURS)
    assert retained(place) == Retained(0, None, "departures_live has not read 2013-01-01 00:00 UTC yet")


def test_a_position_that_cannot_be_read_keeps_all(place: DeparturesProject) -> None:
    (place.project.streams.checkpoint("departures_live").folder / "offsets" / "0").write_text("nonsense")
    assert retained(place) == Retained(0, None, "the position of departures_live cannot be read")


def test_a_backfill_at_work_keeps_what_it_may_read(place: DeparturesProject) -> None:
    request = Request("departures", Interval(hour(70), hour(80)), Mode.VERIFY, "bob")
    claimed = place.project.records.backfills().claim(request, "key", alive=lambda _: True)
    lock = place.project.processes.backfill_lock(claimed.id)
    lock.take()
    done = retained(place)
    assert done.floor is not None
    assert (done.floor.at, claimed.id in done.held) == (MIDNIGHT + 2 * DAY, True)
    lock.release()
    assert retained(place).held == "", "its process is dead"


def test_a_longer_age_brings_nothing_back_and_a_shorter_one_takes_more(place: DeparturesProject) -> None:
    retained(place)
    keep(place, "9 days")
    assert retained(place).floor == retained(place).floor
    floor = retained(place).floor
    assert floor is not None
    assert floor.at == MIDNIGHT + 5 * DAY
    keep(place, "2 days")
    floor = retained(place).floor
    assert floor is not None
    assert floor.at == MIDNIGHT + 7 * DAY


def test_a_damaged_table_is_named(place: DeparturesProject) -> None:
    newest = max((raw_table(place) / "_delta_log").glob("*.json"))
    newest.write_text("{", encoding="utf-8")
    with pytest.raises(CorruptionError, match="flights: "):
        retain_raw(place.project, NOW)


def test_a_topic_without_a_table_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = DeparturesProject.create(tmp_path, monkeypatch)
    keep(place, "4 days")
    assert retain_raw(place.project, NOW) == {}
