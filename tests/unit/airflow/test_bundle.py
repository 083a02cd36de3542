"""When the DAG files are parsed: at a change of what they read, and hardly ever without one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from sluice.airflow.bundle import AGAIN, LONGEST, UNREAD, ParseScheduler, in_turn
from sluice.errors import UnreachableError
from sluice.specs.reading.project_files import Files
from tests.twins.clock import ManualClock

LOOK = 4.0
"""Seconds between two checks."""


def files(*names: str) -> Files:
    return frozenset((name, 1, 1) for name in names)


@dataclass
class Processor:
    """A DAG processor that parses at once what it is asked for, unless it is busy."""

    clock: ManualClock = field(default_factory=ManualClock)
    there: Files = field(default_factory=lambda: files("a.yaml"))
    made: set[str] = field(default_factory=lambda: {"stream_a"})
    parsed: dict[str, datetime] = field(default_factory=dict)
    asked: list[float] = field(default_factory=list)
    busy: bool = False
    locked: bool = False

    def __post_init__(self) -> None:
        self.scheduler = ParseScheduler(
            files=lambda: self.there, parsed=lambda: dict(self.parsed), ask=self._ask, clock=self.clock
        )
        self.parsed = dict.fromkeys(self.made, self.clock.now())
        self.scheduler.check()

    def _ask(self) -> None:
        if self.locked:
            raise UnreachableError("database is locked")
        self.asked.append(self.clock.monotonic())
        if not self.busy:
            self.parsed.update(dict.fromkeys(self.made, self.clock.now()))

    def go_on(self, span: timedelta) -> list[float]:
        """Look for a while, and return how many seconds after its beginning files were asked for."""
        begin, before = self.clock.monotonic(), len(self.asked)
        while self.clock.monotonic() - begin < span.total_seconds():
            self.scheduler.check()
            self.clock.sleep(LOOK)
        return [at - begin for at in self.asked[before:]]


def test_an_unchanged_folder_causes_no_parse_but_every_twenty_minutes() -> None:
    asked = Processor().go_on(timedelta(hours=1))
    assert len(asked) == timedelta(hours=1) // LONGEST - 1
    assert asked[0] >= LONGEST.total_seconds()


def test_a_new_spec_is_asked_for_at_the_next_check_and_once_more_for_what_was_being_parsed() -> None:
    processor = Processor()
    processor.go_on(timedelta(minutes=1))
    processor.there = files("a.yaml", "b.yaml")
    assert processor.go_on(timedelta(minutes=5)) == [0.0, AGAIN.total_seconds()]


@pytest.mark.parametrize("change", [files(), frozenset({("a.yaml", 2, 1)}), frozenset({("a.yaml", 1, 2)})])
def test_what_is_removed_or_differs_is_a_change(change: Files) -> None:
    processor = Processor()
    processor.there = change
    assert processor.go_on(timedelta(seconds=LOOK)) == [0.0]


def test_the_dag_of_a_removed_spec_has_its_file_parsed_until_airflow_may_take_it_for_gone() -> None:
    processor = Processor(made={"stream_a", "stream_b"}, there=files("a.yaml", "b.yaml"))
    processor.go_on(timedelta(minutes=1))
    processor.there, processor.made = files("a.yaml"), {"stream_a"}
    assert processor.go_on(timedelta(minutes=5)) == [0.0, *(each.total_seconds() for each in (AGAIN, *UNREAD))]


def test_it_is_not_asked_for_any_more_once_its_dag_is_gone() -> None:
    processor = Processor(made={"stream_a", "stream_b"}, there=files("a.yaml", "b.yaml"))
    processor.go_on(timedelta(minutes=1))
    processor.there, processor.made = files("a.yaml"), {"stream_a"}
    processor.go_on(AGAIN + timedelta(seconds=LOOK))
    del processor.parsed["stream_b"]  # which Airflow has taken for gone
    assert processor.go_on(timedelta(minutes=5)) == []


def test_a_parse_whose_result_was_lost_is_asked_for_again() -> None:
    processor = Processor()
    processor.go_on(LONGEST - timedelta(minutes=1))
    processor.busy = True
    processor.go_on(timedelta(minutes=1, seconds=LOOK))
    processor.busy = False
    assert len(processor.go_on(timedelta(minutes=3))) == 1
    assert processor.parsed["stream_a"] > processor.clock.now() - timedelta(minutes=3)


def test_a_change_that_could_not_be_asked_for_is_asked_for_by_the_next_check() -> None:
    processor = Processor()
    processor.there, processor.locked = files("b.yaml"), True
    with pytest.raises(UnreachableError):
        processor.scheduler.check()
    processor.locked = False
    assert processor.go_on(timedelta(seconds=LOOK)) == [0.0]


def test_the_file_in_which_a_new_spec_shows_is_asked_for_last_and_so_parsed_first() -> None:
    asked = in_turn(["backfills.py", "streams.py", "upkeep.py", "spec_errors.py", "own.py"])
    assert asked == ["own.py", "upkeep.py", "backfills.py", "spec_errors.py", "streams.py"]
