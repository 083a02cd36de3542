"""What a run of a backfill DAG asks for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.airflow.batches.backfill_request import Run, left, nothing_closed, nothing_to_do, plan, request_of
from sluice.errors import RefusedError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.acceptance import GATE_FAILED
from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.intervals.backfill.selection import Selection, select
from sluice.intervals.ledger import Ledger
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import HOUR

DAY = datetime(2013, 1, 1, tzinfo=UTC)
FORM: dict[str, Any] = {"from": None, "to": None, "mode": "correct", "only": "all", "reason": "", "dry_run": False}


@pytest.fixture(scope="module")
def departures() -> PipelineSpec:
    return load_catalog(settings().home / "include").pipelines["departures"]


def by_hand(kind: str = "manual", user: str | None = "ada", partition: str | None = None) -> Run:
    return Run("backfill_departures", "manual__1", kind, user, partition)


def ask(departures: PipelineSpec, run: Run, **form: str) -> Request:
    return request_of(departures, {**FORM, **form}, run)


def test_a_form_names_a_range_a_mode_and_who_asks(departures: PipelineSpec) -> None:
    form = {"from": "2013-01-01T00:00:00+00:00", "to": "2013-01-02T06:00:00Z", "mode": "recompute", "reason": "a fix"}
    request = ask(departures, by_hand(), **form)

    assert request.range == Interval(DAY, DAY + timedelta(hours=30))
    assert (request.mode, request.only, request.why) == (Mode.RECOMPUTE, Only.ALL, "a fix")
    assert request.by == "ada (Airflow run manual__1)"


def test_a_date_is_midnight_utc(departures: PipelineSpec) -> None:
    request = ask(departures, by_hand(), **{"from": "2013-01-01", "to": "2013-01-01"})

    assert request.range == Interval(DAY, DAY + timedelta(days=1))


@pytest.mark.parametrize(("kind", "by"), [("scheduled", "the schedule"), ("backfill", "a backfill of Airflow's")])
def test_a_partition_is_its_day_and_the_record_says_what_started_it(
    departures: PipelineSpec, kind: str, by: str
) -> None:
    request = ask(departures, by_hand(kind=kind, user=None, partition="2013-01-01"))

    assert request.range == Interval(DAY, DAY + timedelta(days=1))
    assert request.by == f"{by} (Airflow run manual__1)"
    assert request.mode == departures.backfill.mode


def test_every_fault_of_a_form_is_told_at_once(departures: PipelineSpec) -> None:
    with pytest.raises(SpecError) as error:
        ask(departures, by_hand(), **{"from": "yesterday", "mode": "guess", "only": "some"})

    for fault in ("`from` is 'yesterday'", "`to` is missing", "`mode` is 'guess'", "`only` is 'some'"):
        assert fault in str(error.value)


@pytest.mark.parametrize(
    ("form", "fault"),
    [
        ({"from": "2013-01-02", "to": "2013-01-01"}, "is empty"),
        ({"from": "2013-01-01T00:30Z", "to": "2013-01-02"}, "lies inside the interval"),
        ({"from": "2013-01-01T00:00", "to": "2013-01-02"}, "no time zone"),
        ({"from": "2013-01-01", "to": "2013-01-02", "only": "dirty"}, "needs `mode: recompute`"),
        ({"from": "2013-01-01", "to": "2013-01-02", "static": "newest"}, "`static: newest` needs `mode: recompute`"),
        ({}, "`from` is missing"),
        ({"from": "2013-01-01", "to": "9999-12-31"}, "`to` is '9999-12-31': write a date"),
        ({"from": "2013-01-01", "to": "9999-12-31T23:00Z"}, "too near to an end of the calendar"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(departures: PipelineSpec, form: dict[str, str], fault: str) -> None:
    with pytest.raises(SpecError, match=fault):
        ask(departures, by_hand(), **form)


def test_a_partition_and_a_range_contradict_each_other(departures: PipelineSpec) -> None:
    with pytest.raises(SpecError, match="partition 2013-01-01 and also names 'from'"):
        ask(departures, by_hand(partition="2013-01-01"), **{"from": "2013-01-05"})


def test_a_partition_that_is_no_day_is_refused(departures: PipelineSpec) -> None:
    with pytest.raises(SpecError, match="'EWR', which is no day"):
        ask(departures, by_hand(partition="EWR"))


def test_a_key_tells_runs_and_partitions_apart_and_is_the_same_for_every_try() -> None:
    runs = [by_hand(), by_hand(partition="2013-01-01"), Run("backfill_departures", "manual__2")]

    assert len({run.key for run in runs}) == len(runs)
    assert by_hand().key == by_hand(user="bob").key


def test_what_is_open_only_came_too_early(departures: PipelineSpec) -> None:
    request = ask(departures, by_hand(), **{"from": "2013-01-01", "to": "2013-01-01"})
    early = select(request, Ledger(), HOUR, "code")
    never = select(request, Ledger(closed_until=DAY + timedelta(hours=1)), HOUR, "code")

    assert nothing_closed(early)
    assert not nothing_closed(never)
    assert nothing_to_do(early) == (
        "nothing of 2013-01-01T00:00Z to 2013-01-02T00:00Z can be backfilled: "
        "24 intervals: open: the stream may still write it"
    )


def test_a_plan_stays_small_whatever_the_range() -> None:
    request = Request("departures", Interval(DAY, DAY + timedelta(days=3650)), Mode.RECOMPUTE, "ada", "all of it")
    ledger = Ledger(closed_until=request.range.end)
    selection = select(request, ledger, HOUR, "code")
    gaps = Selection(request, selection.taken[::2], {row.interval: "why" for row in selection.taken[1::2]})

    planned = plan(gaps, "key", timedelta(days=31))

    assert planned["intervals"] == 43_800
    assert len(planned["ranges"]) == 20
    assert left(gaps) == ["43,800 intervals: why"]
    assert len(str(planned)) < 4_000


class TestAccepting:
    FAILED = Backfill(
        "departures-1",
        "k",
        Request("departures", Interval(DAY, DAY + HOUR), Mode.CORRECT, "the schedule"),
        BackfillState.FAILED,
        DAY,
        outcome=GATE_FAILED,
    )

    def test_the_request_that_the_gate_stopped_is_made_again(self, departures: PipelineSpec) -> None:
        request = request_of(departures, {**FORM, "reason": "a holiday"}, by_hand(), self.FAILED)
        assert request == Request(
            "departures",
            Interval(DAY, DAY + HOUR),
            Mode.CORRECT,
            "ada (Airflow run manual__1)",
            "a holiday",
            accepts="departures-1",
        )

    def test_a_range_beside_it_is_refused(self, departures: PipelineSpec) -> None:
        with pytest.raises(SpecError, match="names 'from' and accepts departures-1"):
            request_of(departures, {**FORM, "from": "2013-01-01", "reason": "x"}, by_hand(), self.FAILED)

    def test_it_needs_a_reason(self, departures: PipelineSpec) -> None:
        with pytest.raises(SpecError, match="only accepted with a reason"):
            request_of(departures, FORM, by_hand(), self.FAILED)

    def test_what_no_gate_has_stopped_and_what_is_anothers_is_refused(self, departures: PipelineSpec) -> None:
        with pytest.raises(RefusedError, match="was not stopped by its quality gate"):
            request_of(departures, FORM, by_hand(), replace(self.FAILED, outcome="failed"))
        other = replace(self.FAILED, request=replace(self.FAILED.request, pipeline="sales"))
        with pytest.raises(SpecError, match="is one of sales, not of departures"):
            request_of(departures, FORM, by_hand(), other)
