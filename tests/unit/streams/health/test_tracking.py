from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.health.health import Health
from sluice.streams.health.observation import ObservedSettler
from sluice.streams.health.recording import RecordedVerdict
from sluice.streams.health.settlers import upstream_elsewhere
from sluice.streams.health.tracking import StreamTracker
from sluice.streams.health.verdict import Verdict
from tests.twins.clock import START
from tests.twins.observations import observed, steadily

MINUTE = Rhythm(trigger=timedelta(minutes=1))
OK = RecordedVerdict("flights", "departures", 1, Verdict(Health.OK, "It works."), START - timedelta(days=1))


def test_the_first_verdict_is_worth_a_record_and_the_same_again_is_not() -> None:
    watched, seen = StreamTracker(), {"departures": observed(580, steadily(10))}
    assert [v.health for v in watched.judge(seen, {}, 1).values()] == [Health.OK]
    assert watched.judge(seen, {"departures": OK}, 1) == {}


def test_a_stall_is_recorded_by_the_second_observation_that_sees_it() -> None:
    watched, found = StreamTracker(), []
    for at in range(580, 800, 10):
        seen = {"departures": observed(at, steadily(10), 6100, rhythm=MINUTE)}
        if watched.judge(seen, {"departures": OK}, 1):
            found.append(at)
    assert found[0] == 580 + 130 + 10


def test_a_leak_on_record_counts_after_the_watcher_was_restarted() -> None:
    lagging = replace(OK, verdict=Verdict(Health.LAGGING, "It falls behind."))
    done = steadily(6, every=60.1, lasting=60)
    seen = {"departures": observed(done[-1].committed, done, done[-1].end + 900, rhythm=MINUTE)}
    watched = StreamTracker()
    assert [watched.judge(seen, {"departures": lagging}, 1) for _ in range(3)] == [{}] * 3
    assert watched.judge(seen, {"departures": lagging}, 2)["departures"].health is Health.OK


def test_a_stream_that_is_no_longer_observed_is_forgotten() -> None:
    watched = StreamTracker()
    watched.judge({"departures": observed(580, steadily(10))}, {}, 1)
    watched.judge({"raw": observed(590, steadily(2))}, {}, 1)
    assert list(watched.windows) == list(watched.verdicts) == ["raw"]


def test_since_when_a_verdict_holds_is_remembered_over_ok_and_idle_and_ends_with_the_generation() -> None:
    watched, done = StreamTracker(), steadily(10)

    def since(at: float, generation: int = 1, **more: object) -> float:
        watched.judge({"departures": observed(at, done, **more)}, {}, generation)
        return (watched.since["departures"] - START).total_seconds()

    assert [since(at) for at in range(580, 1300, 60)] == [580] * 12
    assert watched.verdicts["departures"].health is Health.IDLE
    assert since(1310, driver=None) == 1310
    assert since(1320, driver=None) == 1310
    assert since(1330) == 1330
    assert since(1340, generation=2) == 1340


def test_a_gap_between_two_observations_and_a_clock_that_was_set_back_end_what_is_remembered() -> None:
    watched, done = StreamTracker(), steadily(10)
    moments = (580, 580 + 180, 580 + 361, 700, 710)
    found = []
    for at in moments:
        watched.judge({"departures": observed(at, done)}, {}, 1)
        found.append((watched.since["departures"] - START).total_seconds())
    assert found == [580, 580, 941, 700, 700]


SETTLER = ObservedSettler("departures", ("raw_flights",))


def test_a_settler_is_judged_by_the_verdict_on_its_raw_stream_whatever_their_order() -> None:
    done = steadily(10)
    settler = observed(580, done, settler=SETTLER)
    watched = StreamTracker()
    watched.judge({"departures": settler, "raw_flights": observed(580, done)}, {}, 1)
    assert [verdict.health for verdict in watched.verdicts.values()] == [Health.OK, Health.OK]
    assert list(watched.verdicts) == ["departures", "raw_flights"]
    for at in range(590, 800, 10):
        stuck = observed(at, done, 6100, rhythm=MINUTE)
        watched.judge({"departures": observed(at, done, settler=SETTLER), "raw_flights": stuck}, {}, 1)
    assert watched.verdicts["raw_flights"].health is Health.STALLED
    assert watched.verdicts["departures"].health is Health.STALLED
    assert "raw_flights" in watched.verdicts["departures"].why


def test_a_table_that_is_made_of_settled_tables_is_as_well_as_the_streams_that_settle_them() -> None:
    done, watched = steadily(10), StreamTracker()
    chained = {name: observed(580, done, settler=ObservedSettler(name, (above,))) for name, above in CHAIN.items()}
    watched.judge({**chained, "raw_flights": observed(580, done)}, {}, 1)
    assert {verdict.health for verdict in watched.verdicts.values()} == {Health.OK}
    for at in range(590, 800, 10):
        stuck = observed(at, done, 6100, rhythm=MINUTE)
        resting = {name: observed(at, done, settler=ObservedSettler(name, (above,))) for name, above in CHAIN.items()}
        watched.judge({**resting, "raw_flights": stuck}, {}, 1)
    assert {verdict.health for verdict in watched.verdicts.values()} == {Health.STALLED}
    assert "settles what days has stored" in watched.verdicts["weeks"].why


CHAIN = {"weeks": "days", "days": "departures", "departures": "raw_flights"}


def test_the_raw_stream_of_another_unit_is_asked_for_elsewhere_and_unknown_if_nobody_knows() -> None:
    seen = {"departures": observed(580, steadily(10), settler=SETTLER)}
    watched = StreamTracker()
    assert upstream_elsewhere(seen) == {"raw_flights"}
    watched.judge(seen, {}, 1)
    assert watched.verdicts["departures"].health is Health.UNKNOWN
    watched.judge(seen, {}, 1, {"raw_flights": Verdict(Health.IDLE, "It rests.")}.get)
    assert watched.verdicts["departures"].health is Health.OK
