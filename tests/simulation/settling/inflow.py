"""One topic of a simulated pipeline, with its own rules, its own time and its own raw table."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sluice.intervals.reach import RawPosition
from sluice.settling.rules import SettlingRules
from tests.simulation.choices import Choices
from tests.simulation.settling.source import EPOCH, MINUTE, Below, RawStore, Record, RecordId, Topic, is_below

LENGTH, LATENESS, DISORDER, MAX_ADVANCE, IDLE = 10, 10, 5, 60, 8
"""Minutes."""

SMALLEST_READ = 2
"""How many records of a partition an examination takes at the least."""

FLIGHTS, WEATHER = "flights", "weather"


class Inflow:
    """See above.

    Attributes:
        rules: by which the pipeline takes its records.
        topic: itself.
        raw: what its stream has read.
        time: its own: nothing that is appended from now on has arrived before it, less the disorder.
        barren: nothing is appended to it, and nothing ever was.
        poisoned: partitions with arrival times of the future.
        poison: these arrival times.
    """

    def __init__(self, rules: SettlingRules, topic: Topic, time: datetime, *, barren: bool = False) -> None:
        self.rules = rules
        self.topic = topic
        self.raw = RawStore(topic, rules)
        self.time = time
        self.barren = barren
        self.poisoned: set[int] = set()
        self.poison: list[datetime] = []

    @property
    def name(self) -> str:
        return self.topic.name

    @property
    def partitions(self) -> range:
        return range(len(self.topic.logs))

    @property
    def on_time(self) -> list[Record]:
        return [record for record in self.raw.stored if record.is_on_time(self.rules)]

    @property
    def newest_known(self) -> datetime:
        """The latest time that a record has, or would have if it were appended now."""
        records = [*self.raw.stored, *(record for log in self.topic.logs for record in log)]
        return max([self.time, *(record.arrival for record in records if record.arrival is not None)])

    def is_between_poison(self, lost: RecordId) -> bool:
        """Whether arrival times of the future lie before and behind a lost record in its partition."""
        poisoned = [record.id for record in self.raw.stored if record.arrival in self.poison]
        offsets = [offset for topic, partition, offset in poisoned if (topic, partition) == lost[:2]]
        return any(offset < lost[2] for offset in offsets) and any(offset > lost[2] for offset in offsets)

    def pass_to(self, time: datetime) -> None:
        """Append a record that no pipeline takes to each partition."""
        self.time = time
        for partition in self.partitions:
            self.topic.append(partition, time, time, taken=False)

    def position(self) -> RawPosition:
        return self.raw.position()


def first_inflow(code: Any, choices: Choices, now: datetime, *, live: bool) -> Inflow:  # noqa: ANN401
    """Return the only topic of a pipeline, or the first of two.

    Args:
        code: under test.
        choices: where chance comes from.
        now: our time.
        live: whether records arrive now, or are those of last year.
    """
    rules = code.rules.SettlingRules(
        length=LENGTH * MINUTE,
        allowed_lateness=LATENESS * MINUTE,
        arrival_disorder=DISORDER * MINUTE,
        max_advance=MAX_ADVANCE * MINUTE,
        lookback=choices.pick((0, 7)) * MINUTE,
        lookahead=choices.pick((0, 4)) * MINUTE,
        # It says that arrival times are of now, which those of last year are not.
        idle=IDLE * MINUTE if live and choices.chance(0.5) else None,
    )
    return Inflow(rules, Topic(FLIGHTS, 1 + choices.below(3)), now if live else EPOCH)


def second_inflow(code: Any, choices: Choices, now: datetime, *, live: bool) -> Inflow:  # noqa: ANN401
    """Return the other topic of two: it is in more disorder or less, later or more punctual, and read more broadly."""
    rules = code.rules.SettlingRules(
        length=LENGTH * MINUTE,
        allowed_lateness=choices.pick((3, 25, 70)) * MINUTE,
        arrival_disorder=choices.pick((2, 12)) * MINUTE,
        max_advance=choices.pick((60, 90)) * MINUTE,
        lookback=choices.pick((0, 13)) * MINUTE,
        lookahead=choices.pick((0, 9)) * MINUTE,
        idle=IDLE * MINUTE if live and choices.chance(0.5) else None,
    )
    begin = now if live else EPOCH + choices.pick((0, 0, 45)) * MINUTE
    topic = Topic(WEATHER, 1 + choices.below(2))
    inflow = Inflow(rules, topic, begin, barren=rules.idle is not None and choices.chance(0.6))
    if inflow.barren:
        inflow.raw.version = choices.below(2)  # its stream may have begun: then its raw table is there, and empty
    return inflow


def clock_of(inflow: Inflow, examined: Below, since: Below) -> datetime | None:
    """Return the greatest arrival time of what was examined since something; None without any."""
    new = (record for record in inflow.raw.stored if is_below(record.id, examined) and not is_below(record.id, since))
    return max((record.arrival for record in new if record.arrival is not None), default=None)
