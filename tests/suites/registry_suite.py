"""What every registry does. Subclasses give `registry`, which uses `clock`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest

from sluice.errors import CorruptionError
from sluice.settling.status import SettlingStatus
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.streams.health.recording import NewVerdict
from sluice.streams.health.verdict import PartitionLag, Verdict
from sluice.streams.life.attempts import AttemptState, Desired, DesiredState, LostRaceError
from sluice.streams.registry import Registry
from tests.twins.clock import START, ManualClock

OK = Verdict(
    Health.OK,
    "Nothing is unread.",
    lag_records=0,
    batches=3,
    committed_at=START,
    completeness=1.0,
    lag_seconds=0.0,
    watermark_lag_seconds=14_400.5,
    catch_up_seconds=60.0,
    loss_seconds=7_200.0,
)
UNKNOWN = Verdict(Health.UNKNOWN, "Could not check.", "sluice doctor", completeness=0.33)


class RegistrySuite:
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    def test_nobody_asked_and_nothing_ran_at_first(self, registry: Registry) -> None:
        assert registry.desired("flights") is None
        assert registry.latest_attempt("flights") is None
        assert list(registry.attempts("flights")) == []
        assert list(registry.verdicts("flights")) == []

    def test_the_latest_wish_counts_even_within_one_instant(self, registry: Registry) -> None:
        registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
        registry.set_desired_state("flights", Desired.STOPPED, by="bob", why="upgrade")
        wish = registry.desired("flights")
        assert wish is not None
        assert (wish.state, wish.by, wish.why, wish.at) == (Desired.STOPPED, "bob", "upgrade", START)

    def test_wishes_of_one_unit_say_nothing_of_another(self, registry: Registry) -> None:
        registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
        assert registry.desired("weather") is None

    def test_what_is_restored_is_older_than_any_wish(self, registry: Registry, clock: ManualClock) -> None:
        registry.set_desired_state("weather", Desired.RUNNING, by="ada", why="demo")
        old = [
            DesiredState(unit, state, "eve", "long ago", START - timedelta(days=1))
            for unit, state in (("flights", Desired.RUNNING), ("taxis", Desired.STOPPED), ("weather", Desired.STOPPED))
        ]
        registry.restore_desired_states(old)
        registry.restore_desired_states([replace(each, why="another copy") for each in old])
        assert registry.desired("taxis") == old[1]
        clock.sleep(1)
        stopped = registry.set_desired_state("flights", Desired.STOPPED, by="bob", why="upgrade")
        now = registry.all_desired_states()
        assert {unit: each.state for unit, each in now.items()} == {
            "flights": Desired.STOPPED,
            "taxis": Desired.STOPPED,
            "weather": Desired.RUNNING,
        }
        assert list(registry.desired_states_since("flights", START)) == [old[0], stopped]
        (weather,) = registry.desired_states_since("weather", START - timedelta(days=2))
        assert weather.state is Desired.RUNNING

    def test_an_intent_is_the_next_generation(self, registry: Registry) -> None:
        first = registry.intend("flights", after_generation=0, key="local.flights.g1")
        second = registry.intend("flights", after_generation=1, key="local.flights.g2")
        assert (first.generation, first.state, first.key) == (1, AttemptState.INTENT, "local.flights.g1")
        assert registry.latest_attempt("flights") == second
        assert list(registry.attempts("flights")) == [second, first]
        assert list(registry.attempts("flights", newest=1)) == [second]

    def test_an_empty_record_may_begin_with_a_later_generation(self, registry: Registry) -> None:
        first = registry.intend("flights", after_generation=0, key="local.flights.g8", generation=8)
        assert (first.generation, first.state) == (8, AttemptState.INTENT)
        with pytest.raises(LostRaceError):
            registry.intend("flights", after_generation=0, key="local.flights.g9", generation=9)
        assert registry.bind("flights", 8).state is AttemptState.BOUND
        assert registry.end("flights", 8, exit_code=0, reason="stopped").state is AttemptState.ENDED
        assert registry.intend("flights", after_generation=8, key="local.flights.g9").generation == 9
        assert [each.generation for each in registry.attempts("flights")] == [9, 8]

    @pytest.mark.parametrize("after", [0, 2])
    def test_an_intent_after_another_generation_than_the_highest_loses(self, registry: Registry, after: int) -> None:
        registry.intend("flights", after_generation=0, key="local.flights.g1")
        with pytest.raises(LostRaceError):
            registry.intend("flights", after_generation=after, key=f"local.flights.g{after + 1}x")
        assert len(registry.attempts("flights")) == 1

    def test_generations_of_units_are_independent(self, registry: Registry) -> None:
        registry.intend("flights", after_generation=0, key="local.flights.g1")
        assert registry.intend("weather", after_generation=0, key="local.weather.g1").generation == 1

    def test_of_eight_threads_that_race_one_gets_the_generation(self, registry: Registry) -> None:
        together = Barrier(8)

        def race(_: int) -> bool:
            together.wait()
            try:
                registry.intend("flights", after_generation=0, key="local.flights.g1")
            except LostRaceError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(race, range(8))) == 1
        assert len(registry.attempts("flights")) == 1

    def test_binding_keeps_the_first_time(self, registry: Registry, clock: ManualClock) -> None:
        registry.intend("flights", after_generation=0, key="local.flights.g1")
        clock.sleep(5)
        bound = registry.bind("flights", 1)
        clock.sleep(5)
        assert registry.bind("flights", 1) == bound
        assert (bound.state, bound.bound_at) == (AttemptState.BOUND, START + timedelta(seconds=5))

    def test_the_first_record_of_an_end_stays(self, registry: Registry, clock: ManualClock) -> None:
        registry.intend("flights", after_generation=0, key="local.flights.g1")
        ended = registry.end("flights", 1, exit_code=0, reason="stopped on request")
        clock.sleep(5)
        assert registry.end("flights", 1, exit_code=-9, reason="killed") == ended
        assert registry.bind("flights", 1) == ended
        assert registry.latest_attempt("flights") == ended
        assert (ended.exit_code, ended.reason, ended.ended_at) == (0, "stopped on request", START)

    def test_an_end_keeps_its_class_and_the_time_of_death(self, registry: Registry, clock: ManualClock) -> None:
        registry.intend("flights", after_generation=0, key="local.flights.g1")
        clock.sleep(60)
        died_at = START + timedelta(seconds=20)
        ended = registry.end("flights", 1, exit_code=15, reason="failed", failure=FailureClass.CODE, at=died_at)
        assert (ended.failure, ended.ended_at) == (FailureClass.CODE, died_at)
        assert registry.latest_attempt("flights") == ended

    def test_an_end_is_recorded_whatever_its_reason_quotes(self, registry: Registry) -> None:
        registry.intend("flights", after_generation=0, key="local.flights.g1")
        registry.end("flights", 1, exit_code=15, reason="the value '12\0' cannot be cast")
        ended = registry.latest_attempt("flights")
        assert ended is not None
        assert ended.state is AttemptState.ENDED
        assert ended.reason.startswith("the value '12")
        assert ended.reason.endswith("cannot be cast")

    def test_nobody_dies_in_the_future(self, registry: Registry) -> None:
        registry.intend("flights", after_generation=0, key="local.flights.g1")
        ended = registry.end("flights", 1, exit_code=None, reason="", at=START + timedelta(hours=1))
        assert ended.ended_at == START

    def test_a_generation_that_is_not_there_is_a_contradiction(self, registry: Registry) -> None:
        with pytest.raises(CorruptionError):
            registry.bind("flights", 1)
        with pytest.raises(CorruptionError):
            registry.end("flights", 1, exit_code=0, reason="")

    def test_a_verdict_is_stored_when_health_or_generation_changes(self, registry: Registry) -> None:
        stored = [
            registry.record_verdict("flights", "departures", generation, verdict)
            for generation, verdict in [(1, OK), (1, replace(OK, batches=9)), (1, UNKNOWN), (2, UNKNOWN), (2, OK)]
        ]
        assert stored == [True, False, True, True, True]

    def test_the_newest_verdict_of_each_stream_is_returned_whole(self, registry: Registry, clock: ManualClock) -> None:
        registry.record_verdict("flights", "raw_flights", 1, UNKNOWN)
        registry.record_verdict("flights", "departures", 1, UNKNOWN)
        clock.sleep(60)
        registry.record_verdict("flights", "departures", 1, OK)
        departures, raw = registry.verdicts("flights")
        assert (departures.stream, departures.verdict, departures.at) == (
            "departures",
            OK,
            START + timedelta(seconds=60),
        )
        assert (raw.stream, raw.verdict, raw.at) == ("raw_flights", UNKNOWN, START)

    def test_the_newest_records_of_many_units_are_those_of_each(self, registry: Registry, clock: ManualClock) -> None:
        units = [f"unit_{n:04}" for n in range(1200)]  # more than are asked for in one query
        registry.set_desired_state(units[0], Desired.RUNNING, by="ada", why="demo")
        for state in (Desired.STOPPED, Desired.RUNNING):
            registry.set_desired_state(units[-1], state, by="bob", why="in one instant")
        for unit, generations in ((units[0], 3), (units[-1], 1), ("nobody_asks", 2)):
            for after in range(generations):
                registry.intend(unit, after_generation=after, key=f"local.{unit}.g{after + 1}")
        registry.end(units[0], 3, exit_code=0, reason="stopped on request")
        for unit, stream, verdict in [(units[0], "b", OK), (units[0], "a", UNKNOWN), (units[-1], "a", OK)]:
            registry.record_verdict(unit, stream, 1, UNKNOWN)
            clock.sleep(1)
            registry.record_verdict(unit, stream, 2, verdict)
        known = (units[0], units[-1])
        assert registry.newest_desired_states(units) == {unit: registry.desired(unit) for unit in known}
        assert registry.newest_attempts(units) == {unit: registry.latest_attempt(unit) for unit in known}
        verdicts = {unit: {record.stream: record for record in registry.verdicts(unit)} for unit in known}
        assert registry.newest_verdicts(units) == verdicts
        assert [len(of) for of in verdicts.values()] == [2, 1]
        asked = (registry.newest_desired_states, registry.newest_attempts, registry.newest_verdicts)
        assert [dict(ask([])) for ask in asked] == [{}] * 3

    def test_the_newest_attempts_of_many_units_are_read_together(self, registry: Registry) -> None:
        for generation in range(5):
            registry.intend("flights", after_generation=generation, key=f"local.flights.g{generation + 1}")
        registry.intend("weather", after_generation=0, key="local.weather.g1")
        units = [*(f"unit_{n:04}" for n in range(600)), "flights", "weather"]
        found = registry.histories(units, newest=3)
        assert {unit: list(attempts) for unit, attempts in found.items()} == {
            unit: list(registry.attempts(unit, newest=3)) for unit in ("flights", "weather")
        }
        assert [attempt.generation for attempt in found["flights"]] == [5, 4, 3]
        assert registry.histories([], newest=3) == {}

    def test_of_many_verdicts_those_that_changed_are_stored(self, registry: Registry) -> None:
        given = [NewVerdict(f"unit_{n:04}", "departures", 1, OK) for n in range(450)]
        assert registry.record_verdicts([]) == 0
        assert registry.record_verdicts(given[:100]) == 100
        changed = [replace(given[0], verdict=UNKNOWN), *given[1:]]
        assert registry.record_verdicts(changed) == 351
        assert registry.verdicts("unit_0000")[0].verdict == UNKNOWN
        assert registry.verdicts("unit_0449")[0].verdict == OK

    def test_lags_of_partitions_and_what_a_settler_waits_for_are_of_the_moment_and_not_kept(
        self, registry: Registry
    ) -> None:
        seen = replace(OK, partitions=(PartitionLag("flights/0", 7, 2.0),), settling=SettlingStatus(START, due=2))
        registry.record_verdict("flights", "departures", 1, seen)
        (found,) = registry.verdicts("flights")
        assert found.verdict == OK

    def test_eight_watchers_that_see_one_change_store_it_once(self, registry: Registry) -> None:
        together = Barrier(8)

        def race(_: int) -> bool:
            together.wait()
            return registry.record_verdict("flights", "departures", 1, OK)

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(race, range(8))) == 1

    def test_eight_watchers_that_see_many_changes_store_each_once(self, registry: Registry) -> None:
        given = [NewVerdict(f"unit_{n}", "departures", 1, OK) for n in range(40)]
        together = Barrier(8)

        def race(_: int) -> int:
            together.wait()
            return registry.record_verdicts(given)

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(race, range(8))) == len(given)

    def test_of_wishes_the_one_that_held_and_all_after_it_are_returned(
        self, registry: Registry, clock: ManualClock
    ) -> None:
        for state in (Desired.STOPPED, Desired.RUNNING, Desired.STOPPED):
            registry.set_desired_state("flights", state, by="ada", why="so it is")
            clock.sleep(60)
        registry.set_desired_state("weather", Desired.RUNNING, by="ada", why="another unit")
        second = START + timedelta(seconds=60)
        for since, expected in [(second - timedelta(seconds=1), 3), (second, 2), (second + timedelta(days=1), 1)]:
            found = registry.desired_states_since("flights", since)
            assert [wish.at for wish in found] == [START + timedelta(minutes=n) for n in range(3 - expected, 3)]
        assert len(registry.desired_states_since("flights", START - timedelta(days=1))) == 3
        assert registry.desired_states_since("flights", second)[0].state is Desired.RUNNING

    def test_of_verdicts_those_that_held_and_all_after_them_are_returned(
        self, registry: Registry, clock: ManualClock
    ) -> None:
        registry.record_verdict("flights", "raw_flights", 1, OK)
        for verdict in (UNKNOWN, OK, UNKNOWN):
            registry.record_verdict("flights", "departures", 1, verdict)
            clock.sleep(60)
        registry.record_verdict("weather", "departures", 1, OK)
        found = registry.verdicts_since("flights", START + timedelta(seconds=90))
        assert [(r.stream, r.verdict.health, (r.at - START).total_seconds()) for r in found] == [
            ("raw_flights", Health.OK, 0),
            ("departures", Health.OK, 60),
            ("departures", Health.UNKNOWN, 120),
        ]
        assert len(registry.verdicts_since("flights", START - timedelta(days=1))) == 4

    def test_what_no_longer_held_is_forgotten_and_nothing_else(self, registry: Registry, clock: ManualClock) -> None:
        for unit in ("flights", "weather"):
            registry.record_verdict(unit, "raw", 1, UNKNOWN)
        for verdict in (UNKNOWN, OK, UNKNOWN):
            registry.record_verdict("flights", "departures", 1, verdict)
            clock.sleep(60)
        cut = START + timedelta(seconds=90)
        held = registry.verdicts_since("flights", cut)
        assert registry.forget_verdicts(cut) == 1
        assert registry.forget_verdicts(cut) == 0
        assert registry.verdicts_since("flights", START - timedelta(days=1)) == held
        assert len(registry.verdicts("weather")) == 1
        assert registry.record_verdict("flights", "departures", 1, OK)
        assert registry.verdicts("flights")[0].verdict == OK
