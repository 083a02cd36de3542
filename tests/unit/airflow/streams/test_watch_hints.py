"""What a watch learns from a unit's status: its driver died, a newer watch took over, its day is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sluice.airflow.streams.watcher import Hint, Watch, hints
from tests.twins.clock import START
from tests.unit.airflow.streams.watching import TOMORROW, alive, dead


def test_a_watch_ends_after_its_time_even_when_nothing_can_be_seen() -> None:
    watch = Watch("flights", 1, TOMORROW)

    assert hints([watch], {}, TOMORROW - timedelta(seconds=1)) == {}
    assert hints([watch], {}, TOMORROW) == {watch: Hint.DAY_OVER}


def test_the_younger_watch_of_a_generation_takes_over_from_the_older() -> None:
    older, younger = Watch("flights", 1, TOMORROW), Watch("flights", 1, TOMORROW + timedelta(minutes=1))

    assert hints([younger, older], {"flights": alive("flights")}, START) == {older: Hint.HANDED_OVER}


def test_a_death_is_told_to_every_watch_of_the_generation() -> None:
    older, younger = Watch("flights", 1, TOMORROW), Watch("flights", 1, TOMORROW + timedelta(minutes=1))

    found = hints([older, younger], {"flights": dead("flights")}, datetime(2013, 1, 7, 13, tzinfo=UTC))

    assert found == {older: Hint.CHANGED, younger: Hint.CHANGED}


def test_a_watch_of_an_older_generation_is_told_that_a_newer_one_took_over() -> None:
    newer = alive("flights")
    assert newer.attempt is not None
    newer = replace(newer, attempt=replace(newer.attempt, generation=2))
    older = Watch("flights", 1, TOMORROW)

    assert hints([older], {"flights": newer}, START) == {older: Hint.CHANGED}
