"""`sluice backfill` without a batch: plans, refusals and what is on record."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from sluice.cli import backfill
from sluice.errors import RefusedError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.raw_parity import RawParity
from sluice.intervals.backfill.request import Mode, Request
from tests.twins.departures_project import DeparturesProject, hour

DAY = ("departures", "--from", "2013-01-01", "--to", "2013-01-01")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
    """Four closed hours; the third is dirty."""
    place = DeparturesProject.create(tmp_path, monkeypatch)
    place.settle(4, {0: 2, 1: 3, 3: 5})
    place.soil(2)
    return place


def sluice_backfill(*arguments: str) -> Result:
    return CliRunner().invoke(backfill.app, list(arguments), catch_exceptions=False)


def as_json(*arguments: str) -> dict[str, Any]:
    answer = sluice_backfill(*arguments, "-o", "json")
    assert answer.exit_code == 0
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def first_hours(place: DeparturesProject, *, hold: bool) -> str:
    """Put a backfill of the first two hours on record and return its id."""
    request = Request("departures", Interval(hour(0), hour(2)), Mode.VERIFY, by="ada")
    take = (lambda name: place.project.processes.backfill_lock(name).take()) if hold else (lambda _: None)
    return place.project.records.backfills().claim(request, "run-1", alive=lambda _: False, hold=take).id


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("command", [("plan",), ("run", "--dry-run")], ids=["plan", "dry-run"])
def test_a_plan_says_what_is_taken_in_which_chunks_and_why_the_rest_is_left(command: tuple[str, ...]) -> None:
    found = as_json(*command, *DAY)
    assert (found["mode"], found["intervals"], found["in_the_way"]) == ("verify", 3, "")
    assert [(taken["from"][11:16], taken["to"][11:16]) for taken in found["taken"]] == [
        ("00:00", "02:00"),
        ("03:00", "04:00"),
    ]
    assert len(found["chunks"]) == 1
    assert [left["why"].partition(":")[0] for left in found["left"]] == ["dirty", "open"]


@pytest.mark.usefixtures("place")
def test_people_see_ranges_with_reasons() -> None:
    said = " ".join(sluice_backfill("plan", *DAY).stdout.split())
    assert "verify departures, 2013-01-01T00:00Z to 2013-01-02T00:00Z: processes 3 intervals in 1 chunk." in said
    assert "- 2013-01-01T02:00Z to 2013-01-01T03:00Z dirty: records on time came after" in said
    assert "had settled it; a repair recomputes it" in said
    assert "- 2013-01-01T04:00Z to 2013-01-02T00:00Z open: the stream may still write it" in said


@pytest.mark.usefixtures("place")
def test_a_plan_can_take_dirty_intervals_alone() -> None:
    found = as_json("plan", *DAY, "--mode", "recompute", "--only", "dirty")
    assert [taken["from"][11:16] for taken in found["taken"]] == ["02:00"]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (("--from", "2013-01-01T00:30", "--to", "2013-01-02"), "lies inside the interval"),
        (("--from", "2013-01-02", "--to", "2013-01-01"), "is empty"),
        (("--from", "2013-01-01", "--to", "2013-01-02", "--only", "dirty"), "needs --mode recompute"),
        (("--from", "2013-01-01", "--to", "2013-01-02", "--static", "newest"), "needs --mode recompute"),
    ],
)
def test_an_impossible_range_or_choice_is_refused(arguments: tuple[str, ...], refusal: str) -> None:
    with pytest.raises(SpecError, match=refusal):
        sluice_backfill("plan", "departures", *arguments)


@pytest.mark.usefixtures("place")
def test_a_recompute_of_healthy_intervals_without_a_reason_is_refused() -> None:
    with pytest.raises(RefusedError, match="give a reason"):
        sluice_backfill("run", *DAY, "--mode", "recompute")


@pytest.mark.usefixtures("place")
def test_a_run_that_would_take_nothing_starts_nothing() -> None:
    with pytest.raises(RefusedError, match="no interval to process"):
        sluice_backfill("run", "departures", "--from", "2013-06-01", "--to", "2013-06-01")


def test_the_range_of_a_living_backfill_is_noted_by_a_plan_and_refused_by_a_run(
    place: DeparturesProject,
) -> None:
    other = first_hours(place, hold=True)
    assert other in as_json("plan", *DAY)["in_the_way"]
    with pytest.raises(RefusedError, match=f"{other} works on departures.*ada requested it.*backfill cancel {other}"):
        sluice_backfill("run", *DAY)


def test_a_dead_backfill_blocks_no_other(place: DeparturesProject) -> None:
    first_hours(place, hold=False)
    assert as_json("plan", *DAY)["in_the_way"] == ""


def test_status_of_the_newest_shows_progress_and_the_expected_end(place: DeparturesProject) -> None:
    name = first_hours(place, hold=True)
    for done in (0, 1):
        place.project.records.backfills().advance(name, done=done, total=2)
    found = as_json("status")
    assert (found["id"], found["state"], found["alive"], found["done"], found["total"]) == (name, "running", True, 1, 2)
    assert found["expected_end"] is not None
    assert "1 of 2 intervals (50 %)" in sluice_backfill("status", name).stdout


def test_status_of_one_whose_process_is_gone_says_how_to_go_on(place: DeparturesProject) -> None:
    name = first_hours(place, hold=False)
    assert as_json("status", name)["alive"] is False
    assert "gone; run it again with --key run-1" in sluice_backfill("status", name).stdout


def test_status_of_one_that_ended_shows_its_result_and_its_pages(place: DeparturesProject) -> None:
    name = first_hours(place, hold=False)
    folder = place.project.folder.backfill(name)
    folder.mkdir(parents=True)
    counts = {"compared": 2, "published": 0, "late_records": 1, "explained": 0, "unexplained": 3}
    (folder / "result.json").write_text(json.dumps({"id": name, "outcome": "different", **counts}))
    (folder / "parity.html").touch()
    place.project.records.backfills().end(name, BackfillState.DONE, outcome="different", why="2 intervals differ")
    said = sluice_backfill("status", name).stdout
    assert f"{name}: done different" in said
    assert "2 compared, 0 published, 1 late records, 0 explained, 3 unexplained" in said
    assert str(folder / "parity.html") in said
    assert as_json("status", name)["result"]["unexplained"] == 3


def test_status_says_how_the_raw_table_compares_with_kafka(place: DeparturesProject) -> None:
    name = first_hours(place, hold=False)
    folder = place.project.folder.backfill(name)
    folder.mkdir(parents=True)
    counts = {"compared": 2, "published": 0, "late_records": 0, "explained": 0, "unexplained": 0}
    raw = RawParity(partitions=4, offsets=900, not_compared="No Kafka broker could be reached.").as_json()
    (folder / "result.json").write_text(json.dumps({"id": name, "outcome": "identical", **counts, "raw": raw}))
    place.project.records.backfills().end(name, BackfillState.DONE, outcome="identical", why="")
    said = " ".join(sluice_backfill("status", name).stdout.split())
    assert "raw table 900 offsets of 4 partitions checked; not compared with Kafka: No Kafka broker could" in said
    assert as_json("status", name)["result"]["raw"]["partitions"] == 4


@pytest.mark.usefixtures("place")
def test_a_status_before_the_first_backfill_says_so() -> None:
    with pytest.raises(SpecError, match="there is no backfill yet"):
        sluice_backfill("status")


def test_a_living_backfill_stops_after_its_chunk(place: DeparturesProject) -> None:
    name = first_hours(place, hold=True)
    assert "stops after the current chunk" in sluice_backfill("cancel", name).stdout
    assert "(command line)" in place.project.records.backfills().get(name).cancel_requested_by


def test_cancelling_a_dead_backfill_records_its_end(place: DeparturesProject) -> None:
    name = first_hours(place, hold=False)
    assert "is failed: its process ended without a message" in sluice_backfill("cancel", name).stdout
    assert place.project.records.backfills().get(name).state is BackfillState.FAILED


def test_the_list_says_what_each_open_backfill_waits_for(place: DeparturesProject) -> None:
    request = Request("departures", Interval(hour(0), hour(2)), Mode.VERIFY, by="ada")
    name = place.project.records.backfills().submit(request, "run-2", alive=lambda _: False).id
    said = " ".join(sluice_backfill("list").stdout.split())
    assert re.search(f"{name}: submitted .* ago, its process starts Spark; has not claimed its range yet", said)
    (found,) = json.loads(sluice_backfill("list", "-o", "json").stdout)
    assert (found["state"], found["waits"][:36]) == ("submitted", "has not claimed its range yet; on a ")


def test_backfills_are_listed_newest_first(place: DeparturesProject) -> None:
    name = first_hours(place, hold=False)
    assert [found["id"] for found in json.loads(sluice_backfill("list", "-o", "json").stdout)] == [name]
    assert json.loads(sluice_backfill("list", "arrivals", "-o", "json").stdout) == []
    assert name in sluice_backfill("list").stdout


def test_what_a_gate_has_stopped_says_how_it_can_be_accepted_and_only_that_is(place: DeparturesProject) -> None:
    name = first_hours(place, hold=False)
    with pytest.raises(RefusedError, match="was not stopped by its quality gate"):
        sluice_backfill("accept", name, "--why", "a holiday")
    place.project.records.backfills().end(
        name, BackfillState.FAILED, outcome="gate_failed", why="the quality gate failed: …"
    )
    assert f"sluice backfill accept {name} --why REASON" in sluice_backfill("status", name).stdout
    with pytest.raises(SpecError, match="only accepted with a reason"):
        sluice_backfill("accept", name)
