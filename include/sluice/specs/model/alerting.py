"""An alert policy: who is notified of what, when, how often, and of its end."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, StringConstraints, field_validator, model_validator

from sluice.specs.model.duration import Duration, format_duration
from sluice.specs.model.spec import Name, Spec
from sluice.wording import ExplainedEnum


class AlertClass(ExplainedEnum):
    """What an alert is about. One that lasts is sent once for its subject and class, until it is over."""

    FAILED_RUN = "failed-run", "a task or a run failed for good", "fix what its error says, then clear the run"
    HALTED = "halted", "a unit does not start until a person resumes it", "fix the cause; `sluice streams resume`"
    LOSS_RISK = (
        "loss-risk",
        "retention is about to delete unread records, or has already deleted some",
        "raise the retention now",
    )
    REWOUND = "rewound", "a stream's position has moved", "find out who moved it or re-created the topic"
    STALLED = (
        "stalled",
        "records are waiting and the driver is alive, but nothing is committed",
        "read the end of its log",
    )
    STOPPED = "stopped", "a stream that should run has had no driver for ten minutes", "find out why none is started"
    UNKNOWN = (
        "unknown",
        "the health of a stream that should run has been unknown for ten minutes",
        "check Airflow's triggerer",
    )
    DEADLINE = "deadline", "a running stream misses a deadline of its spec", "find out why it is behind"
    FAST_BURN = (
        "fast-burn",
        "an output uses up its error budget within days",
        "find out what makes it stale or wrong now",
    )
    SLOW_BURN = (
        "slow-burn",
        "an output uses up its error budget before its window is over",
        "find out what made it stale or wrong lately",
    )
    GATE = "gate", "rows that were computed or published violate the suite", "read the page of the gate"
    PARITY = (
        "parity",
        "a batch differs from the stream without an explanation, or the raw table from Kafka",
        "read the parity report",
    )
    PROOF = "proof", "a proof has shown that an output breaks a promise", "read its findings: `sluice proofs list`"
    DRIFT = "drift", "a topic or a principal is not as declared", "`sluice topics plan`"
    APPROVAL = "approval", "a plan waits for an answer", "answer on the run's page"
    DATA = "data", "a pipeline's own rule matches a live value", "ask the pipeline's owner"
    TEST = "test", "a test of the delivery"


class Channel(Spec):
    """A way to people: one Airflow connection."""

    connection: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,200}$")]
    """Its id; of type `apprise` (chat, pagers), `smtp` (mail) or `http` (a program). The address is a secret of it."""
    to: tuple[Annotated[str, StringConstraints(pattern=r"^[^@\s,;<>]+@[^@\s,;<>]+$")], ...] = ()
    """Who gets the mails of an `smtp` connection."""

    @property
    def identity(self) -> str:
        """Its connection and recipients: several channels may share a connection, and a policy may rename one."""
        return " ".join((self.connection, *sorted(set(self.to))))


Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
_LONGEST_QUIET = 8
"""Days that are checked: hours that cover a whole week would never end."""


class QuietHours(Spec):
    """When no alert is sent. What still lasts at their end is sent then; what is over by then is only recorded."""

    days: tuple[Day, ...] = Field(default=DAYS, min_length=1)
    """The days on which they begin."""
    begin: Annotated[str, StringConstraints(pattern=_CLOCK)]
    """Such as `22:00`."""
    end: Annotated[str, StringConstraints(pattern=_CLOCK)]
    """Such as `07:00`: on the next day if it is not later than `begin`."""
    zone: str = "UTC"
    """The time zone of both, such as `Europe/Berlin`."""

    @field_validator("zone")
    @classmethod
    def _zone_exists(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (ValueError, OSError, KeyError) as error:  # it raises all of them
            raise ValueError(f"{zone!r} is no time zone; write one such as 'Europe/Berlin'") from error
        return zone

    @model_validator(mode="after")
    def _ends(self) -> QuietHours:
        some_time = datetime(2026, 1, 6, 12, tzinfo=UTC)
        if self.over_at(some_time) >= some_time + timedelta(days=_LONGEST_QUIET):  # a gap comes again within a week
            raise ValueError("they cover the whole week: no alert would ever be sent; use a rule with `notify: []`")
        return self

    def over_at(self, at: datetime) -> datetime:
        """Return when an alert may be sent about the state at a time: that time itself outside of these hours (UTC)."""
        limit = at + timedelta(days=_LONGEST_QUIET)
        while at < limit and (end := self._end_after(at)) is not None:
            at = end
        return at

    def _end_after(self, at: datetime) -> datetime | None:
        """Return the end of the hours that a time falls into; None if it falls into none."""
        zone = ZoneInfo(self.zone)
        begin, end = time.fromisoformat(self.begin), time.fromisoformat(self.end)
        today = at.astimezone(zone).date()
        for day in (today - timedelta(days=1), today):
            if DAYS[day.weekday()] not in self.days:
                continue
            last = day if end > begin else day + timedelta(days=1)
            starts, ends = (
                datetime.combine(date, clock, zone).astimezone(UTC) for date, clock in ((day, begin), (last, end))
            )
            if starts <= at < ends:
                return ends
        return None


MIN_REPEAT = timedelta(minutes=5)


class AlertRule(Spec):
    """Who is notified of some alerts. The first rule that fits an alert decides."""

    classes: tuple[AlertClass, ...] = ()
    """What it is about; omitted: everything."""
    about: tuple[str, ...] = ()
    """Patterns of subjects, such as `stream departures*` or `topic flights`; omitted: all."""
    owners: tuple[str, ...] = ()
    """Patterns of owners; omitted: all."""
    notify: tuple[Name, ...]
    """The channels; none: it is only recorded."""
    after: Duration = timedelta()
    """How long it must last before an alert is sent."""
    quiet: Name | None = None
    """The quiet hours that apply."""
    repeat: Duration | None = timedelta(days=1)
    """How often it is sent again while it lasts; null: never."""
    resolve: bool = True
    """Whether its end is sent to those who got the alert."""

    @field_validator("repeat")
    @classmethod
    def _not_too_often(cls, repeat: timedelta | None) -> timedelta | None:
        if repeat is not None and repeat < MIN_REPEAT:
            raise ValueError(f"{format_duration(repeat)} is shorter than {format_duration(MIN_REPEAT)}")
        return repeat

    def fits(self, alert_class: AlertClass, subject: str, owner: str) -> bool:
        """Whether it decides about an alert, if no rule before it does."""
        of_class = not self.classes or alert_class in self.classes
        return of_class and _among(subject, self.about) and _among(owner, self.owners)

    @property
    def fits_all(self) -> bool:
        """Whether it decides about every alert."""
        return not (self.classes or self.about or self.owners)


def _among(text: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)


class AlertPolicySpec(Spec):
    """`include/alerts/<deployment>.yaml`: who is notified there. Without one, `sluice_alerts` is."""

    name: Name
    """The deployment's."""
    description: str = ""
    runbook: str = "sluice docs runbook"
    """The address of the runbook, such as that of a wiki; the section is appended to it."""
    channels: dict[Name, Channel] = Field(min_length=1)
    quiet_hours: dict[Name, QuietHours] = Field(default_factory=dict)
    rules: tuple[AlertRule, ...] = Field(min_length=1)
    """From the most particular to the last one, which fits everything."""

    def rule_for(self, alert_class: AlertClass, subject: str, owner: str) -> AlertRule:
        """Return the rule that decides about an alert."""
        return next((rule for rule in self.rules if rule.fits(alert_class, subject, owner)), self.rules[-1])

    def time_to_notify(self, rule: AlertRule, since: datetime, now: datetime) -> datetime:
        """Return when an alert may be sent about what has been so for a while: now, or later (UTC)."""
        ready = max(now, since + rule.after)
        hours = None if rule.quiet is None else self.quiet_hours.get(rule.quiet)
        return ready if hours is None else hours.over_at(ready)


EVERYTHING_TO_ONE = AlertPolicySpec(
    name="none",
    channels={"everybody": Channel(connection="sluice_alerts")},
    rules=(AlertRule(notify=("everybody",)),),
)
"""What applies where no policy is declared, and where the declared one is broken."""
