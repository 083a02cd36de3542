"""Alert policies: which rule decides, when quiet hours end, and what a file may not say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.model.alerting import DAYS, EVERYTHING_TO_ONE, AlertClass, Channel, QuietHours
from tests.unit.specs.bench import Bench
from tests.unit.specs.case import Case, assert_one_fault, words

POLICY_FILE = "include/alerts/prod.yaml"
POLICY = """\
name: prod
runbook: https://wiki.example.org/sluice/runbook
channels:
  oncall: {connection: pagerduty}
  mail: {connection: smtp, to: [data@example.org]}
quiet_hours:
  nights: {begin: "22:00", end: "07:00", zone: Europe/Berlin}
rules:
  - classes: [halted, loss-risk]
    notify: [oncall, mail]
    repeat: 2 hours
  - about: ["topic *"]
    notify: [mail]
    quiet: nights
  - notify: [mail]
    after: 10 min
    quiet: nights
    repeat: null
    resolve: false
"""


@pytest.fixture
def notified(bench: Bench) -> Bench:
    bench.write(POLICY_FILE, POLICY)
    return bench


def test_the_first_rule_that_fits_decides(notified: Bench) -> None:
    found = notified.scan()
    assert found.faults == ()
    policy = found.catalog.alerts["prod"]
    halted, topics, rest = policy.rules
    assert policy.rule_for(AlertClass.HALTED, "unit flights", "") is halted
    assert policy.rule_for(AlertClass.DRIFT, "topic flights", "") is topics
    assert policy.rule_for(AlertClass.DRIFT, "principal User:x", "") is rest
    assert policy.rule_for(AlertClass.HALTED, "topic flights", "") is halted


def test_owners_are_matched_by_pattern(notified: Bench) -> None:
    notified.edit(POLICY_FILE, 'about: ["topic *"]', 'owners: ["flight-*"]')
    policy = notified.scan().catalog.alerts["prod"]
    assert policy.rule_for(AlertClass.GATE, "DAG x", "flight-operations") is policy.rules[1]
    assert policy.rule_for(AlertClass.GATE, "DAG x", "weather") is policy.rules[2]


@pytest.mark.parametrize(
    "case",
    [
        ("notify: [oncall, mail]", "notify: [oncal, mail]", 10, "rules[0].notify[0]", "there is no channel 'oncal'"),
        ("quiet: nights\n  - notify", "quiet: night\n  - notify", 14, "rules[1].quiet", "no quiet hours 'night'"),
        ('  - about: ["topic *"]\n    notify', "  - notify", 12, "rules[1]", "no rule below it ever applies"),
        ("  - notify: [mail]\n", "  - notify: [mail]\n    owners: [me]\n", 15, "rules[2]", "reach no recipient"),
        ('"22:00"', '"25:00"', 7, "quiet_hours.nights.begin", "25:00"),
        ("Europe/Berlin", "Europe/Berln", 7, "quiet_hours.nights.zone", "is no time zone"),
        ("repeat: 2 hours", "repeat: 2 min", 11, "rules[0].repeat", "is shorter than 5 minutes"),
        ("    notify: [oncall, mail]", "    tell: [oncall, mail]", 10, "rules[0].tell", "it is called `notify` now"),
        ("  - notify: [mail]\n", "  - tell: [mail]\n", 15, "rules[2].tell", "it is called `notify` now"),
        ("[halted,", "[halt,", 9, "rules[0].classes[0]", "halt"),
        ("to: [data@example.org]", "to: [data]", 5, "channels.mail.to[0]", "data"),
        ("name: prod", "name: dev", 1, "name", "the file prod.yaml"),
    ],
    ids=words,
)
def test_a_policy_that_breaks_a_rule_is_refused(notified: Bench, case: Case) -> None:
    assert_one_fault(notified, POLICY_FILE, case)


def test_a_key_is_called_otherwise_only_where_it_was_renamed(notified: Bench) -> None:
    notified.edit(POLICY_FILE, "mail: {connection", "mail: {tell: x, connection")
    (fault,) = notified.scan().faults
    assert (fault.where, "called" in str(fault)) == ("channels.mail.tell", False)


def test_a_policy_of_no_deployment_is_refused(notified: Bench) -> None:
    notified.write("include/alerts/dev.yaml", POLICY.replace("name: prod", "name: dev"))
    (fault,) = notified.scan().faults
    assert (fault.file, fault.where) == ("include/alerts/dev.yaml", "name")
    assert "no deployment 'dev'" in fault.message


def test_without_a_policy_everything_is_notified_at_once() -> None:
    now = datetime(2026, 1, 5, 23, tzinfo=UTC)
    rule = EVERYTHING_TO_ONE.rule_for(AlertClass.GATE, "DAG x", "")
    assert (rule.notify, rule.repeat, rule.resolve) == (("everybody",), timedelta(days=1), True)
    assert EVERYTHING_TO_ONE.time_to_notify(rule, now, now) == now


def test_a_channel_is_its_connection_and_its_recipients_in_any_order() -> None:
    ada, bob = "ada@example.org", "bob@example.org"
    channels = [Channel(connection="smtp", to=to) for to in ((), (ada,), (bob,), (ada, bob))]
    assert len({channel.identity for channel in channels}) == len(channels)
    assert Channel(connection="smtp", to=(bob, ada)).identity == channels[-1].identity


BERLIN = QuietHours(begin="22:00", end="07:00", zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("at", "over"),
    [
        ("2026-01-05T12:00", "2026-01-05T12:00"),
        ("2026-01-05T21:30", "2026-01-06T06:00"),  # 22:30 in Berlin
        ("2026-01-06T05:59", "2026-01-06T06:00"),
        ("2026-01-06T06:00", "2026-01-06T06:00"),
        ("2026-03-28T23:00", "2026-03-29T05:00"),  # the night in which summer time begins
        ("2026-10-24T23:00", "2026-10-25T06:00"),  # and the one in which it ends
    ],
)
def test_a_night_ends_by_the_clock_of_its_zone(at: str, over: str) -> None:
    assert BERLIN.over_at(_utc(at)) == _utc(over)


def test_hours_that_meet_are_one() -> None:
    weekend = QuietHours(days=("sat", "sun"), begin="00:00", end="00:00")
    assert weekend.over_at(_utc("2026-01-10T15:00")) == _utc("2026-01-12T00:00")
    assert weekend.over_at(_utc("2026-01-09T15:00")) == _utc("2026-01-09T15:00")


def test_hours_that_never_end_are_refused() -> None:
    with pytest.raises(ValueError, match="cover the whole week"):
        QuietHours(begin="00:00", end="00:00")


def test_six_days_from_morning_to_morning_leave_a_day_on_which_people_are_notified() -> None:
    hours = QuietHours(days=("tue", "wed", "thu", "fri", "sat", "sun"), begin="01:00", end="01:00")
    assert hours.over_at(_utc("2026-01-06T12:00")) == _utc("2026-01-12T01:00")


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


CLOCKS = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))


@given(
    days=st.sets(st.sampled_from(DAYS), min_size=1, max_size=6).map(tuple),
    begin=CLOCKS,
    end=CLOCKS,
    zone=st.sampled_from(["UTC", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]),
    minutes=st.integers(0, 60 * 24 * 400),
)
def test_the_end_of_quiet_hours_is_outside_of_them_and_the_first_such_time(
    days: tuple[str, ...], begin: str, end: str, zone: str, minutes: int
) -> None:
    hours = QuietHours.model_validate({"days": days, "begin": begin, "end": end, "zone": zone})
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    over = hours.over_at(at)
    assert over >= at
    assert hours.over_at(over) == over
    if over > at:
        before = over - timedelta(minutes=1)
        assert hours.over_at(max(before, at)) == over
