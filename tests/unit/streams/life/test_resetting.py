"""Starts and resets over twins: what is refused, what is planned, what is on record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluice.errors import RefusedError, SluiceError, SpecError, UnreachableError
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.start import Edge, StartPosition
from sluice.streams.life.attempts import Desired
from sluice.streams.life.resetting import Resetting, refuse_living
from sluice.streams.position.epochs import Epochs
from sluice.streams.position.starting import begin, beginnings
from sluice.topics.administration import TopicCreation
from tests.twins.clock import START, ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.lives import life_of
from tests.twins.registry import InMemoryRegistry
from tests.unit.streams.position.test_checkpoint import commit, write_offsets

NOON = datetime(2013, 1, 7, 12, tzinfo=UTC)


@dataclass
class Bench:
    """The unit `flights` on a topic of two partitions with records of ten minutes each."""

    folder: Path
    cluster: InMemoryKafkaAdministration = field(default_factory=InMemoryKafkaAdministration)
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.catalog = load_catalog(settings().home / "include")
        self.cluster.create([TopicCreation("flights", 2, 1)])
        for partition in (0, 1):
            self.cluster.append("flights", partition, [NOON + timedelta(minutes=n) for n in range(10)])

    def epochs(self, stream: str) -> Epochs:
        return Epochs(self.folder / stream)

    def committed(self, stream: str, offsets: Mapping[int, int]) -> None:
        write_offsets(self.folder / stream, 0, {"flights": {str(p): o for p, o in offsets.items()}})
        commit(self.folder / stream, 0)

    def resetting(self) -> Resetting:
        return Resetting(self.catalog.units()["flights"], self.catalog, self.epochs, self.cluster, self.clock)

    def recreate(self, records: int) -> None:
        """Delete the topic and create it again."""
        self.cluster.forget("flights")
        self.cluster.create([TopicCreation("flights", 2, 1)])
        for partition in (0, 1):
            self.cluster.append("flights", partition, [NOON + timedelta(minutes=n) for n in range(records)])

    def begin(self, start: StartPosition, *streams: str) -> None:
        epochs = {stream: self.epochs(stream) for stream in streams}
        for stream, first in beginnings(start, ("flights",), epochs, self.cluster, self.clock).items():
            begin(epochs[stream], first)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


# Where a stream begins.


@pytest.mark.parametrize(
    ("start", "offsets"),
    [
        (Edge.LATEST, {"flights/0": 10, "flights/1": 10}),
        (NOON + timedelta(minutes=4), {"flights/0": 4, "flights/1": 4}),
        (NOON + timedelta(days=1), {"flights/0": 10, "flights/1": 10}),
        ({1: 7}, {"flights/0": 0, "flights/1": 7}),
    ],
)
def test_a_start_is_resolved_once_and_outlives_a_crash(
    bench: Bench, start: StartPosition, offsets: Mapping[str, int]
) -> None:
    bench.begin(start, "departures", "departures_live")
    bench.cluster.append("flights", 0, [NOON + timedelta(days=2)])
    bench.begin(start, "departures", "departures_live")
    for stream in ("departures", "departures_live"):
        found = bench.epochs(stream).in_force()
        assert (found.number, found.start) == (0, offsets)
        assert found.checkpoint == bench.folder / stream


def test_the_earliest_start_is_wherever_the_topic_begins_and_of_this_topic(bench: Bench) -> None:
    bench.begin(Edge.EARLIEST, "departures")
    found = bench.epochs("departures").in_force()
    assert (found.start, found.topic_id) == ({}, bench.cluster.extent("flights").topic_id)


def test_a_stream_that_has_read_something_does_not_begin_again(bench: Bench) -> None:
    sources = bench.folder / "departures" / "sources" / "0"
    sources.mkdir(parents=True)
    (sources / "0").write_bytes(b'\0v1\n{"flights":{"0":0,"1":0}}')
    bench.begin(Edge.LATEST, "departures")
    assert bench.epochs("departures").in_force().start is None


def test_a_stream_that_is_added_later_begins_where_its_pipeline_began(bench: Bench) -> None:
    bench.begin(Edge.LATEST, "departures")
    bench.cluster.append("flights", 0, [NOON + timedelta(days=2)] * 5)
    bench.begin(Edge.LATEST, "departures", "departures_live")
    assert bench.epochs("departures_live").in_force().start == {"flights/0": 10, "flights/1": 10}


@pytest.mark.parametrize(
    ("start", "said"),
    [({2: 0}, "has the partitions 0 to 1"), ({0: 11}, "shall begin at offset 11, and the broker has 0 to 9")],
)
def test_a_start_beyond_the_topic_is_refused_and_not_recorded(bench: Bench, start: StartPosition, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        bench.begin(start, "departures")
    assert bench.epochs("departures").fresh


# What may be reset.


@dataclass
class Driver:
    """The record and the launcher of `flights`."""

    registry: InMemoryRegistry
    launcher: DictionaryLauncher

    def refuse(self) -> None:
        refuse_living(life_of(self.registry, self.launcher).record_end())

    def refusal(self) -> str:
        """Return why it may not be reset; nothing if it may."""
        try:
            self.refuse()
        except SluiceError as error:
            return str(error)
        return ""


@pytest.fixture
def driver() -> Driver:
    clock = ManualClock()
    driver = Driver(InMemoryRegistry(clock), DictionaryLauncher(clock))
    life_of(driver.registry, driver.launcher).start("ada", "launch")
    return driver


def test_a_unit_that_shall_run_is_not_reset(driver: Driver) -> None:
    with pytest.raises(RefusedError, match=r"no stop of it is on record.*sluice streams stop flights"):
        driver.refuse()
    driver.launcher.die("local.flights.g1", -9)
    with pytest.raises(RefusedError, match="no stop of it is on record"):
        driver.refuse()


def test_a_driver_that_lives_in_spite_of_a_stop_is_not_reset(driver: Driver) -> None:
    driver.registry.set_desired_state("flights", Desired.STOPPED, by="ada", why="night")
    with pytest.raises(RefusedError, match=r"its driver local\.flights\.g1 lives"):
        driver.refuse()
    driver.launcher.reachable = False
    with pytest.raises(UnreachableError, match=r"whether local\.flights\.g1 lives is not known"):
        driver.refuse()
    driver.launcher.reachable = True
    driver.launcher.forget("local.flights.g1")
    with pytest.raises(RefusedError, match="sluice streams force flights"):
        driver.refuse()


def test_a_unit_that_was_stopped_may_be_reset(driver: Driver) -> None:
    assert "was not reset" in driver.refusal()
    life_of(driver.registry, driver.launcher).stop("ada", "night", 5)
    assert driver.refusal() == ""


def test_a_unit_whose_driver_had_died_when_it_was_stopped_may_be_reset(driver: Driver) -> None:
    driver.registry.set_desired_state("flights", Desired.STOPPED, by="ada", why="night")
    assert "lives" in driver.refusal()
    driver.launcher.die("local.flights.g1", -9)
    assert driver.refusal() == ""


def test_a_unit_that_was_stopped_before_it_ever_ran_may_be_reset() -> None:
    clock = ManualClock()
    driver = Driver(InMemoryRegistry(clock), DictionaryLauncher(clock))
    assert "no stop of it is on record" in driver.refusal()
    driver.registry.set_desired_state("flights", Desired.STOPPED, by="ada", why="night")
    assert driver.refusal() == ""


def test_a_unit_whose_only_attempt_was_reserved_and_never_submitted_may_be_reset() -> None:
    clock = ManualClock()
    driver = Driver(InMemoryRegistry(clock), DictionaryLauncher(clock))
    driver.registry.set_desired_state("flights", Desired.STOPPED, by="ada", why="night")
    driver.registry.intend("flights", after_generation=0, key="local.flights.g1")
    assert driver.refusal() == ""


# What a reset does.


def test_a_reset_is_planned_for_every_stream_but_the_raw_one(bench: Bench) -> None:
    bench.committed("departures", {0: 10, 1: 4})
    bench.committed("departures_live", {0: 8, 1: 8})
    first, second = bench.resetting().plan({"flights/0": 2})
    assert (first.stream, first.epoch, first.repeated, first.skipped) == ("departures", 1, 8, 0)
    assert first.offsets == {"flights/0": 2, "flights/1": 4}  # what is not named stays
    assert second.offsets == {"flights/0": 2, "flights/1": 8}
    assert first.span.first is not None
    assert first.span.last is not None
    assert (first.span.first.at, first.span.last.at) == (NOON + timedelta(minutes=2), NOON + timedelta(minutes=9))


def test_a_reset_forwards_says_what_is_skipped(bench: Bench) -> None:
    bench.committed("departures", {0: 3, 1: 4})
    (found,) = bench.resetting().plan(Edge.LATEST, ["departures"])
    assert (found.repeated, found.skipped, found.gone) == (0, 13, 0)
    (found,) = bench.resetting().plan(NOON + timedelta(minutes=5), ["departures"])
    assert (found.repeated, found.skipped) == (0, 3)


def test_a_reset_is_on_record_with_who_and_why_and_repeated_it_does_nothing(bench: Bench) -> None:
    bench.committed("departures", {0: 10, 1: 4})
    resetting = bench.resetting()
    (planned,) = resetting.plan(Edge.EARLIEST, ["departures"])
    epoch = resetting.record(planned, Edge.EARLIEST, by="ada", why="a bad day")
    assert epoch is not None
    assert (epoch.number, epoch.to, epoch.by, epoch.why, epoch.at) == (1, "earliest", "ada", "a bad day", START)
    assert bench.epochs("departures").newest() == epoch
    (again,) = resetting.plan(Edge.EARLIEST, ["departures"])
    assert again.done
    assert resetting.record(again, Edge.EARLIEST, by="bob", why="the same") is None
    assert bench.epochs("departures").all() == (epoch,)


def test_a_reset_after_a_reset_counts_from_where_that_one_begins(bench: Bench) -> None:
    bench.committed("departures", {0: 10, 1: 4})
    resetting = bench.resetting()
    for number, (target, repeated, skipped) in enumerate([(Edge.EARLIEST, 14, 0), (Edge.LATEST, 0, 20)], 1):
        (planned,) = resetting.plan(target, ["departures"])
        assert (planned.epoch, planned.repeated, planned.skipped) == (number, repeated, skipped)
        resetting.record(planned, target, by="ada", why="")


def test_of_two_resets_that_were_planned_at_once_one_is_refused(bench: Bench) -> None:
    resetting = bench.resetting()
    (one,), (other,) = (resetting.plan(target, ["departures"]) for target in (Edge.EARLIEST, Edge.LATEST))
    resetting.record(one, Edge.EARLIEST, by="ada", why="")
    with pytest.raises(RefusedError, match="another reset has begun epoch 1"):
        resetting.record(other, Edge.LATEST, by="bob", why="")


def test_positions_of_another_topic_of_the_same_name_count_for_nothing(bench: Bench) -> None:
    bench.committed("departures", {0: 11, 1: 4})  # beyond the end of partition 0
    (found,) = bench.resetting().plan(Edge.LATEST, ["departures"])
    assert {move.now for move in found.moves.values()} == {None}
    assert (found.repeated, found.skipped) == (0, 20)


def test_what_was_read_of_a_topic_that_was_created_again_counts_for_nothing(bench: Bench) -> None:
    bench.begin(Edge.EARLIEST, "raw_flights", "departures")
    for stream in ("raw_flights", "departures"):
        bench.committed(stream, {0: 10, 1: 4})
    bench.recreate(records=20)  # more than was read of the old one: no offset is out of range
    resetting = bench.resetting()
    for stream in ("raw_flights", "departures"):
        (found,) = resetting.plan(Edge.EARLIEST, [stream])
        assert (found.epoch, found.offsets) == (1, {"flights/0": 0, "flights/1": 0})
        assert {move.now for move in found.moves.values()} == {None}
        resetting.record(found, Edge.EARLIEST, by="ada", why="created again")
        assert bench.epochs(stream).in_force().topic_id == bench.cluster.extent("flights").topic_id
    with pytest.raises(RefusedError, match="the topic has all it needs"):
        resetting.plan(Edge.LATEST, ["raw_flights"])


def test_a_batch_that_some_outputs_may_hold_already_is_told(bench: Bench) -> None:
    bench.committed("departures", {0: 10, 1: 4})
    assert "planned" not in bench.resetting().plan(Edge.LATEST, ["departures"])[0].effects[0]
    write_offsets(bench.folder / "departures", 1, {"flights": {"0": 10, "1": 8}})
    (found,) = bench.resetting().plan({"flights/1": 6}, ["departures"])
    assert "batch 1 was planned, to flights/0=10, flights/1=8, and is not committed" in found.effects[0]
    assert (found.repeated, found.skipped) == (0, 2)


def test_streams_that_are_none_of_the_unit_and_raw_streams_are_refused(bench: Bench) -> None:
    with pytest.raises(SpecError, match="no stream arrivals; it has raw_flights, departures, departures_live"):
        bench.resetting().plan(Edge.LATEST, ["arrivals"])
    with pytest.raises(RefusedError, match="every record exactly once"):
        bench.resetting().plan(Edge.LATEST, ["raw_flights"])
    with pytest.raises(SpecError, match="name no partition of flights"):
        bench.resetting().plan({"weather/0": 5}, ["departures"])


def test_a_loss_in_a_raw_table_is_acknowledged_once_however_often_that_is_said(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.committed("raw_flights", {0: 3, 1: 4})
    monkeypatch.setattr(bench.cluster, "beginnings", lambda _topic: {0: 5, 1: 2})
    resetting = bench.resetting()
    for done in (False, True):
        (planned,) = resetting.plan(Edge.EARLIEST, ["raw_flights"])
        assert planned.done is done
        assert (planned.epoch, planned.offsets) == (1, {"flights/0": 5, "flights/1": 4})
        resetting.record(planned, Edge.EARLIEST, by="ada", why="retention was too short")
    assert [epoch.number for epoch in bench.epochs("raw_flights").all()] == [1]


@pytest.mark.parametrize("error", [UnreachableError("it does not answer."), RefusedError("a record is damaged.")])
def test_a_broker_without_an_answer_about_times_does_not_keep_a_reset_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: SluiceError
) -> None:
    def silent(_topic: str, _offsets: Mapping[int, int]) -> Mapping[int, object]:
        raise error

    monkeypatch.setattr(bench.cluster, "stamps", silent)
    (found,) = bench.resetting().plan(Edge.LATEST, ["departures"])
    assert (found.skipped, found.span.first) == (20, None)


def test_a_stream_over_a_settled_table_begins_again_with_its_first_version(bench: Bench) -> None:
    source = {"hourly": {"table": "departures"}}
    output = {"table": "days", "time_column": "day", "interval": "day"}
    spec = {"name": "days", "driver": "flights", "transform": "days.sql", "sources": source, "output": output}
    days = PipelineSpec.model_validate_json(json.dumps(spec))
    bench.catalog = replace(bench.catalog, pipelines={**bench.catalog.pipelines, "days": days})
    epochs = {"days": bench.epochs("days")}
    for stream, first in beginnings(Edge.EARLIEST, (), epochs, bench.cluster, bench.clock, tables=days.tables).items():
        begin(epochs[stream], first)
    assert bench.epochs("days").in_force().topic_id == "table:departures"
    write_offsets(bench.folder / "days", 0, {"table:departures": {"0": 4}})
    commit(bench.folder / "days", 0)
    (planned,) = bench.resetting().plan(Edge.EARLIEST, ["days"])
    assert (planned.epoch, planned.topic_id, planned.moves, planned.done) == (1, "table:departures", {}, False)
    assert bench.resetting().record(planned, Edge.EARLIEST, by="me", why="a test") is not None
    assert bench.epochs("days").in_force().checkpoint == bench.folder / "days.epochs" / "1"
    with pytest.raises(SpecError, match="reads no topic"):
        bench.resetting().plan({"flights/0": 1}, ["days"])
