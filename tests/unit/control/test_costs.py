"""The record of what processes have used, on SQLite."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from sluice.capacity.costs import CostReading, Work
from sluice.control.costs import SqlCostLog
from tests.twins.clock import START

DAY = timedelta(days=1)
TODAY = START.date()


def driver(cpu: float, executors: float = 0.0, *, run: str = "flights#1", read: int = 0) -> CostReading:
    return CostReading(run, Work.DRIVER, "flights", cpu, executors, {"raw_flights": read})


def by_day(log: SqlCostLog, since: date = TODAY) -> list[tuple[int, float, float]]:
    return [((c.day - TODAY).days, c.reading.cpu_seconds, c.reading.executor_seconds) for c in log.since(since)]


def test_each_day_has_what_was_used_since_the_reading_before(engine: Engine, deployment: str) -> None:
    log = SqlCostLog(engine, deployment)
    for days, cpu, executors in ((0, 10, 1), (0, 25, 3), (0, 25, 3), (1, 40, 7), (3, 100, 7), (3, 130, 20)):
        log.observe([driver(cpu, executors, read=10 * cpu)], START + days * DAY)
    assert by_day(log) == [(0, 25, 3), (1, 15, 4), (3, 90, 13)]
    assert log.since(TODAY)[-1].reading == driver(90, 13, read=1300)


def test_a_counter_that_falls_adds_nothing_and_takes_nothing_back(engine: Engine, deployment: str) -> None:
    log = SqlCostLog(engine, deployment)
    for cpu in (10, 7, 12):
        log.observe([driver(cpu)], START)
    assert by_day(log) == [(0, 12, 0)]


def test_every_process_counts_by_itself(engine: Engine, deployment: str) -> None:
    log = SqlCostLog(engine, deployment)
    log.observe([driver(10), driver(5, run="flights#2")], START)
    log.observe([CostReading("x", Work.QUALITY, "departures", 3)], START)
    log.observe([driver(6, run="flights#2")], START)
    assert sorted((c.reading.run, c.reading.cpu_seconds) for c in log.since(TODAY)) == [
        ("flights#1", 10),
        ("flights#2", 6),
        ("x", 3),
    ]
    assert SqlCostLog(engine, f"{deployment}-prod").since(TODAY) == []


def test_when_drivers_were_read_is_known_and_batches_do_not_count_for_that(engine: Engine, deployment: str) -> None:
    log = SqlCostLog(engine, deployment)
    assert log.observed_at() is None
    log.observe([CostReading("x", Work.BACKFILL, "departures", 3)], START)
    assert log.observed_at() is None
    log.observe([driver(1)], START + DAY)
    assert log.observed_at() == START + DAY
    log.observe([], START + 2 * DAY)
    assert log.observed_at() == START + DAY


def test_old_days_are_forgotten_and_later_ones_still_count_from_there(engine: Engine, deployment: str) -> None:
    log = SqlCostLog(engine, deployment)
    for days in range(4):
        log.observe([driver(10.0 * (days + 1))], START + days * DAY)
    assert log.forget(TODAY + 2 * DAY) == 2
    log.observe([driver(45)], START + 3 * DAY)
    assert by_day(log) == [(2, 10, 0), (3, 15, 0)]
    assert by_day(log, TODAY + 3 * DAY) == [(3, 15, 0)]


def test_more_processes_than_one_statement_takes(engine: Engine, deployment: str) -> None:
    log = SqlCostLog(engine, deployment)
    for factor in (1, 3):
        log.observe([driver(factor, run=f"u{number}#1") for number in range(1_203)], START)
    assert sum(cost.reading.cpu_seconds for cost in log.since(TODAY)) == 3 * 1_203


def test_days_are_those_of_utc(engine: Engine, deployment: str) -> None:
    log = SqlCostLog(engine, deployment)
    log.observe([driver(1)], datetime.fromisoformat("2026-03-02T00:30:00+05:00"))
    assert [cost.day for cost in log.since(date(2026, 1, 1))] == [date(2026, 3, 1)]


@pytest.mark.usefixtures("deployment")
@given(steps=st.lists(st.tuples(st.integers(0, 2), st.floats(0, 100)), min_size=1, max_size=8))
def test_days_together_are_the_whole_life(engine: Engine, steps: list[tuple[int, float]]) -> None:
    log, at, cpu = SqlCostLog(engine, f"h{uuid4().hex}"[:30]), START, 0.0  # no example meets what another one has left
    for days, used in steps:
        at, cpu = at + days * DAY, cpu + used
        log.observe([driver(cpu)], at)
    assert sum(cost.reading.cpu_seconds for cost in log.since(TODAY)) == pytest.approx(cpu)
