"""The verdict on a settler: each way in which it waits, and that none of them is told too early or hidden."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.settling.status import HeldAdvance, SettlingStatus
from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.health.health import FINE, WELL, Health
from sluice.streams.health.observation import Observation, ObservedSettler
from sluice.streams.health.settlers import Judgement
from sluice.streams.health.verdict import judge
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.position.checkpoint import PlannedBatch
from tests.twins.clock import START

RUNNING = DriverReport("local.flights.g1", DriverState.RUNNING, 7, START - timedelta(hours=5))
RAW_OK: Judgement = (Health.OK, "Nothing is unread.", "")


def ago(**duration: float) -> datetime:
    return START - timedelta(**duration)


HOUR = timedelta(hours=1)
NINE = datetime(2013, 1, 5, 9, tzinfo=START.tzinfo)
CALM = SettlingStatus(ago(seconds=5), NINE, NINE + 1.9 * HOUR, NINE + 1.9 * HOUR, next_at=NINE + 2.25 * HOUR)
SOON = replace(CALM, complete=NINE, due=3, oldest_due=NINE, overdue=HOUR * 0.75, unread=("flights/1",))
DUE = replace(SOON, due_since=ago(minutes=12))
HELD = replace(CALM, advance=HeldAdvance("flights/0", NINE + 8760 * HOUR))


def seen(status: SettlingStatus | None, *, decided: bool = False, **more: Any) -> Observation:  # noqa: ANN401
    """Return an observation of a settler that has read all there is."""
    at_rest = Observation(
        at=START,
        unit="flights",
        driver=RUNNING,
        committed={"flights/0": 60, "flights/1": 40},
        batches=12,
        committed_at=ago(seconds=5),
        ends={"flights/0": 60, "flights/1": 40},
        settler=ObservedSettler("departures", ("raw_flights",), status, decided),
    )
    return replace(at_rest, **more)


UNREAD = {"ends": {"flights/0": 60, "flights/1": 45}}
OLD = {"committed_at": ago(days=2)}
YOUNG = {"driver": replace(RUNNING, started_at=ago(seconds=40)), "committed_at": ago(hours=1)}
FIRST = {**UNREAD, "committed": {}, "batches": 0, "committed_at": None, "driver": YOUNG["driver"]}
STUCK = {**UNREAD, "running": PlannedBatch(12, {"flights/1": 45}, None, planned_at=ago(minutes=12)), **OLD}
DEAD = {"driver": DriverReport("local.flights.g1", DriverState.ENDED, exit_code=1, ended_at=ago(minutes=1))}
OPEN = {"held": {"flights/1": 7}}


@dataclass(frozen=True)
class Case:
    """What is seen, what is known of the raw stream, and what the verdict has to be and to say."""

    name: str
    seen: Observation
    health: Health
    says: tuple[str, ...] = ()
    advice: str = ""
    raw: Judgement | None = RAW_OK
    silent_about: tuple[str, ...] = ()


ADVANCE = "sluice intervals advance departures"
CASES = [
    # nothing is wrong
    Case("at rest", seen(CALM), Health.OK, ("batch 11 was committed 5 s ago; settled until 2013-01-05 09:00 UTC",)),
    Case(
        "a silent topic with nothing due is idle, and it says what arrival it waits for",
        seen(CALM, **OLD),
        Health.IDLE,
        ("waits for an arrival at 2013-01-05 11:15:00 UTC or later (the newest is of 2013-01-05 10:54:00 UTC)",),
    ),
    Case("nothing is known of its settler before its first batch", seen(None), Health.OK, silent_about=("settled",)),
    Case("an empty topic", seen(SettlingStatus(START), **OLD), Health.IDLE, ("nothing is settled yet.",)),
    Case(
        "nothing settled yet, nothing complete yet",
        seen(SettlingStatus(START, newest=NINE, complete=NINE, next_at=NINE + HOUR)),
        Health.OK,
        ("nothing is settled yet; the next interval waits for an arrival at 2013-01-05 10:00:00 UTC or later",),
    ),
    Case("at a start", seen(None, **FIRST), Health.STARTING, silent_about=("settle",)),
    Case("records are unread, and were just read", seen(CALM, **UNREAD), Health.OK, ("settled until",)),
    # intervals are due
    Case(
        "due for a moment: each interval is, while the last of its records are read",
        seen(replace(SOON, due_since=ago(seconds=20))),
        Health.OK,
        ("3 intervals are due, from 2013-01-05 09:00 UTC on, the oldest by 45 min: records of flights/1 are unread",),
    ),
    Case(
        "due for long",
        seen(DUE),
        Health.STALLED,
        ("3 intervals are due", "for 12 min none of them was settled: records of flights/1 are unread."),
        "see why these partitions are not read: sluice streams show flights",
    ),
    Case("due for long on a silent topic", seen(DUE, **OLD), Health.STALLED, ("3 intervals are due",), "see why"),
    Case(
        "an open transaction holds what is due",
        seen(DUE, **OPEN),
        Health.STALLED,
        ("records of flights/1 are unread; an open transaction holds back 7 offsets",),
        "end or abort the transaction that is open",
    ),
    Case(
        "a transaction of a partition that holds nothing is not blamed",
        seen(replace(DUE, unread=("flights/0",)), **OPEN),
        Health.STALLED,
        ("records of flights/0 are unread.",),
        "see why",
    ),
    Case("what was due before this driver started is not its fault yet", seen(DUE, **YOUNG), Health.IDLE, ("are due",)),
    Case(
        "a rare trigger makes due intervals wait",
        seen(DUE, rhythm=Rhythm(trigger=timedelta(minutes=10))),
        Health.OK,
        ("are due",),
    ),
    Case(
        "and not for ever", seen(DUE, rhythm=Rhythm(trigger=timedelta(minutes=5))), Health.STALLED, ("are due",), "see"
    ),
    Case("due and no partition holds it: it is at work", seen(replace(DUE, unread=())), Health.OK, ("are at work",)),
    Case(
        "what only the log says to be due may be at work: it is no stall before a round has said what holds it",
        seen(replace(DUE, unread=(), complete=None)),
        Health.OK,
        ("what delays them is known after its next batch",),
    ),
    Case(
        "due for long, and a start",
        seen(DUE, **{**FIRST, "ends": {"flights/0": 5}, "driver": replace(RUNNING, started_at=ago(minutes=8))}),
        Health.STARTING,
        ("5 records are unread", "3 intervals are due"),
        "see why",
    ),
    # arrival times that nothing bears out
    Case(
        "an unconfirmed advance",
        seen(HELD),
        Health.STALLED,
        ("Arrival times from 2014-01-05 09:00:00 UTC on (flights/0)", "nothing bears them out"),
        ADVANCE,
    ),
    Case("an unconfirmed advance on a silent topic", seen(HELD, **OLD), Health.STALLED, ("bears them out",), ADVANCE),
    Case(
        "a person has decided, and no batch has followed",
        seen(HELD, decided=True),
        Health.OK,
        ("what was decided about arrival times counts within seconds",),
    ),
    Case("an unconfirmed advance at a start", seen(HELD, **FIRST), Health.STARTING, ("bears them out",), ADVANCE),
    # the raw stream
    Case(
        "the raw stream is unknown",
        seen(CALM),
        Health.UNKNOWN,
        ("settles what raw_flights has stored, and that stream is UNKNOWN: It was not observed.",),
        "sluice streams list",
        raw=None,
    ),
    Case(
        "the raw stream could not be observed",
        seen(CALM),
        Health.UNKNOWN,
        ("raw_flights has stored, and that stream is UNKNOWN: Could not check the driver.",),
        "sluice doctor",
        raw=(Health.UNKNOWN, "Could not check the driver.", "sluice doctor"),
    ),
    Case(
        "the raw stream is stopped",
        seen(CALM, **OLD),
        Health.STALLED,
        ("that stream is STOPPED: It is stopped as requested.",),
        "sluice streams start raw",
        raw=(Health.STOPPED, "It is stopped as requested.", "sluice streams start raw"),
    ),
    Case("the raw stream lags", seen(CALM), Health.LAGGING, ("raw_flights",), raw=(Health.LAGGING, "It lags.", "")),
    Case(
        "the raw stream starts", seen(CALM), Health.STARTING, ("raw_flights",), raw=(Health.STARTING, "It starts.", "")
    ),
    Case(
        "the raw stream was not observed yet, a moment after a start",
        seen(CALM, **YOUNG),
        Health.STARTING,
        ("that stream is UNKNOWN: It was not observed.",),
        "sluice streams list",
        raw=None,
    ),
    Case(
        "both start",
        seen(None, **FIRST),
        Health.STARTING,
        ("has committed nothing yet", "raw_flights"),
        raw=(Health.UNKNOWN, "It was not observed since its attempt began.", ""),
    ),
    Case(
        "its batch is not done because the raw stream stands",
        seen(CALM, **STUCK),
        Health.STALLED,
        ("5 records are unread", "that stream is STALLED: Batch 7 is not committed."),
        "restart raw",
        raw=(Health.STALLED, "Batch 7 is not committed.", "restart raw"),
    ),
    Case(
        "the raw stream and an advance: both are named",
        seen(HELD),
        Health.STALLED,
        ("that stream is STALLED: It stands.", "nothing bears them out"),
        "restart raw",
        raw=(Health.STALLED, "It stands.", "restart raw"),
    ),
    Case(
        "the raw stream lags, and an advance is worse",
        seen(HELD),
        Health.STALLED,
        ("that stream is LAGGING: It lags.", "nothing bears them out"),
        "give it cores",
        raw=(Health.LAGGING, "It lags.", "give it cores"),
    ),
    # what is worse already
    Case("a death", seen(DUE, **DEAD), Health.STOPPED, ("It does not run",), "sluice streams logs flights", raw=None),
    Case("a stop", seen(HELD, **DEAD, stop_requested=True), Health.STOPPED, (), "sluice streams start", raw=None),
    Case(
        "a rewind", seen(DUE, ends={"flights/0": 1}), Health.REWOUND, (), "sluice streams stop", silent_about=("due",)
    ),
    Case("a broker that does not answer", seen(DUE, ends=None), Health.UNKNOWN, ("Could not check",), "sluice doctor"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict_on_a_settler(case: Case) -> None:
    verdict = judge(case.seen, raw=case.raw)
    assert verdict.health is case.health, verdict.why
    assert all(phrase in verdict.why for phrase in case.says), verdict.why
    assert not any(phrase in verdict.why for phrase in case.silent_about), verdict.why
    assert case.advice in verdict.what_to_do
    assert bool(case.advice) == bool(verdict.what_to_do) or case.health in {Health.UNKNOWN, Health.LAGGING}
    assert verdict.settling == (case.seen.settler and case.seen.settler.status)


statuses = st.sampled_from([None, CALM, DUE, HELD, replace(DUE, advance=HELD.advance), SettlingStatus(START)])
raws = st.none() | st.sampled_from([(health, f"It is so: {health}.", "") for health in Health])
situations: Iterable[dict[str, Any]] = (
    {},
    UNREAD,
    OLD,
    YOUNG,
    FIRST,
    STUCK,
    DEAD,
    OPEN,
    {"stop_requested": True},
    {"driver": None},
    {"ends": None},
    {"ends": {"flights/0": 1}},
)
_WORSE = [
    *(Health.OK, Health.IDLE, Health.STARTING, Health.UNKNOWN, Health.LAGGING, Health.STALLED, Health.LOSS_RISK),
    *(Health.REWOUND, Health.STOPPED),
]


@given(statuses, raws, st.sampled_from(list(situations)), st.booleans())
def test_what_a_settler_waits_for_makes_no_verdict_better(
    status: SettlingStatus | None, raw: Judgement | None, situation: dict[str, Any], decided: bool
) -> None:
    observed = seen(status, decided=decided, **situation)
    of_any_stream = judge(replace(observed, settler=None))
    verdict = judge(observed, raw=raw)
    if of_any_stream.health not in WELL:
        assert _WORSE.index(verdict.health) >= _WORSE.index(of_any_stream.health)
        assert of_any_stream.why in verdict.why
    if raw is None or raw[0] not in WELL:
        assert verdict.health not in WELL
        young = situation is YOUNG and (raw is None or raw[0] is Health.UNKNOWN)
        assert verdict.health not in FINE or young or Health.STARTING in {raw and raw[0], of_any_stream.health}
        assert "raw_flights" in verdict.why or of_any_stream.health in {Health.STOPPED, Health.REWOUND}
    if status is not None and status.advance is not None and not decided:
        assert verdict.health not in WELL
    assert judge(replace(observed, settler=None), raw=raw) == of_any_stream, "of another stream it changes nothing"
