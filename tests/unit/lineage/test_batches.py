"""The events of backfills and checks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from openlineage.client.event_v2 import RunEvent, RunState
from openlineage.client.serde import Serde

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode
from sluice.lineage.facets import instant
from sluice.lineage.identity import Parent
from sluice.lineage.results import BackfillEnd, Published, QualityCheck
from tests.unit.lineage.subjects import BATCH, BEGIN, TABLE, backfill
from tests.unit.lineage.test_facets import gate

END = BEGIN + timedelta(minutes=3)
RANGE = Interval(BEGIN - timedelta(days=31), BEGIN)


def said(event: RunEvent, key: str) -> Any:  # noqa: ANN401 - JSON
    return Serde.to_dict(event)["run"]["facets"].get(key)


def test_a_backfill_that_publishes_says_of_which_range_from_what_and_how_many_rows() -> None:
    end = BackfillEnd(END, True, "explained", gate=gate(True, True), published=Published(134, 17))
    first, last = BATCH.backfill_started(backfill()), BATCH.backfill_ended(backfill(), end)
    assert (first.eventType, last.eventType) == (RunState.START, RunState.COMPLETE)
    assert (first.eventTime, last.eventTime) == (instant(BEGIN), instant(END))
    assert first.run.runId == last.run.runId
    assert (said(last, "nominalTime")["nominalStartTime"], said(last, "nominalTime")["nominalEndTime"]) == (
        "2013-01-06T12:00:00.000Z",
        "2013-01-07T12:00:00.000Z",
    )
    state = said(last, "sluice_state")
    assert (state["backfill"], state["mode"], state["outcome"]) == (backfill().id, "correct", "explained")
    assert (state["askedBy"], state["why"]) == ("ada", "late records")
    assert said(last, "errorMessage") is None
    (output,) = Serde.to_dict(last)["outputs"]
    assert output["facets"]["version"]["datasetVersion"] == "17"
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 134
    assert all(each["success"] for each in output["facets"]["dataQualityAssertions"]["assertions"])
    assert "version" not in Serde.to_dict(first)["outputs"][0]["facets"]


@pytest.mark.parametrize("mode", [Mode.VERIFY, Mode.TRY])
def test_a_verify_and_a_trial_write_nothing(mode: Mode) -> None:
    event = BATCH.backfill_started(backfill(mode))
    assert [each.name for each in event.inputs or ()] == [*(each.name for each in BATCH.sources), TABLE.name]
    assert event.outputs == []


@pytest.mark.parametrize(
    ("end", "kind", "told"),
    [
        (BackfillEnd(END, False, "failed", "Spark is gone."), RunState.FAIL, "Spark is gone."),
        (
            BackfillEnd(END, False, "cancelled", "ada requested its end", cancelled=True),
            RunState.ABORT,
            "ada requested",
        ),
        (BackfillEnd(END, False, "different"), RunState.FAIL, "sluice backfill status departures-20130107T120000-abcd"),
        (
            BackfillEnd(END, False, "gate_failed", gate=gate(False, True)),
            RunState.FAIL,
            "failed: expect_column_values_to_not_be_null (carrier).",
        ),
    ],
    ids=["failed", "cancelled", "different", "gate"],
)
def test_how_it_ended_badly(end: BackfillEnd, kind: RunState, told: str) -> None:
    event = BATCH.backfill_ended(backfill(), end)
    assert (event.eventType, event.eventTime) == (kind, instant(END))
    assert told in said(event, "errorMessage")["message"]
    assert "secret" not in str(Serde.to_dict(event))


def test_whoever_resumes_a_backfill_is_another_run() -> None:
    resumed = replace(backfill(), claimed_at=END)
    assert BATCH.backfill_started(resumed).run.runId != BATCH.backfill_started(backfill()).run.runId


def test_the_run_of_airflow_is_the_parent() -> None:
    parent = Parent("prod", "backfill_departures.run", UUID(int=3), Parent("prod", "backfill_departures", UUID(int=2)))
    found = said(replace(BATCH, parent=parent).backfill_started(backfill()), "parent")
    assert found["job"] == {"namespace": "prod", "name": "backfill_departures.run"}
    assert found["root"]["run"] == {"runId": str(UUID(int=2))}
    assert said(BATCH.backfill_started(backfill()), "parent") is None


def test_a_check_says_of_what_it_read_what_held() -> None:
    check = QualityCheck(BEGIN, None)
    first, last = BATCH.check_started(check), BATCH.check_ended(QualityCheck(BEGIN, RANGE), END, gate(True, False))
    assert (first.eventType, last.eventType) == (RunState.START, RunState.COMPLETE)
    assert first.run.runId == last.run.runId
    assert (said(first, "nominalTime"), bool(said(last, "nominalTime"))) == (None, True)
    (table,) = Serde.to_dict(last)["inputs"]
    assert last.outputs == []
    assert table["inputFacets"]["inputStatistics"]["rowCount"] == 9
    assert [each["success"] for each in table["inputFacets"]["dataQualityAssertions"]["assertions"]] == [
        True,
        True,
        False,
    ]


def test_a_check_that_does_not_hold_or_did_not_happen_has_failed() -> None:
    for found, why in ((gate(False, True), ""), (None, "there is no table")):
        event = BATCH.check_ended(QualityCheck(BEGIN, RANGE), END, found, why)
        assert event.eventType is RunState.FAIL
        assert said(event, "errorMessage")["message"].startswith("The quality gate failed" if found else "there is no")
