from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import NoReturn

from sluice.errors import CorruptionError, SluiceError, UnreachableError
from sluice.settling.status import HeldAdvance, SettlingStatus
from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.health.health import Health
from sluice.streams.health.observation import Observation, ObservedSettler
from sluice.streams.health.observing import AT_WORK, ObservationTarget, ProgressSource, SettlerSource, Stamps, observe
from sluice.streams.health.verdict import judge
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.driver_files import Executors
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.status import UnitStatus
from sluice.streams.position.checkpoint import CheckpointState, CommittedBatch, PlannedBatch
from sluice.topics.administration import RecordStamp, TopicCreation, TopicExtent
from tests.twins.clock import START
from tests.twins.kafka_administration import InMemoryKafkaAdministration

WANTED = DesiredState("flights", Desired.RUNNING, "ada", "demo", START)
BOUND = Attempt("flights", 1, "local.flights.g1", AttemptState.BOUND, START)
RUNNING = DriverReport("local.flights.g1", DriverState.RUNNING, 7, START)
BATCH = CommittedBatch(11, {"flights/0": 60}, None, START - timedelta(seconds=5))


RUNS = PlannedBatch(12, {"flights/0": 61}, None)
READ = CheckpointState((BATCH,), RUNS, START - timedelta(hours=4))


class Cluster:
    """One topic with one partition; counts what it is asked."""

    def __init__(self, error: Exception | None = None, end: int = 61) -> None:
        self.asked: list[str] = []
        self.stamped: list[Mapping[int, int]] = []
        self._error = error
        self._end = end

    def extents(self, topics: Collection[str]) -> Mapping[str, TopicExtent | SluiceError]:
        self.asked += sorted(topics)
        if self._error is not None:
            raise self._error
        return {topic: TopicExtent("an id", {0: 7}, {0: self._end}) for topic in topics}

    def stamps(self, topic: str, offsets: Mapping[int, int]) -> Mapping[int, RecordStamp]:
        assert topic in self.asked
        self.stamped.append(offsets)
        return {0: RecordStamp(START - timedelta(seconds=9), appended=True)}


def seen(
    status: UnitStatus | None,
    read: Callable[[], CheckpointState] = lambda: READ,
    cluster: Cluster | None = None,
    notes: tuple[str, ...] = (),
    stamps: Stamps = Stamps.NEVER,
) -> Observation:
    sources = {"departures": ProgressSource(("flights",), read, Rhythm(cap=9), lambda: START - timedelta(seconds=2))}
    kafka = cluster or Cluster()
    case = ObservationTarget("flights", status, sources, notes)
    return observe([case], lambda: kafka, at=START, stamps=stamps)["flights"]["departures"]


def failing(error: Exception) -> Callable[..., NoReturn]:
    def ask(*_: object) -> NoReturn:
        raise error

    return ask


def test_what_every_source_says_is_put_together() -> None:
    assert seen(UnitStatus("flights", WANTED, BOUND, RUNNING)) == Observation(
        at=START,
        unit="flights",
        driver=RUNNING,
        committed={"flights/0": 60},
        batches=12,
        committed_at=START - timedelta(seconds=5),
        ends={"flights/0": 61},
        starts={"flights/0": 7},
        history=(BATCH,),
        running=RUNS,
        topic_id="an id",
        watermark=START - timedelta(hours=4),
        reported_at=START - timedelta(seconds=2),
        rhythm=Rhythm(cap=9),
    )


def test_before_the_first_batch_the_position_is_empty_and_not_missing() -> None:
    evidence = seen(UnitStatus("flights", WANTED, BOUND, RUNNING), CheckpointState)
    assert (evidence.committed, evidence.batches, evidence.committed_at) == ({}, 0, None)


def test_sources_that_fail_are_missing_with_a_note_and_the_others_are_heard() -> None:
    evidence = seen(
        UnitStatus("flights", WANTED, BOUND, RUNNING),
        failing(CorruptionError("offsets/3 is empty.")),
        Cluster(RuntimeError("no route")),
    )
    assert (evidence.committed, evidence.ends, evidence.driver) == (None, None, RUNNING)
    assert evidence.notes == ("offsets/3 is empty.", "broker: RuntimeError: no route")


def test_without_the_control_database_the_driver_is_unknown() -> None:
    note = "the control database does not answer."
    evidence = seen(None, notes=(note,))
    assert evidence.driver is None
    assert not evidence.stop_requested
    assert evidence.notes == (note,)


def test_without_the_launcher_the_driver_is_unknown() -> None:
    evidence = seen(UnitStatus("flights", WANTED, BOUND, None, ("the launcher does not answer.",)))
    assert evidence.driver is None
    assert evidence.notes == ("the launcher does not answer.",)


def test_an_end_on_record_is_known_even_without_the_launcher() -> None:
    ended = Attempt("flights", 1, "local.flights.g1", AttemptState.ENDED, START, START, START, 0, "stopped on request")
    driver = seen(UnitStatus("flights", WANTED, ended, None)).driver
    assert driver is not None
    assert (driver.state, driver.exit_code, driver.ended_at) == (DriverState.ENDED, 0, START)


def test_a_driver_that_lives_in_spite_of_a_recorded_end_is_shown_alive() -> None:
    ended = Attempt("flights", 1, "local.flights.g1", AttemptState.ENDED, START, START, START, None, "declared dead")
    assert seen(UnitStatus("flights", WANTED, ended, RUNNING)).driver == RUNNING


def test_a_started_driver_without_a_trace_is_unknown_and_not_absent() -> None:
    evidence = seen(UnitStatus("flights", WANTED, BOUND, DriverReport("local.flights.g1", DriverState.ABSENT)))
    assert evidence.driver is None
    assert evidence.notes == ("the launcher has no trace of local.flights.g1, which it started",)


def test_a_unit_that_never_ran_has_no_driver_for_certain() -> None:
    driver = seen(UnitStatus("flights", None, None, None)).driver
    assert driver is not None
    assert driver.state is DriverState.ABSENT


def test_a_stop_on_record_is_in_the_evidence() -> None:
    stopped = DesiredState("flights", Desired.STOPPED, "bob", "upgrade", START)
    assert seen(UnitStatus("flights", stopped, BOUND, RUNNING)).stop_requested


def test_all_positions_are_read_before_any_end_so_that_a_batch_in_between_is_no_rewind() -> None:
    cluster = Cluster()

    def read() -> CheckpointState:
        cluster.asked.append("position")
        return READ

    sources = {"raw_flights": ProgressSource(("flights",), read), "departures": ProgressSource(("flights",), read)}
    status = UnitStatus("flights", WANTED, BOUND, RUNNING)
    cases = [ObservationTarget("flights", status, sources)]
    evidence = observe(cases, lambda: cluster, at=START, stamps=Stamps.NEVER)["flights"]
    assert cluster.asked == ["position", "position", "flights"]
    assert list(evidence) == ["raw_flights", "departures"]


def test_a_broker_that_does_not_answer_is_asked_once() -> None:
    cluster = Cluster(UnreachableError("no answer."))
    sources = {name: ProgressSource(("flights",), lambda: READ) for name in ("raw_flights", "departures")}
    cases = [ObservationTarget("flights", UnitStatus("flights", WANTED, BOUND, RUNNING), sources)]
    evidence = observe(cases, lambda: cluster, at=START)["flights"]
    assert cluster.asked == ["flights"]
    assert [each.notes for each in evidence.values()] == [("no answer.",)] * 2


def test_a_stack_that_is_not_up_is_a_note() -> None:
    def no_cluster() -> Cluster:
        raise UnreachableError("the stack is not up.")

    cases = [ObservationTarget("flights", None, {"departures": ProgressSource(("flights",), lambda: READ)})]
    evidence = observe(cases, no_cluster, at=START)["flights"]
    assert evidence["departures"].notes == ("the stack is not up.",)


def test_timestamps_are_asked_for_only_where_a_record_may_wait_for_long() -> None:
    status = UnitStatus("flights", WANTED, BOUND, RUNNING)
    old = CheckpointState((CommittedBatch(11, {"flights/0": 60}, None, START - timedelta(hours=1)),))

    def asked(read: CheckpointState, stamps: Stamps, end: int = 61) -> bool:
        cluster = Cluster(end=end)
        seen(status, lambda: read, cluster, stamps=stamps)
        return bool(cluster.stamped)

    assert not asked(READ, Stamps.IF_OLD)
    assert asked(READ, Stamps.ALWAYS)
    assert asked(old, Stamps.IF_OLD)
    assert not asked(old, Stamps.NEVER)
    assert not asked(old, Stamps.ALWAYS, end=60)


def test_the_timestamp_is_that_of_the_first_unread_record() -> None:
    administration = InMemoryKafkaAdministration()
    administration.create([TopicCreation("flights", 2, 1)])
    administration.offsets["flights"] = {0: 62, 1: 0}
    stamps = {(0, offset): RecordStamp(START - timedelta(seconds=62 - offset), appended=True) for offset in range(62)}
    administration.records["flights"] = stamps
    sources = {"departures": ProgressSource(("flights",), lambda: READ)}
    status = UnitStatus("flights", WANTED, BOUND, RUNNING)
    cases = [ObservationTarget("flights", status, sources)]
    found = observe(cases, lambda: administration, at=START, stamps=Stamps.ALWAYS)["flights"]
    assert found["departures"].stamps == {"flights/0": RecordStamp(START - timedelta(seconds=2), appended=True)}


def test_why_it_is_halted_is_in_the_evidence() -> None:
    ended = Attempt("flights", 1, "local.flights.g1", AttemptState.ENDED, START, START, START, 12, "was corrupt")
    status = UnitStatus("flights", WANTED, ended, None)
    assert seen(status).halted == status.halted(START)
    assert seen(status).halted


def test_a_lack_of_room_is_evidence() -> None:
    reserved = Attempt("flights", 1, "local.flights.g1", AttemptState.INTENT, START)
    absent = DriverReport("local.flights.g1", DriverState.ABSENT)
    assert seen(UnitStatus("flights", WANTED, reserved, absent, shortage="no room")).shortage == "no room"


def test_what_the_living_driver_says_of_its_executors_is_evidence_and_nothing_else_is() -> None:
    asked: list[int] = []

    def executors(generation: int) -> Executors:
        asked.append(generation)
        return Executors(0, 0, START)

    sources = {"departures": ProgressSource(("flights",), lambda: READ)}
    dead = DriverReport("local.flights.g1", DriverState.ENDED, exit_code=1)
    for report, found in ((RUNNING, Executors(0, 0, START)), (dead, None), (None, None)):
        status = UnitStatus("flights", WANTED, BOUND, report)
        cases = [ObservationTarget("flights", status, sources, executors=executors)]
        gathered = observe(cases, Cluster, at=START, stamps=Stamps.NEVER)
        assert gathered["flights"]["departures"].executors == found
    assert asked == [1]


def test_many_units_are_asked_about_at_once_and_what_fails_for_one_is_missing_for_that_one_alone() -> None:
    administration = InMemoryKafkaAdministration()
    administration.create([TopicCreation("flights", 1, 1)])
    administration.offsets["flights"] = {0: 61}
    sound, broken = (
        ProgressSource(("flights",), lambda: READ),
        ProgressSource(("flights",), failing(CorruptionError("offsets/3 is empty."))),
    )
    cases = [
        ObservationTarget("sound", UnitStatus("sound", WANTED, BOUND, RUNNING), {"departures": sound}),
        ObservationTarget("broken", UnitStatus("broken", WANTED, BOUND, RUNNING), {"arrivals": broken}),
        ObservationTarget(
            "elsewhere",
            UnitStatus("elsewhere", WANTED, BOUND, RUNNING),
            {"weather": ProgressSource(("weather",), lambda: READ)},
        ),
    ]
    found = observe(cases, lambda: administration, at=START, stamps=Stamps.NEVER)
    assert (found["sound"]["departures"].lag_records, found["sound"]["departures"].notes) == (1, ())
    assert (found["broken"]["arrivals"].committed, found["broken"]["arrivals"].ends) == (None, {"flights/0": 61})
    assert (found["elsewhere"]["weather"].committed, found["elsewhere"]["weather"].ends) == ({"flights/0": 60}, None)
    assert found["elsewhere"]["weather"].notes[0].startswith("The topic 'weather' does not exist.")


def test_the_progress_file_is_read_only_where_records_wait() -> None:
    def read() -> NoReturn:
        raise AssertionError("nothing waits")

    sources = {"departures": ProgressSource(("flights",), lambda: READ, reported_at=read)}
    cases = [ObservationTarget("flights", UnitStatus("flights", WANTED, BOUND, RUNNING), sources)]
    assert observe(cases, lambda: Cluster(end=60), at=START)["flights"]["departures"].reported_at is None


def test_a_stream_of_a_new_epoch_stands_where_that_begins_until_its_first_batch() -> None:
    begun = CheckpointState(epoch=2, start={"flights/0": 50})
    source = ProgressSource(("flights",), lambda: begun)
    case = ObservationTarget("flights", None, {"departures": source})
    seen = observe([case], lambda: Cluster(end=61), at=START, stamps=Stamps.NEVER)["flights"]["departures"]
    assert (seen.epoch, seen.committed, seen.batches, seen.lag_records) == (2, {"flights/0": 50}, 0, 11)


def test_a_stream_that_has_ended_alone_is_asked_for_by_the_generation_that_lives() -> None:
    drift = Failure(FailureClass.SCHEMA_DRIFT, "SchemaDriftError", "80 of 100", START)
    source = ProgressSource(("flights",), lambda: READ, ended_alone={BOUND.generation: drift}.get)

    def ended(status: UnitStatus, end: int) -> Failure | None:
        case = ObservationTarget("flights", status, {"departures": source})
        return observe([case], lambda: Cluster(end=end), at=START)["flights"]["departures"].ended_alone

    alive = UnitStatus("flights", WANTED, BOUND, RUNNING)
    assert ended(alive, 61) == drift
    assert ended(replace(alive, attempt=replace(BOUND, generation=9)), 61) is None


def test_a_settler_that_failed_beside_batches_is_stopped_although_nothing_is_unread() -> None:
    failure = Failure(FailureClass.DISK_FULL, "OSError", "No space left on device", START)
    settler = SettlerSource("departures", ("raw_flights",), lambda: SettlingStatus(START))
    source = ProgressSource(("flights",), lambda: READ, ended_alone={BOUND.generation: failure}.get, settler=settler)
    status = UnitStatus("flights", WANTED, BOUND, RUNNING)
    case = ObservationTarget("flights", status, {"departures": source})
    later = START + AT_WORK
    found = observe([case], lambda: Cluster(end=60), at=later)["flights"]["departures"]
    assert (found.lag_records, found.ended_alone) == (0, failure)
    assert judge(found).health is Health.STOPPED


def of_settler(source: SettlerSource) -> ObservedSettler | None:
    settled = ProgressSource(("flights",), lambda: READ, settler=source)
    case = ObservationTarget("flights", UnitStatus("flights", WANTED, BOUND, RUNNING), {"departures": settled})
    return observe([case], Cluster, at=START, stamps=Stamps.NEVER)["flights"]["departures"].settler


HELD = SettlingStatus(START, advance=HeldAdvance("flights/0", START))


def test_what_a_settler_reports_is_seen_and_what_a_person_decided_is_asked_only_while_an_advance_is_held() -> None:
    asked: list[HeldAdvance] = []

    def decided(advance: HeldAdvance) -> bool:
        asked.append(advance)
        return True

    calm = SettlingStatus(START)
    seen_calm = of_settler(SettlerSource("departures", ("raw_flights",), lambda: calm, decided))
    assert seen_calm == ObservedSettler("departures", ("raw_flights",), calm)
    assert asked == []
    seen_held = of_settler(SettlerSource("departures", ("raw_flights",), lambda: HELD, decided))
    assert seen_held == ObservedSettler("departures", ("raw_flights",), HELD, decided=True)
    assert asked == [HELD.advance]


def test_a_settler_whose_report_or_table_cannot_be_read_is_seen_without_them() -> None:
    unread = of_settler(SettlerSource("departures", ("raw_flights",), failing(OSError("gone"))))
    assert unread == ObservedSettler("departures", ("raw_flights",))
    table = failing(CorruptionError("a commit cannot be read."))
    undecided = of_settler(SettlerSource("departures", ("raw_flights",), lambda: HELD, table))
    assert undecided == ObservedSettler("departures", ("raw_flights",), HELD)


def test_the_versions_of_a_settled_table_are_its_offsets() -> None:
    read = CheckpointState((CommittedBatch(3, {"table:hours/0": 5}, None, START),))
    kafka = Cluster()

    def observed(next_version: Callable[[], int]) -> Observation:
        source = ProgressSource((), lambda: read, tables={"table:hours": next_version})
        case = ObservationTarget("reports", UnitStatus("reports", WANTED, BOUND, RUNNING), {"days": source})
        return observe([case], lambda: kafka, at=START, stamps=Stamps.ALWAYS)["reports"]["days"]

    seen_now = observed(lambda: 7)
    assert (seen_now.starts, seen_now.ends) == ({"table:hours/0": 0}, {"table:hours/0": 7})
    assert (seen_now.lag_records, seen_now.topic_id, seen_now.notes) == (2, "table:hours", ())
    assert kafka.asked == []
    assert observed(failing(CorruptionError("no log"))).notes == ("no log",)
