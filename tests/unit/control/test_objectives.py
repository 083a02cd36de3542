"""The record of how outputs were, on SQLite."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Engine

from sluice.control.objectives import SqlObjectiveLog
from sluice.objectives.log import GAP, Minute, ObservedSpan
from tests.twins.clock import START

MINUTE = timedelta(minutes=1)
LONG_AGO = START - timedelta(days=1)


def test_a_span_grows_until_something_changes(engine: Engine, deployment: str) -> None:
    log = SqlObjectiveLog(engine, deployment)
    for number in range(5):
        log.observe({"a/a": Minute.GOOD, "b/b": Minute.GOOD if number < 2 else Minute.STALE}, START + number * MINUTE)
    assert log.since(LONG_AGO) == {
        "a/a": [ObservedSpan(START, START + 4 * MINUTE, Minute.GOOD)],
        "b/b": [
            ObservedSpan(START, START + 2 * MINUTE, Minute.GOOD),
            ObservedSpan(START + 2 * MINUTE, START + 4 * MINUTE, Minute.STALE),
        ],
    }


def test_a_round_that_did_not_come_leaves_a_gap_and_one_that_comes_twice_changes_nothing(
    engine: Engine, deployment: str
) -> None:
    log = SqlObjectiveLog(engine, deployment)
    for number in (0, 1, 10, 11, 11, 3):
        log.observe({"a/a": Minute.GOOD}, START + number * MINUTE)
    spans = log.since(LONG_AGO)["a/a"]
    assert [(each.begin, each.end) for each in spans if each.end > each.begin] == [
        (START, START + MINUTE + GAP),
        (START + 10 * MINUTE, START + 11 * MINUTE),
    ]


def test_what_ended_before_is_neither_returned_nor_kept_and_deployments_do_not_see_each_other(
    engine: Engine, deployment: str
) -> None:
    log, other = SqlObjectiveLog(engine, deployment), SqlObjectiveLog(engine, f"{deployment}-prod")
    for number, minute in enumerate((Minute.GOOD, Minute.STALE, Minute.GOOD, Minute.GOOD)):
        log.observe({"a/a": minute}, START + number * MINUTE)
    assert [each.minute for each in log.since(START + MINUTE)["a/a"]] == [Minute.STALE, Minute.GOOD]
    assert other.since(LONG_AGO) == {}
    assert (other.forget(START + timedelta(days=9)), log.forget(START + 2 * MINUTE)) == (0, 1)
    assert [each.minute for each in log.since(LONG_AGO)["a/a"]] == [Minute.STALE, Minute.GOOD]


def test_a_clock_that_was_set_back_into_a_span_writes_nothing(engine: Engine, deployment: str) -> None:
    log = SqlObjectiveLog(engine, deployment)
    for number in (0, 1, 2):
        log.observe({"a/a": Minute.GOOD}, START + number * MINUTE)
    log.observe({"a/a": Minute.STALE}, START + MINUTE / 2)
    assert log.since(LONG_AGO) == {"a/a": [ObservedSpan(START, START + 2 * MINUTE, Minute.GOOD)]}


def test_the_same_output_has_spans_of_its_own_in_each_deployment(engine: Engine, deployment: str) -> None:
    logs = {name: SqlObjectiveLog(engine, f"{deployment}{name}") for name in ("", "-prod")}
    for number in range(3):
        logs[""].observe({"a/a": Minute.GOOD}, START + number * MINUTE)
    logs["-prod"].observe({"a/a": Minute.STALE}, START)
    logs["-prod"].observe({"a/a": Minute.STALE}, START + MINUTE)
    assert logs[""].since(LONG_AGO) == {"a/a": [ObservedSpan(START, START + 2 * MINUTE, Minute.GOOD)]}
    assert logs["-prod"].since(LONG_AGO) == {"a/a": [ObservedSpan(START, START + MINUTE, Minute.STALE)]}


def test_nothing_to_observe_writes_nothing(engine: Engine, deployment: str) -> None:
    log = SqlObjectiveLog(engine, deployment)
    log.observe({}, START)
    assert log.since(LONG_AGO) == {}
