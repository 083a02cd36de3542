"""What is told by the clock, minute by minute, against a model that remembers what people know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import IN_FLIGHT, AlertHistory, Delivery, DeliveryOutcome
from sluice.alerts.incidents import Key, is_repetition, open_incidents
from sluice.alerts.rounds import TRY_AGAIN_AFTER, TRY_FOR, Begin, Condition, Deliver, End, Repeat, Step, steps
from sluice.specs.model.alerting import EVERYTHING_TO_ONE, AlertClass, AlertPolicySpec, AlertRule, Channel, QuietHours
from tests.unit.alerts.examples import NOW, make_alert

RISK: Key = ("stream departures", AlertClass.LOSS_RISK)
NIGHTS = QuietHours(begin="22:00", end="06:00")


def condition(key: Key = RISK, since: datetime = NOW) -> Condition:
    return Condition(*key, what="It is bad", why="because", what_to_do="act", unit="u", owner="ada", since=since)


def alert(name: str = "a1", **fields: object) -> Alert:
    values = {"level": Level.STATE, "subject": RISK[0], "alert_class": RISK[1], "run_id": "", **fields}
    return make_alert(name, **values)


def policy(**fields: object) -> AlertPolicySpec:
    rule_ = AlertRule.model_validate({"notify": ("mail",), **fields})
    channel = Channel(connection="mail")
    return AlertPolicySpec(name="p", channels={"mail": channel}, quiet_hours={"nights": NIGHTS}, rules=(rule_,))


def history(*alerts: Alert, at: datetime = NOW, **outcomes: DeliveryOutcome) -> AlertHistory:
    return AlertHistory(alerts, {name: Delivery(name, at, outcome) for name, outcome in outcomes.items()})


def todo(
    told: AlertHistory,
    now: datetime = NOW,
    conditions: Mapping[Key, Condition] | None = None,
    over: Mapping[Key, str] | None = None,
    by: AlertPolicySpec = EVERYTHING_TO_ONE,
) -> list[Step]:
    return list(steps(told, conditions or {}, over or {}, by, now))


def test_what_is_so_and_not_on_record_begins() -> None:
    assert todo(history(), conditions={RISK: condition()}) == [Begin(condition())]
    assert todo(history(alert(), a1=DeliveryOutcome.DELIVERED), conditions={RISK: condition()}) == []


def test_what_is_over_ends_and_begins_anew_later() -> None:
    told = history(alert(), a1=DeliveryOutcome.DELIVERED)
    (step,) = todo(told, over={RISK: "it is well"})
    assert isinstance(step, End)
    ended = history(
        alert(), alert("a2", level=Level.RECOVERY), a1=DeliveryOutcome.DELIVERED, a2=DeliveryOutcome.DELIVERED
    )
    assert todo(ended, over={RISK: "it is well"}) == []
    assert todo(ended, conditions={RISK: condition()}) == [Begin(condition())]


def test_what_could_not_be_observed_is_not_over() -> None:
    assert todo(history(alert(), a1=DeliveryOutcome.DELIVERED)) == []


def test_what_is_so_is_not_over_whatever_is_said() -> None:
    told = history(alert(), a1=DeliveryOutcome.DELIVERED)
    assert todo(told, conditions={RISK: condition()}, over={RISK: "it is well"}) == []


def test_a_reminder_comes_as_often_as_the_policy_says() -> None:
    told = history(alert(), a1=DeliveryOutcome.DELIVERED)
    often = policy(repeat="1 hour")
    assert todo(told, NOW + timedelta(minutes=59), by=often) == []
    (step,) = todo(told, NOW + timedelta(hours=1), by=often)
    assert isinstance(step, Repeat)
    assert todo(told, NOW + timedelta(days=400), by=policy(repeat=None)) == []


def test_deadlines_are_repeated_by_the_spec_of_the_stream() -> None:
    late: Key = ("stream departures", AlertClass.DEADLINE)
    told = history(alert(alert_class=AlertClass.DEADLINE), a1=DeliveryOutcome.DELIVERED)
    missed = replace(condition(late), why="it is later still", repeat=timedelta(days=3))
    assert todo(told, NOW + timedelta(days=2), {late: missed}, by=policy(repeat="1 day")) == []
    (step,) = todo(told, NOW + timedelta(days=3), {late: missed})
    assert isinstance(step, Repeat)
    assert step.condition == missed
    assert todo(told, NOW + timedelta(days=400), {late: replace(missed, repeat=None)}) == []
    assert todo(told, NOW + timedelta(days=400)) == [], "nobody knows whether it is still missed"


def test_what_was_held_is_told_when_the_night_is_over() -> None:
    late = NOW.replace(hour=23)
    told = history(alert(at=late), at=late, a1=DeliveryOutcome.HELD)
    nightly = policy(quiet="nights")
    assert todo(told, late + timedelta(hours=6), by=nightly) == []
    assert todo(told, late + timedelta(hours=7), by=nightly) == [Deliver(alert(at=late))]


def test_how_long_it_has_lasted_counts_from_when_it_began_and_not_from_when_it_was_noticed() -> None:
    held = alert(at=NOW + timedelta(minutes=6), since=NOW)
    told = history(held, at=held.at, a1=DeliveryOutcome.HELD)
    assert todo(told, NOW + timedelta(minutes=9), by=policy(after="10 min")) == []
    assert todo(told, NOW + timedelta(minutes=10), by=policy(after="10 min")) == [Deliver(held)]


def test_the_second_alert_of_a_night_hides_the_first_from_nobody() -> None:
    late = NOW.replace(hour=23)
    second = alert("a2", at=late + timedelta(hours=1))
    told = history(alert(at=late), second, at=late, a1=DeliveryOutcome.HELD, a2=DeliveryOutcome.WITHHELD)
    assert todo(told, late + timedelta(hours=7), by=policy(quiet="nights")) == [Deliver(second)]


def test_what_no_service_took_is_tried_again_every_five_minutes_for_a_day_and_then_as_often_as_it_is_repeated() -> None:
    told = history(alert(), a1=DeliveryOutcome.FAILED)
    assert todo(told, NOW + TRY_AGAIN_AFTER - timedelta(seconds=1)) == []
    assert todo(told, NOW + TRY_AGAIN_AFTER) == [Deliver(alert())]
    tried = NOW + timedelta(days=1) - timedelta(minutes=5)
    told = history(alert(), at=tried, a1=DeliveryOutcome.FAILED)
    assert todo(told, tried + TRY_AGAIN_AFTER - timedelta(seconds=1)) == []
    assert todo(told, tried + timedelta(hours=23)) == []
    assert todo(told, tried + timedelta(days=1)) == [Deliver(alert())]
    assert todo(told, tried + timedelta(days=1), by=policy(repeat=None)) == [Deliver(alert())], "nobody knows of it yet"


def test_an_alert_that_relies_on_another_one_hides_it_from_no_channel() -> None:
    second = alert("a2", at=NOW + timedelta(minutes=1))
    told = history(alert(), second, a1=DeliveryOutcome.FAILED, a2=DeliveryOutcome.WITHHELD)
    assert todo(told, NOW + TRY_AGAIN_AFTER - timedelta(seconds=1)) == []
    assert todo(told, NOW + TRY_AGAIN_AFTER) == [Deliver(alert())]
    third = alert("a3", at=NOW + timedelta(minutes=2))
    delivered = {"a1": DeliveryOutcome.FAILED, "a2": DeliveryOutcome.DELIVERED, "a3": DeliveryOutcome.WITHHELD}
    assert todo(history(alert(), second, third, **delivered), NOW + TRY_AGAIN_AFTER) == []


OVER = alert("a2", at=NOW + timedelta(hours=1), level=Level.RECOVERY)


def ended(at: datetime, *later: Alert, **outcomes: DeliveryOutcome) -> AlertHistory:
    """Return an incident that was delivered and is over, and perhaps what came later."""
    return history(alert(), OVER, *later, at=at, a1=DeliveryOutcome.DELIVERED, **outcomes)


def test_an_end_that_no_service_took_is_tried_again_every_five_minutes_for_a_day() -> None:
    failed = ended(OVER.at, a2=DeliveryOutcome.FAILED)
    well = {RISK: "it is well"}
    assert todo(failed, OVER.at + TRY_AGAIN_AFTER - timedelta(seconds=1), over=well) == []
    assert todo(failed, OVER.at + TRY_AGAIN_AFTER, over=well) == [Deliver(OVER)]
    assert todo(failed, OVER.at + TRY_FOR - timedelta(seconds=1)) == [Deliver(OVER)]
    assert todo(failed, OVER.at + TRY_FOR) == [], "an old end is no news"
    for outcome in set(DeliveryOutcome) - {DeliveryOutcome.FAILED}:
        assert todo(ended(OVER.at, a2=outcome), OVER.at + TRY_AGAIN_AFTER) == []


def test_an_end_that_was_cut_off_while_it_was_sent_is_sent() -> None:
    assert todo(ended(NOW), OVER.at + IN_FLIGHT / 2) == []
    assert todo(ended(NOW), OVER.at + IN_FLIGHT) == [Deliver(OVER)]


def test_an_end_is_not_sent_once_it_has_begun_again() -> None:
    failed = ended(OVER.at, a2=DeliveryOutcome.FAILED)
    later = OVER.at + TRY_AGAIN_AFTER
    assert todo(failed, later, {RISK: condition(since=later)}) == [Begin(condition(since=later))]
    again = alert("a3", at=later)
    begun = ended(later, again, a2=DeliveryOutcome.FAILED, a3=DeliveryOutcome.DELIVERED)
    assert todo(begun, later + TRY_AGAIN_AFTER) == []
    over = alert("a4", at=later, level=Level.RECOVERY)
    both = ended(later, again, over, a2=DeliveryOutcome.FAILED, a3=DeliveryOutcome.DELIVERED, a4=DeliveryOutcome.FAILED)
    assert todo(both, later + TRY_AGAIN_AFTER) == [Deliver(over)]


def test_what_was_cut_off_while_it_was_sent_is_sent() -> None:
    assert todo(history(alert()), NOW + IN_FLIGHT / 2) == []
    assert todo(history(alert()), NOW + IN_FLIGHT) == [Deliver(alert())]


def test_a_clock_that_was_set_back_by_an_hour_holds_nothing_back_for_an_hour() -> None:
    ahead = NOW + timedelta(hours=1)
    cut_off = history(alert(at=ahead))
    assert todo(cut_off, by=policy(after="10 min")) == [Deliver(alert(at=ahead))]
    assert todo(history(alert(at=ahead), at=ahead, a1=DeliveryOutcome.FAILED)) == [Deliver(alert(at=ahead))]
    at_night = NOW.replace(hour=23)
    assert todo(history(alert(at=at_night + timedelta(hours=1))), at_night, by=policy(quiet="nights")) == []


def test_whom_the_policy_tells_nothing_is_told_nothing() -> None:
    told = history(alert(), a1=DeliveryOutcome.MUTED)
    assert todo(told, NOW + timedelta(days=2), by=policy(notify=())) == []


def test_the_deaths_of_a_unit_are_one_happening_and_other_runs_go_by_their_reason() -> None:
    def incident_of(first: Alert) -> bool:
        incident = open_incidents(history(first, a1=DeliveryOutcome.DELIVERED))[first.key]
        return is_repetition(replace(first, id="a2", run_id="r2", why="generation 8 died"), incident)

    assert incident_of(make_alert("a1", dag_id="stream_flights", why="generation 7 died"))
    assert not incident_of(make_alert("a1", dag_id="topics", why="generation 7 died"))
    assert incident_of(make_alert("a1", dag_id="topics", why="generation 8 died"))


def test_a_run_as_a_whole_is_compared_with_a_run_as_a_whole() -> None:
    task, whole = make_alert("a1"), make_alert("a2", level=Level.DAG, why="Task apply failed. Failed tasks: apply.")
    incident = open_incidents(history(task, whole, a1=DeliveryOutcome.DELIVERED, a2=DeliveryOutcome.WITHHELD))[task.key]
    assert incident.known_as == task
    assert is_repetition(replace(task, id="a3", run_id="r2"), incident)
    assert is_repetition(replace(whole, id="a4", run_id="r2"), incident)
    assert not is_repetition(replace(whole, id="a4", run_id="r2", why="It ran longer than it may."), incident)


def test_who_has_cleared_a_run_hears_of_it_again() -> None:
    first = make_alert("a1", dag_id="stream_flights")
    incident = open_incidents(history(first, a1=DeliveryOutcome.DELIVERED))[first.key]
    assert not is_repetition(replace(first, id="a2", clearing=1), incident)
    other = replace(first, id="a2", run_id="r2")
    incident = open_incidents(history(first, other, a1=DeliveryOutcome.DELIVERED, a2=DeliveryOutcome.WITHHELD))[
        first.key
    ]
    assert not is_repetition(replace(first, id="a3", clearing=1), incident)
    assert is_repetition(replace(first, id="a3"), incident)


HALTED: Key = ("unit flights", AlertClass.HALTED)


def test_a_unit_that_halts_again_after_somebody_resumed_it_is_told_again_and_once() -> None:
    first = alert("a1", subject=HALTED[0], alert_class=HALTED[1], since=NOW)
    told, later = history(first, a1=DeliveryOutcome.DELIVERED), NOW + timedelta(minutes=3)
    assert todo(told, later, {HALTED: condition(HALTED, NOW)}) == []
    again = condition(HALTED, NOW + timedelta(minutes=2))
    assert todo(told, later, {HALTED: again}) == [Begin(again)]
    second = alert("a2", at=later, subject=HALTED[0], alert_class=HALTED[1], since=again.since)
    both = history(first, second, a1=DeliveryOutcome.DELIVERED, a2=DeliveryOutcome.DELIVERED)
    assert todo(both, later + timedelta(minutes=1), {HALTED: again}) == []
    ahead = condition(HALTED, later + timedelta(hours=1))
    assert todo(told, later, {HALTED: ahead}) == [], "a clock that is ahead must not have it told every minute"


def test_of_a_halt_that_the_round_has_told_the_run_that_failed_with_it_tells_nobody_again() -> None:
    by_round = alert("a1", subject=HALTED[0], alert_class=HALTED[1], since=NOW)
    incident = open_incidents(history(by_round, a1=DeliveryOutcome.DELIVERED))[HALTED]
    by_run = make_alert("a2", dag_id="stream_flights", alert_class=AlertClass.HALTED, since=NOW - timedelta(seconds=5))
    assert is_repetition(by_run, incident)
    assert not is_repetition(replace(by_run, since=NOW + timedelta(minutes=2)), incident)


@dataclass
class _World:
    """What is so, what is on record, and what people know."""

    now: datetime = NOW
    bad: set[Key] = field(default_factory=set)
    alerts: list[Alert] = field(default_factory=list)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    known: dict[Key, datetime] = field(default_factory=dict)
    works: bool = True


KEYS = [(f"stream s{n}", alert_class) for n in range(2) for alert_class in (AlertClass.LOSS_RISK, AlertClass.STALLED)]
RULE = policy(quiet="nights", repeat="3 hours", after="2 min")


class Rounds(RuleBasedStateMachine):
    """Whoever plays the rounds does what they say, and services fail for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.world = _World()

    @rule(key=st.sampled_from(KEYS))
    def turns_bad(self, key: Key) -> None:
        self.world.bad.add(key)

    @rule(key=st.sampled_from(KEYS))
    def turns_well(self, key: Key) -> None:
        self.world.bad.discard(key)

    @rule(works=st.booleans())
    def services(self, works: bool) -> None:
        self.world.works = works

    @rule(minutes=st.sampled_from([1, 1, 5, 30, 180, 600]))
    def time_passes(self, minutes: int) -> None:
        for _ in range(minutes):
            self.world.now += timedelta(minutes=1)
            if minutes < 60 or self.world.now.minute % 10 == 0:
                self.play()

    def play(self) -> None:
        world = self.world
        conditions = {key: condition(key, world.now) for key in world.bad}
        over = {key: "well" for key in KEYS if key not in world.bad}
        told = AlertHistory(tuple(world.alerts), dict(world.deliveries))
        for step in steps(told, conditions, over, RULE, world.now):
            match step:
                case Begin(begun):
                    assert begun.key in world.bad
                    self.send(self.enter(begun.key, Level.STATE))
                case Repeat(incident):
                    assert world.now - world.known[incident.key] >= timedelta(hours=3)
                    self.send(self.enter(incident.key, Level.STATE))
                case Deliver(due) if due.level is Level.RECOVERY:
                    assert due.key not in world.bad
                    self.send_end(due)
                case Deliver(due):
                    self.send(due)
                case End(incident, _):
                    assert incident.key not in world.bad
                    self.send_end(self.enter(incident.key, Level.RECOVERY))

    def enter(self, key: Key, level: Level) -> Alert:
        entered = alert(
            f"a{len(self.world.alerts)}", at=self.world.now, subject=key[0], alert_class=key[1], level=level
        )
        self.world.alerts.append(entered)
        return entered

    def send_end(self, sent: Alert) -> None:
        world = self.world
        outcome = DeliveryOutcome.DELIVERED if world.works else DeliveryOutcome.FAILED
        world.deliveries[sent.id] = Delivery(sent.id, world.now, outcome)
        if world.works:
            world.known.pop(sent.key, None)

    def send(self, sent: Alert) -> None:
        world = self.world
        since = open_incidents(AlertHistory(tuple(world.alerts), {}))[sent.key].since
        if RULE.time_to_notify(RULE.rules[0], since, world.now) > world.now:
            outcome = DeliveryOutcome.HELD
        else:
            outcome = DeliveryOutcome.DELIVERED if world.works else DeliveryOutcome.FAILED
        world.deliveries[sent.id] = Delivery(sent.id, world.now, outcome)
        if outcome is DeliveryOutcome.DELIVERED:
            assert NIGHTS.over_at(world.now) == world.now, "somebody was woken"
            world.known[sent.key] = world.now

    @rule()
    def a_working_day_passes(self) -> None:
        """With services that work, and two hours of daylight, everybody knows all that is bad and nothing else.

        Only an end that no service took for a day is known to nobody.
        """
        self.world.works = True
        self.world.now = (self.world.now + timedelta(days=1)).replace(hour=8, minute=0)
        for _ in range(120):
            self.world.now += timedelta(minutes=1)
            self.play()
        newest = {told.key: told for told in self.world.alerts}
        told_late = {key for key, told in newest.items() if self.world.now - told.at >= TRY_FOR}
        assert self.world.known.keys() >= self.world.bad
        assert self.world.known.keys() - self.world.bad <= told_late

    @invariant()
    def nobody_is_told_twice_within_a_reminder(self) -> None:
        times: dict[Key, datetime] = {}
        for told in self.world.alerts:
            if told.level is Level.RECOVERY:
                times.pop(told.key, None)
            elif (delivery := self.world.deliveries.get(told.id)) and delivery.outcome is DeliveryOutcome.DELIVERED:
                if (before := times.get(told.key)) is not None:
                    assert delivery.at - before >= timedelta(hours=3)
                times[told.key] = delivery.at


TestRounds = Rounds.TestCase
TestRounds.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)
