"""A driver's last words, and how its end goes on record."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.failures.exits import ExitCode, explain_exit
from sluice.streams.failures.failure import (
    EXIT_CODES,
    Failure,
    FailureClass,
    class_of_exit,
    from_record,
    recorded_class,
    to_record,
)
from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.ending import Ending, as_ended, ending
from sluice.streams.life.governor import POLICIES
from sluice.streams.life.launcher import DriverReport, DriverState
from tests.twins.clock import START

SAID = Failure(FailureClass.CODE, "KeyError", "'dep_delay'", START, "departures")
KEY = "local.flights.g1"
BOUND = Attempt("flights", 1, KEY, AttemptState.BOUND, START, START)


@given(
    st.builds(
        Failure,
        st.sampled_from(FailureClass),
        st.text(),
        st.text(),
        st.just(START),
        st.text(),
        st.text(),
        st.none() | st.datetimes(timezones=st.just(UTC)),
    )
)
def test_last_words_survive_a_file(failure: Failure) -> None:
    assert from_record(json.loads(json.dumps(to_record(failure)))) == failure


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {"class": "code"},
        {**to_record(SAID), "at": "yesterday"},
        {**to_record(SAID), "at": "2013-01-07T12:00:00"},
        {**to_record(SAID), "message": 7},
    ],
)
def test_what_are_no_last_words_explains_nothing(record: object) -> None:
    assert from_record(record) is None


def test_a_class_of_a_newer_version_is_unknown() -> None:
    assert from_record({**to_record(SAID), "class": "eaten by mice"}) == replace(SAID, kind=FailureClass.UNKNOWN)


@pytest.mark.parametrize(
    ("code", "kind"),
    [(None, FailureClass.KILLED), (-9, FailureClass.KILLED), (127, FailureClass.UNKNOWN), (1, FailureClass.UNKNOWN)]
    + [(int(code), kind) for kind, code in EXIT_CODES.items()],
)
def test_an_exit_code_alone_keeps_the_class(code: int | None, kind: FailureClass) -> None:
    assert class_of_exit(code) is kind
    assert recorded_class(None, code) is kind
    assert recorded_class(FailureClass.FORCED, code) is FailureClass.FORCED


def test_every_exit_code_is_explained_and_every_class_that_may_halt_has_a_remedy() -> None:
    assert all(explain_exit(code) == code.meaning != "" for code in ExitCode)
    halting = {kind for kind, policy in POLICIES.items() if policy.budget is not None}
    assert {kind for kind in FailureClass if kind.what_to_do} == halting


def test_an_end_says_what_was_raised_and_in_which_stream() -> None:
    report = DriverReport(KEY, DriverState.ENDED, exit_code=ExitCode.CODE, ended_at=START, failure=SAID)
    said = "failed in the transform, or in Spark's analysis of it (stream departures: KeyError: 'dep_delay')"
    assert ending(report) == Ending(ExitCode.CODE, FailureClass.CODE, said, START)


def test_a_driver_that_was_killed_while_it_ended_after_a_failure_failed() -> None:
    report = DriverReport(KEY, DriverState.ENDED, exit_code=-9, failure=SAID)
    assert ending(report).failure is FailureClass.CODE
    assert ending(report).reason.startswith("was killed by signal 9 (stream departures: ")


def test_a_driver_that_was_killed_says_nothing() -> None:
    lost = ending(DriverReport(KEY, DriverState.LOST))
    assert (lost.failure, lost.at) == (FailureClass.KILLED, None)


def test_a_death_that_is_not_on_record_yet_reads_as_it_will_be() -> None:
    report = DriverReport(KEY, DriverState.ENDED, exit_code=15, ended_at=START + timedelta(seconds=9), failure=SAID)
    end = as_ended(BOUND, report, START + timedelta(seconds=60))
    assert (end.state, end.failure, end.ended_at) == (AttemptState.ENDED, FailureClass.CODE, report.ended_at)
    assert as_ended(BOUND, DriverReport(KEY, DriverState.LOST), START).ended_at == START


@pytest.mark.parametrize(
    "report", [None, DriverReport(KEY, DriverState.RUNNING), DriverReport(KEY, DriverState.ABSENT)]
)
def test_without_proof_of_death_nothing_reads_as_ended(report: DriverReport | None) -> None:
    assert as_ended(BOUND, report, START) == BOUND


def test_the_first_record_of_an_end_stays() -> None:
    recorded = replace(BOUND, state=AttemptState.ENDED, ended_at=START, exit_code=0, reason="stopped on request")
    assert as_ended(recorded, DriverReport(KEY, DriverState.ENDED, exit_code=-9), START) == recorded
