"""The events of backfills and checks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode
from sluice.lineage.batches import (
    Ended,
    Published,
    QualityCheck,
    backfill_began,
    backfill_ended,
    check_began,
    check_ended,
)
from sluice.lineage.event import Event, EventType
from sluice.lineage.identity import Parent
from tests.unit.lineage.subjects import BATCH, BEGIN, TABLE, backfill
from tests.unit.lineage.test_facets import gate

END = BEGIN + timedelta(minutes=3)
RANGE = Interval(BEGIN - timedelta(days=31), BEGIN)


def said(event: Event, key: str) -> Any:  # noqa: ANN401 - JSON
    return event.as_dict()["run"]["facets"].get(key)


def test_a_backfill_that_publishes_says_of_which_range_from_what_and_how_many_rows() -> None:
    end = Ended(END, True, "explained", gate=gate(True, True), published=Published(134, 17))
    first, last = backfill_began(BATCH, backfill()), backfill_ended(BATCH, backfill(), end)
    assert (first.type, last.type, first.at, last.at) == (EventType.START, EventType.COMPLETE, BEGIN, END)
    assert first.run == last.run
    assert (said(last, "nominalTime")["nominalStartTime"], said(last, "nominalTime")["nominalEndTime"]) == (
        "2013-01-06T12:00:00.000Z",
        "2013-01-07T12:00:00.000Z",
    )
    state = said(last, "sluice_state")
    assert (state["backfill"], state["mode"], state["outcome"]) == (backfill().id, "correct", "explained")
    assert (state["askedBy"], state["why"]) == ("ada", "late records")
    assert said(last, "errorMessage") is None
    (output,) = last.as_dict()["outputs"]
    assert output["facets"]["version"]["datasetVersion"] == "17"
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 134
    assert all(each["success"] for each in output["facets"]["dataQualityAssertions"]["assertions"])
    assert "version" not in first.as_dict()["outputs"][0]["facets"]


def test_a_verify_writes_nothing() -> None:
    event = backfill_began(BATCH, backfill(Mode.VERIFY))
    assert (event.inputs, event.outputs) == ((*BATCH.sources, TABLE), ())


@pytest.mark.parametrize(
    ("end", "kind", "told"),
    [
        (Ended(END, False, "failed", "Spark is gone."), EventType.FAIL, "Spark is gone."),
        (Ended(END, False, "cancelled", "ada asked for its end", cancelled=True), EventType.ABORT, "ada asked"),
        (Ended(END, False, "different"), EventType.FAIL, "sluice backfill status departures-20130107T120000-abcd"),
        (
            Ended(END, False, "gate_failed", gate=gate(False, True)),
            EventType.FAIL,
            "failed: expect_column_values_to_not_be_null (carrier).",
        ),
    ],
    ids=["failed", "cancelled", "different", "gate"],
)
def test_how_it_ended_badly(end: Ended, kind: EventType, told: str) -> None:
    event = backfill_ended(BATCH, backfill(), end)
    assert (event.type, event.at) == (kind, END)
    assert told in said(event, "errorMessage")["message"]
    assert "secret" not in str(event.as_dict())


def test_whoever_resumes_a_backfill_is_another_run() -> None:
    resumed = replace(backfill(), claimed_at=END)
    assert backfill_began(BATCH, resumed).run != backfill_began(BATCH, backfill()).run


def test_the_run_of_airflow_is_the_parent() -> None:
    parent = Parent("prod", "backfill_departures.run", UUID(int=3), Parent("prod", "backfill_departures", UUID(int=2)))
    found = said(backfill_began(replace(BATCH, parent=parent), backfill()), "parent")
    assert found["job"] == {"namespace": "prod", "name": "backfill_departures.run"}
    assert found["root"]["run"] == {"runId": str(UUID(int=2))}
    assert said(backfill_began(BATCH, backfill()), "parent") is None


def test_a_check_says_of_what_it_read_what_held() -> None:
    check = QualityCheck(BEGIN, None)
    first, last = check_began(BATCH, check), check_ended(BATCH, QualityCheck(BEGIN, RANGE), END, gate(True, False))
    assert (first.type, last.type) == (EventType.START, EventType.COMPLETE)
    assert first.run == last.run
    assert (said(first, "nominalTime"), bool(said(last, "nominalTime"))) == (None, True)
    (table,) = last.as_dict()["inputs"]
    assert last.outputs == ()
    assert table["inputFacets"]["inputStatistics"]["rowCount"] == 9
    assert [each["success"] for each in table["inputFacets"]["dataQualityAssertions"]["assertions"]] == [
        True,
        True,
        False,
    ]


def test_a_check_that_does_not_hold_or_did_not_happen_has_failed() -> None:
    for found, why in ((gate(False, True), ""), (None, "there is no table")):
        event = check_ended(BATCH, QualityCheck(BEGIN, RANGE), END, found, why)
        assert event.type is EventType.FAIL
        assert said(event, "errorMessage")["message"].startswith("The quality gate failed" if found else "there is no")
