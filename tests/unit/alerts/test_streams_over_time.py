"""A stream over hours: observations, watchers that restart, a control database that takes nothing, deaths, rounds.

What people are told is compared with what was observable.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from sluice.alerts.alert import Alert, Level
from sluice.alerts.conditions import ABOUT_STREAMS, PATIENCE, conditions_of, ends
from sluice.alerts.delivery import AlertHistory, Delivery, DeliveryOutcome
from sluice.alerts.incidents import open_incidents
from sluice.alerts.rounds import Begin, End, steps
from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.model.alerting import EVERYTHING_TO_ONE, AlertClass
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.fleet import UnitRecords, stream_statuses
from sluice.streams.health.health import Health, same_health
from sluice.streams.health.recording import DWELL, RecordedVerdict, worth_recording
from sluice.streams.health.snapshots import StreamSnapshot
from sluice.streams.health.tracking import VerdictPeriod
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from tests.unit.alerts.examples import NOW, make_alert

ABOUT_THEM = [health for health in Health if health.value.lower().replace("_", "-") in set(ABOUT_STREAMS)]
UNIT = Unit("flights", (), ("departures",))
SUBJECT = "stream departures"
WORKS = {health for health in Health if ends(AlertClass.STALLED, Verdict(health, ""), wanted=True)}
CLASSES = {health: AlertClass(health.value.lower().replace("_", "-")) for health in ABOUT_THEM}
SEEN = [health for health in Health if health is not Health.STOPPED]
TICK = timedelta(seconds=10)
SKEW = timedelta(seconds=1)


@dataclass
class Watched:
    """What a watcher remembers, and loses when it is restarted."""

    spell: VerdictPeriod | None = None
    last: Health | None = None


@dataclass
class Record:
    """What the control database holds, and what was kept in it before, for the test alone."""

    wish: DesiredState
    attempts: list[Attempt]
    snapshot: StreamSnapshot | None = None
    verdict: RecordedVerdict | None = None
    kept: list[tuple[datetime, Health, int]] = field(default_factory=list)


class StreamOverTime(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.health = Health.OK
        self.observes = self.writable = True
        self.watched = Watched()
        first = Attempt("flights", 1, "g1", AttemptState.BOUND, NOW, NOW)
        self.record = Record(DesiredState("flights", Desired.RUNNING, "ada", "launch", NOW), [first])
        self.alerts: list[Alert] = []
        self.deliveries: dict[str, Delivery] = {}

    @property
    def newest(self) -> Attempt:
        return self.record.attempts[0]

    @rule(health=st.sampled_from(SEEN))
    def the_stream_becomes(self, health: Health) -> None:
        self.health = health

    @rule(observes=st.booleans())
    def the_triggerer_is_there_or_gone(self, observes: bool) -> None:
        self.observes = observes
        self.watched = Watched()

    @rule(writable=st.booleans())
    def the_control_database_takes_something_or_nothing(self, writable: bool) -> None:
        self.writable = writable

    @rule(minutes=st.sampled_from([1, 2, 3, 5, 9, 11]))
    def minutes_pass(self, minutes: int) -> None:
        for _ in range(minutes):
            for _ in range(6):
                self.now += TICK
                self.watch()
            self.play()

    @rule(seconds=st.sampled_from([5, 300, 1200]))
    def the_driver_dies_and_another_one_starts(self, seconds: int) -> None:
        ended = replace(
            self.newest, state=AttemptState.ENDED, ended_at=self.now, reason="ended", failure=FailureClass.TRANSIENT
        )
        self.record.attempts[0] = ended
        for _ in range(seconds // 60):
            self.now += timedelta(minutes=1)
            self.play()
        self.now += timedelta(seconds=seconds % 60)
        generation = ended.generation + 1
        self.record.attempts.insert(
            0, Attempt("flights", generation, f"g{generation}", AttemptState.BOUND, self.now, self.now)
        )

    def watch(self) -> None:
        """Do what a watcher does: observe, remember, and keep what it may."""
        if not self.observes or self.newest.state is AttemptState.ENDED:
            return
        generation, memory = self.newest.generation, self.watched
        memory.spell = VerdictPeriod.after(memory.spell, self.health, generation, self.now)
        verdict = Verdict(self.health, "Seen.")
        last, memory.last = memory.last, self.health
        if not self.writable:
            return
        if worth_recording(self.record.verdict, verdict, generation, last=last, now=self.now):
            self.record.verdict = RecordedVerdict("flights", "departures", generation, verdict, self.now)
        self.record.snapshot = StreamSnapshot(
            "flights", "departures", generation, self.now, verdict, since=memory.spell.since
        )
        self.record.kept.append((self.now, self.health, generation))

    def play(self) -> None:
        """Play a round, with a service that takes everything."""
        self.now += SKEW
        snapshots = {} if self.record.snapshot is None else {"departures": self.record.snapshot}
        verdicts = {} if self.record.verdict is None else {"departures": self.record.verdict}
        stood = stream_statuses(
            UNIT, UnitRecords(self.record.wish, self.record.attempts, snapshots, verdicts), self.now
        )
        found = conditions_of(stood, Catalog(), self.now)
        history = AlertHistory(tuple(self.alerts), dict(self.deliveries))
        for step in steps(history, found.conditions, found.over, EVERYTHING_TO_ONE, self.now):
            match step:
                case Begin(condition):
                    self.begins(condition.alert_class, condition.since)
                    self.enter(condition.subject, condition.alert_class, Level.STATE)
                case End(incident, _):
                    self.ends()
                    self.enter(*incident.key, Level.RECOVERY)
                case _:
                    pass

    def begins(self, alert_class: AlertClass, since: datetime) -> None:
        """It has lasted as long as it must, and nothing that was observed since says otherwise."""
        assert self.now - since >= PATIENCE.get(alert_class, timedelta())
        if alert_class is AlertClass.STOPPED:
            assert since == self.newest.ended_at
            return
        (health,) = [each for each, about in CLASSES.items() if about is alert_class]
        ours = [(at, seen) for at, seen, generation in self.record.kept if generation == self.newest.generation]
        others = [at for at, seen in ours if not same_health(seen, health)]
        if alert_class is AlertClass.UNKNOWN:
            known = max((at for at, seen in ours if seen is not Health.UNKNOWN), default=self.newest.intended_at)
            # A break that is too short to be recorded as one does not end what is on record.
            assert self.now - known >= PATIENCE[alert_class] or self.flapped(health, since)
        elif others:
            assert since >= max(others) or self.flapped(health, since)

    def flapped(self, health: Health, since: datetime) -> bool:
        """Whether the record says since when it is so: the stream was never well for long enough in between."""
        recorded = self.record.verdict
        return recorded is not None and recorded.at == since and same_health(recorded.verdict.health, health)

    def ends(self) -> None:
        """The newest observation of the present driver says that it works, and so it has for a while."""
        at, health, generation = self.record.kept[-1]
        assert generation == self.newest.generation
        assert health in WORKS
        assert self.now - at <= timedelta(minutes=3)
        assert self.now - self.newest.intended_at >= DWELL

    def enter(self, subject: str, alert_class: AlertClass, level: Level) -> None:
        name = f"a{len(self.alerts)}"
        fields = {"subject": subject, "alert_class": alert_class, "level": level, "run_id": "", "at": self.now}
        self.alerts.append(make_alert(name, **fields))
        self.deliveries[name] = Delivery(name, self.now, DeliveryOutcome.DELIVERED)

    def open(self) -> set[AlertClass]:
        incidents = open_incidents(AlertHistory(tuple(self.alerts), self.deliveries))
        return {alert_class for subject, alert_class in incidents if subject == SUBJECT}

    @rule()
    def half_an_hour_passes_that_everybody_observes(self) -> None:
        """Then people know what is so, and nothing else."""
        self.observes = self.writable = True
        self.minutes_pass(30)
        if self.health in WORKS:
            assert self.open() == set()
        elif self.health in CLASSES:
            assert CLASSES[self.health] in self.open()

    @rule()
    def half_an_hour_passes_that_nobody_observes(self) -> None:
        self.observes = False
        self.watched = Watched()
        self.minutes_pass(30)
        assert AlertClass.UNKNOWN in self.open()


TestStreamOverTime = StreamOverTime.TestCase
TestStreamOverTime.settings = settings(max_examples=60, stateful_step_count=15, deadline=None)
