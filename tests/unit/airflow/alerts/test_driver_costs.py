"""The minute's round puts on record what drivers have used, every five minutes, and fails for no fault in that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import cast

import pytest

from sluice.capacity.costs import DayCost
from sluice.control.costs import SqlCostLog
from sluice.errors import UnreachableError
from sluice.project.project import Project
from tests.unit.airflow.alerts.alerting_airflow import Airflow, Flights
from tests.unit.capacity.measured_load import BEGIN, keep_log, log


def costs(airflow: Airflow) -> Sequence[DayCost]:
    return cast(Project, airflow.twin).records.costs().since((airflow.twin.clock.now() - timedelta(days=9)).date())


def test_a_driver_is_read_every_five_minutes_and_each_new_driver_counts_by_itself(airflow: Airflow) -> None:
    Flights(airflow)
    file = airflow.twin.folder.batch_log("departures")
    keep_log(file, log([1_000] * 3))
    airflow.rounds()
    (first,) = costs(airflow)
    assert (first.reading.run, first.reading.reads) == ("flights#1", {"departures": 15_000})
    keep_log(file, log([1_000] * 9)[3:])
    airflow.rounds(4)
    assert costs(airflow) == [first]
    airflow.rounds()
    (second,) = costs(airflow)
    assert second.reading.cpu_seconds == pytest.approx(3 * first.reading.cpu_seconds - 20)
    keep_log(file, log([1_000], generation=2, start=BEGIN + timedelta(hours=1)))
    airflow.rounds(5)
    assert {cost.reading.run for cost in costs(airflow)} == {"flights#1", "flights#2"}


def test_a_record_that_does_not_answer_stops_no_round(
    airflow: Airflow, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def lost(_log: SqlCostLog) -> None:
        raise UnreachableError("the database is away.")

    monkeypatch.setattr(SqlCostLog, "observed_at", lost)
    airflow.rounds()
    assert "What drivers have used could not be put on record" in caplog.text
    assert "could not be checked, so nothing begins" not in caplog.text
