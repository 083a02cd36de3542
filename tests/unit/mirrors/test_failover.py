"""A fail-over over clusters in memory: what is refused, where streams go on, what a crash leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sluice.errors import RefusedError, SpecError, UnreachableError
from sluice.intervals.reach import RawPosition, Reach
from sluice.project.mirroring.failover import units_of
from sluice.project.mirroring.mirrors import ProjectMirrors
from sluice.project.tables import ProjectTables
from sluice.streams.life.attempts import Desired
from sluice.streams.position.epochs import Epochs
from sluice.topics.administration import TopicCreation
from tests.unit.mirrors.mirror_bench import STREAMS, MirrorBench
from tests.unit.streams.position.test_checkpoint import commit, write_offsets

READ = {"flights/0": 6, "flights/1": 4}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MirrorBench:
    """Ten records in each partition, of which eight and four are copied; the raw table has six and four."""
    bench = MirrorBench(tmp_path)
    bench.send(10)
    bench.copy(*range(8))
    bench.copy(*range(4), partition=1)
    bench.begin()
    monkeypatch.setattr(ProjectTables, "raw_position", lambda _self, _topic: bench.raw_position(READ))
    for stream in ("departures", "departures_live"):
        checkpoint = bench.project.folder.checkpoint(stream)
        write_offsets(checkpoint, 0, {"flights": {"0": 5, "1": 4}})
        commit(checkpoint, 0)
    return bench


def stopped(bench: MirrorBench) -> None:
    for unit in ("flights", "mirror_standby"):
        bench.project.records.registry().set_desired_state(unit, Desired.STOPPED, by="ada", why="lost")


def offsets(bench: MirrorBench, stream: str) -> dict[str, int]:
    newest = bench.project.streams.epochs(stream).newest()
    assert newest is not None
    return dict(newest.offsets)


def test_a_rehearsal_says_where_each_stream_would_go_on_and_changes_nothing(bench: MirrorBench) -> None:
    report = bench.failover().rehearse()
    at = {stream.stream: stream.offsets for stream in report.streams}
    assert at["raw_flights"] == {"flights/0": 12, "flights/1": 8}, "each copy has a mark behind it"
    assert at["departures"] == {"flights/0": 10, "flights/1": 8}
    assert report.lost == {"flights/0": (8, 10), "flights/1": (4, 10)}
    assert (report.doubles, report.exact, report.source) == (0, True, "")
    assert {key: each.records for key, each in report.compared.items()} == {"flights/0": 8, "flights/1": 4}
    text = "\n".join(report.lines())
    assert "Would be lost, because it is not copied: flights/0 offsets 8 to 9, flights/1 offsets 4 to 9." in text
    assert "every one has one copy, which says the same" in text
    assert {stream: len(bench.project.streams.epochs(stream).all()) for stream in STREAMS} == dict.fromkeys(STREAMS, 1)
    (kept,) = (bench.state / "mirrors" / "standby" / "reports").glob("*.json")
    assert json.loads(kept.read_text())["lost"]["flights/1"] == {"first": 4, "end": 10}
    assert kept.with_suffix(".md").stat().st_mode & 0o077 == 0


def test_what_is_missing_differs_or_is_double_is_not_exact(bench: MirrorBench) -> None:
    bench.copy(8, value=b"another")
    report = bench.failover().rehearse()
    assert not report.exact
    assert report.compared["flights/0"].differing == (8,)
    bench.copy(8, 5)
    report = bench.failover().rehearse()
    assert report.compared["flights/0"].twice
    assert {stream.stream: stream.doubles for stream in report.streams} == {
        "raw_flights": 2,  # the second copy of 8, and 5
        "departures": 1,
        "departures_live": 1,
    }


def test_what_retention_has_removed_is_not_missing_and_few_are_compared_where_much_is_unread(
    bench: MirrorBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.target.trim("flights", 0, 6)  # origins 0 to 2 and their marks
    report = bench.failover().rehearse()
    assert report.compared["flights/0"].records == 5
    assert report.exact
    monkeypatch.setattr("sluice.project.mirroring.failover.MOST_COMPARED", 2)
    monkeypatch.setattr("sluice.project.mirroring.failover.COMPARED", 1)
    assert bench.failover().rehearse().compared["flights/0"].records == 2


def test_a_fail_over_is_on_record_once_whatever_is_lost_in_between(
    bench: MirrorBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(bench)
    bench.source.reachable = False
    record, calls = Epochs.record, list[object]()

    def crash(self: Epochs, epoch: object) -> None:
        calls.append(epoch)
        if len(calls) == 2:
            raise UnreachableError("the disk is gone.")
        record(self, epoch)  # type: ignore[arg-type]

    monkeypatch.setattr(Epochs, "record", crash)
    with pytest.raises(UnreachableError, match="disk"):
        bench.failover().move(by="ada", why="lost")
    monkeypatch.setattr(Epochs, "record", record)
    report = bench.failover().move(by="ada", why="lost")
    assert [stream.stream for stream in report.streams] == ["departures", "departures_live"]
    assert report.source == "No Kafka broker could be reached."
    assert report.lost == {"flights/0": None, "flights/1": None}
    assert "flights/0 from offset 8" in "\n".join(report.lines())
    assert offsets(bench, "raw_flights") == {"flights/0": 12, "flights/1": 8}
    assert offsets(bench, "departures") == {"flights/0": 10, "flights/1": 8}
    identity = bench.target.extent("flights").topic_id
    for stream in STREAMS:
        epochs = bench.project.streams.epochs(stream)
        assert [epoch.number for epoch in epochs.all()] == [0, 1]
        newest = epochs.newest()
        assert newest is not None
        assert (newest.topic_id, newest.by, newest.why) == (identity, "ada", "lost")
    with pytest.raises(RefusedError, match="all streams of flights read reserve already"):
        bench.failover().move(by="ada", why="again")


def test_nothing_moves_while_anything_may_run(bench: MirrorBench) -> None:
    with pytest.raises(RefusedError, match="no stop of it is on record"):
        bench.failover().move(by="ada", why="lost")
    stopped(bench)
    registry = bench.project.records.registry()
    registry.set_desired_state("mirror_standby", Desired.RUNNING, by="ada", why="on")
    with pytest.raises(RefusedError, match=r"the mirror 'standby' runs, or may be started.*sluice mirror stop standby"):
        bench.failover().move(by="ada", why="lost")
    stopped(bench)
    reserve = 'name: reserve\nkafka: {kind: external, bootstrap: ["reserve:9092"]}\nstorage: /mnt/there\n'
    bench.write("deployments/reserve", reserve)
    with pytest.raises(RefusedError, match="local keeps its tables in the state folder and reserve in /mnt/there"):
        bench.failover().move(by="ada", why="lost")
    assert offsets(bench, "departures") == {}


def test_what_is_not_copied_or_of_another_topic_is_refused(bench: MirrorBench) -> None:
    assert [unit.name for unit in units_of(bench.mirrors, "standby")] == ["flights"]
    bench.source.forget("flights")
    bench.source.create([TopicCreation("flights", 2, 1)])
    with pytest.raises(RefusedError, match="raw_flights counts in offsets of the topic"):
        bench.failover().rehearse()
    bench.write("mirrors/standby", "name: standby\nsource: local\ntarget: reserve\ntopics: [weather]\n")
    with pytest.raises(RefusedError, match="the unit 'flights' reads flights, which 'standby' does not copy"):
        bench.failover().rehearse()
    assert units_of(bench.mirrors, "standby") == []
    bench.write("mirrors/standby", "name: standby\nsource: reserve\ntarget: local\ntopics: [flights]\n")
    with pytest.raises(RefusedError, match="SLUICE_DEPLOYMENT=reserve"):
        bench.failover().rehearse()


def test_a_target_that_does_not_answer_is_unknown(bench: MirrorBench) -> None:
    bench.target.reachable = False
    with pytest.raises(UnreachableError):
        bench.failover().rehearse()


def test_the_lag_is_what_the_newest_copies_say(bench: MirrorBench) -> None:
    lag = bench.mirrors.lag("standby")
    assert {each.partition: (each.copied, each.end) for each in lag.partitions} == {
        "flights/0": (8, 10),
        "flights/1": (4, 10),
    }
    assert lag.records == 8
    assert lag.partitions[1].since is not None
    bench.copies.skip("flights", 0, 500)  # marks alone: the newest copy lies far back
    assert bench.mirrors.lag("standby").partitions[0].copied == 8
    bench.target.trim("flights", 0, bench.target.offsets["flights"][0])
    bench.source.trim("flights", 0, 3)
    assert bench.mirrors.lag("standby").partitions[0].copied == 3, "nothing is left there"
    bench.target.forget("flights")
    assert bench.mirrors.lag("standby").absent == ("flights",)


def test_any_offset_is_translated(bench: MirrorBench) -> None:
    found = bench.mirrors.translate("standby", {"flights/0": 5, "flights/1": 9})
    assert {key: one.at for key, one in found.items()} == {"flights/0": 10, "flights/1": 8}
    for partition in ("flights/7", "weather/0"):
        with pytest.raises(SpecError, match=f"reserve has no partition {partition}"):
            bench.mirrors.translate("standby", {partition: 5})


def test_a_target_with_foreign_records_is_refused(bench: MirrorBench) -> None:
    bench.mirrors.refuse_foreign("standby")
    bench.source.grow("flights", 3)
    with pytest.raises(RefusedError, match="flights has 2 partitions in the target, and 3 in the source"):
        bench.mirrors.refuse_foreign("standby")
    bench.target.grow("flights", 3)
    bench.copies.append("flights", 2, b"foreign")
    with pytest.raises(RefusedError, match="partition 2 of flights in the target begins with a record"):
        bench.mirrors.refuse_foreign("standby")


def test_a_mirror_that_does_not_exist_is_named_with_those_that_do(bench: MirrorBench) -> None:
    with pytest.raises(SpecError, match="there is no mirror 'standbye'; include/mirrors has standby"):
        ProjectMirrors(bench.project).spec("standbye")


QUIET = [({}, ("X",)), ({"flights/0": 5, "flights/1": 5}, ("X",)), ({"flights/0": 9}, ("X", "here")), ({}, ())]


@pytest.mark.parametrize(("held", "topics"), QUIET)
def test_a_raw_stream_without_records_since_a_fail_over_goes_back_from_where_that_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: dict[str, int], topics: tuple[str, ...]
) -> None:
    bench = MirrorBench(tmp_path)
    bench.send(10)
    bench.copy(*range(10))
    bench.copy(*range(10), partition=1)
    bench.begin("X")
    bench.continue_here({"flights/0": 9, "flights/1": 10})
    ids = tuple(bench.identity if each == "here" else each for each in topics)
    monkeypatch.setattr(ProjectTables, "raw_position", lambda _self, _topic: RawPosition(1, Reach(held, ids)))
    report = bench.failover().rehearse()
    for stream in report.streams:
        positions = {key: (one.position, one.waiting) for key, one in stream.partitions.items()}
        assert positions == {"flights/0": (9, 1), "flights/1": (10, 0)}, stream.stream
        assert stream.offsets == {"flights/0": 18, "flights/1": 20}
