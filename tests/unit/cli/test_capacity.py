"""`sluice capacity`: plans by what is in the logs of a driver, and costs by what is on record."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import Result
from deltalake import write_deltalake
from typer.testing import CliRunner

from sluice.capacity.costs import CostReading, Work
from sluice.capacity.measured import StoredBytes
from sluice.cli.capacity import commands
from sluice.cli.terminal.output import out
from sluice.clock import SystemClock
from sluice.delta.size import bytes_and_rows
from sluice.errors import NotReadyError, SpecError
from sluice.intervals.raw_floor import RawFloor, WholeFrom
from sluice.project.capacity.measuring import measured_unit
from sluice.project.capacity.storing import stored_by
from tests.editing import edit
from tests.twins.departures_project import DeparturesProject
from tests.unit.capacity.measured_load import BASE, EACH, FIXED, OF_BATCH, keep_log, log

RATES = [1_000, 1_000, 4_000, 4_000, 2_000, 2_000, 3_000, 3_000] * 10
PRICES = "\nprices: {currency: EUR, core_hour: 0.04, memory_gb_hour: 0.005, disk_gb_month: 0.05}\n"
WIDE = 250
"""Characters: no column of a table is folded."""


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its creation heeds COLUMNS, and that may have been another test's."""
    monkeypatch.setattr(out, "_width", WIDE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
    return DeparturesProject.create(tmp_path, monkeypatch)


@pytest.fixture
def loaded(place: DeparturesProject) -> DeparturesProject:
    folder = place.project.folder
    for stream in ("raw_flights", "departures", "departures_live"):
        keep_log(folder.batch_log(stream), log(RATES))
    write_deltalake(str(folder.table("flights_raw")), pa.table({"n": range(10_000)}))
    write_deltalake(str(folder.table("departures")), pa.table({"n": range(100)}))
    return place


def capacity(*arguments: str) -> Result:
    return CliRunner().invoke(commands.app, arguments)


def document(*arguments: str) -> Any:  # noqa: ANN401 - JSON is any
    said = capacity(*arguments, "-o", "json")
    assert said.exit_code == 0, said.output
    return json.loads(said.stdout)


@pytest.mark.usefixtures("loaded")
def test_a_plan_is_made_from_what_the_driver_has_logged() -> None:
    found = document("plan", "departures", "--rate", "2x", "--headroom", "0")
    assert found["unit"] == "flights"
    assert found["measured_rate_per_second"] == pytest.approx(2_500, rel=0.05)
    used, *rest = found["estimates"]
    assert used["value"] == pytest.approx(BASE + EACH * found["rate_per_second"], rel=0.02)
    by_name = {each["name"]: each["value"] for each in rest}
    assert by_name["memory"] == pytest.approx(1e9, rel=0.02)
    assert by_name["keeping up"] == pytest.approx(2 * OF_BATCH * found["rate_per_second"], rel=0.02)
    # The trigger is two seconds; with the planned cores a batch takes this long.
    length = FIXED + OF_BATCH * 2 / by_name["cores"] * found["rate_per_second"] * 2
    assert by_name["longest latency"] == pytest.approx(2 + length, rel=0.05)
    assert {name for name in by_name if name.startswith("disk: ")} == {
        "disk: raw table flights_raw",
        "disk: table departures",
    }


def test_what_is_read_of_a_driver(loaded: DeparturesProject) -> None:
    found = measured_unit(loaded.project, "departures")
    assert (found.unit, found.shown, found.tasks, found.cores) == ("flights", "departures_live", 4, 2)
    assert set(found.batch_times) == {"raw_flights", "departures_live"}, "a settler's batch waits for intervals"
    assert found.state_bytes == 15_000_000
    assert found.memory_bytes == 1e9 + len(RATES) - 1
    assert {stored.name: stored.records for stored in found.stored} == {
        "raw table flights_raw": 10_000,
        "table departures": 10_000,
    }


def test_an_interval_table_is_weighed_by_what_the_raw_table_still_has(
    place: DeparturesProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = place.project
    spec, folder = project.catalog.pipelines["departures"], project.folder.table("departures")
    hours = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(4)]
    starts = pa.array([hour for hour in hours for _ in range(50)], pa.timestamp("us", "UTC"))
    rows = pa.table({spec.intervals.time_column: starts, "n": range(200)})
    write_deltalake(str(folder), rows, partition_by=[spec.intervals.time_column])
    write_deltalake(str(project.folder.table("flights_raw")), pa.table({"n": range(10_000)}))

    def kept() -> StoredBytes:
        return next(each for each in stored_by(project, spec, {"flights": 0.5}) if each.name == "table departures")

    whole, _ = bytes_and_rows(folder)
    assert (kept().bytes, kept().records) == (whole, 10_000)
    floor = WholeFrom(hours[2], RawFloor(hours[2], hours[3]), "flights_raw")
    monkeypatch.setattr(type(project.tables), "whole_now", lambda *_: floor)
    assert kept().bytes == pytest.approx(whole / 2, rel=0.05)
    assert kept().records == 20_000, "as many of all topics"


def test_a_pipeline_beside_a_settled_table_is_counted_by_its_raw_stream(place: DeparturesProject) -> None:
    folder = place.project.folder
    keep_log(folder.batch_log("raw_flights"), log(RATES))
    keep_log(folder.batch_log("departures"), [replace(batch, read=None) for batch in log(RATES)])
    assert measured_unit(place.project, "departures").rate == pytest.approx(2_500, rel=0.05)


def test_a_table_names_every_number_its_reason_and_what_decides(loaded: DeparturesProject) -> None:
    edit(loaded.home / "include/deployments/local.yaml", "replication: 1", f"replication: 1{PRICES}")
    said = capacity("plan", "departures", "--rate", "100000/s", "--latency", "3", "--outage", "3 hours")
    assert said.exit_code == 0, said.output
    for words in (
        "planned for 100,000.0/s",
        "40 CPU s per million records x 100,000/s",
        "The number of cores is decided by: catching up.",
        "EUR",
        "times the greatest rate that was measured",
    ):
        assert words in said.stdout


@pytest.mark.usefixtures("place")
def test_without_a_log_nothing_is_guessed() -> None:
    failed = capacity("plan", "departures").exception
    assert isinstance(failed, NotReadyError)
    assert "has 0 measured windows" in str(failed)


@pytest.mark.parametrize(
    "wrong",
    [
        ["departures", "--rate", "0x"],
        ["departures", "--rate", "nan/s"],
        ["departures", "--latency", "-1"],
        ["departures", "--headroom", "1"],
        ["departures", "--outage", "soon"],
        ["departures", "--catch-up", "0s"],
        ["arrivals"],
    ],
)
@pytest.mark.usefixtures("loaded")
def test_what_cannot_be_planned_is_refused(wrong: list[str]) -> None:
    assert isinstance(capacity("plan", *wrong).exception, SpecError)


@pytest.mark.parametrize(
    "prices", ["{currency: EUR, core_hour: -1}", "{currency: EUR, core_hour: .nan}", "{core_hour: 1}"]
)
def test_prices_that_are_none_are_refused(prices: str, loaded: DeparturesProject) -> None:
    edit(loaded.home / "include/deployments/local.yaml", "replication: 1", f"replication: 1\nprices: {prices}")
    assert isinstance(capacity("plan", "departures").exception, SpecError)


def test_costs_have_the_drivers_of_now_and_the_batches_on_record(loaded: DeparturesProject) -> None:
    now = SystemClock().now()
    loaded.project.records.costs().observe([CostReading("b", Work.BACKFILL, "departures", 3600.0, 1800.0)], now)
    edit(loaded.home / "include/deployments/local.yaml", "replication: 1", f"replication: 1{PRICES}")
    for _ in range(2):
        (found,) = document("cost", "departures")
        assert found["day"] == now.date().isoformat()
        driver = 10 + 5 * sum(BASE + EACH * rate for rate in RATES)
        raw = driver / 3 / len(loaded.project.catalog.readers["flights"])
        assert found["cpu_seconds"] == {
            "driver": pytest.approx(driver * 2 / 3 + raw, abs=0.01),
            "backfill": 3600.0,
            "executors": 1800.0,
        }
        assert found["money"] == pytest.approx(found["total_seconds"] / 3600 * 0.04)
    said = capacity("cost").stdout
    assert "departures" in said
    assert "3,600.0" in said
    assert "EUR" in said


@pytest.mark.usefixtures("place")
def test_days_without_cost_say_so() -> None:
    assert capacity("cost").stdout.strip() == "Nothing is on record of these days."
