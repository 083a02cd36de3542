from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import Result
from deltalake import CommitProperties, write_deltalake
from typer.testing import CliRunner

from sluice.cli import control, intervals
from sluice.errors import SpecError
from sluice.intervals.entries import BackfillEntry, Content, VerifiedEntry
from tests.settlements import SETTLER
from tests.twins.departures_project import DeparturesProject, hour


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
    """Four settled hours: a stale one, a sound one, a dirty one, and one that was corrected after a verify."""
    place = DeparturesProject.create(tmp_path, monkeypatch)
    place.settle(1, {0: 2}, code="other code")
    place.settle(4, {1: 3, 3: 5})
    place.soil(2)
    code = place.project.code_of("departures")
    corrected = Content(6, "42")
    place.commit(
        VerifiedEntry("departures-verify", (hour(3),), code, as_of=9),
        BackfillEntry(
            "departures-correct",
            "correct",
            "ada",
            "",
            {"flights/0": 4},
            {hour(3): True},
            {hour(3): corrected},
            code,
            "ok",
        ),
    )
    return place


def sluice_intervals(*arguments: str) -> Result:
    return CliRunner().invoke(intervals.app, list(arguments), catch_exceptions=False)


def listed(*arguments: str) -> dict[str, Any]:
    answer = sluice_intervals("list", "departures", *arguments, "-o", "json")
    assert answer.exit_code == 0
    found: dict[str, Any] = json.loads(answer.stdout)["departures"]
    return found


@pytest.mark.usefixtures("place")
def test_intervals_are_listed_as_todays_code_sees_them_with_a_count_of_each_state() -> None:
    found = listed()
    assert [interval["state"] for interval in found["intervals"]] == ["stale", "closed", "dirty", "published"]
    assert found["counts"] == {"closed": 1, "published": 1, "dirty": 1, "stale": 1}
    assert found["closed_until"] == "2013-01-01T04:00:00+00:00"
    assert [interval["current"]["rows"] for interval in found["intervals"]] == [2, 3, 0, 6]


@pytest.mark.usefixtures("place")
def test_a_filter_by_state_narrows_the_list_and_not_the_counts() -> None:
    found = listed("--state", "dirty,stale")
    assert [interval["state"] for interval in found["intervals"]] == ["stale", "dirty"]
    assert sum(found["counts"].values()) == 4


@pytest.mark.usefixtures("place")
def test_a_range_narrows_list_and_counts() -> None:
    found = listed("--from", "2013-01-01T01:00", "--to", "2013-01-01T03:00:00Z")
    assert [interval["from"][11:16] for interval in found["intervals"]] == ["01:00", "02:00"]
    assert sum(found["counts"].values()) == 2


@pytest.mark.usefixtures("place")
def test_people_see_rows_owner_version_and_the_counts() -> None:
    said = sluice_intervals("list").stdout
    assert re.search(r"2013-01-01 03:00 +published +6 +in +5 +departures-correct", said)
    assert "departures: 1 closed, 1 published, 1 dirty, 1 stale; closed until 2013-01-01 04:00 UTC." in said


def test_intervals_without_rows_are_one_line_and_a_long_list_says_how_to_see_more(
    place: DeparturesProject,
) -> None:
    place.settle(876_576, {5: 1})
    found = listed()
    assert [interval["intervals"] for interval in found["intervals"]] == [1, 1, 1, 1, 1, 1, 876_570]
    assert found["intervals"][-1]["to"] == "2113-01-01T00:00:00+00:00"
    assert sum(found["counts"].values()) == 876_576
    said = sluice_intervals("list").stdout
    assert re.search(r"2013-01-01 06:00 +closed +876,570 +0 ", said)
    assert len(said.splitlines()) == 9
    assert [i["intervals"] for i in listed("--from", "2100-01-01", "--to", "2100-01-01")["intervals"]] == [24]
    short = listed("--limit", "2")
    assert ([i["intervals"] for i in short["intervals"]], short["left_off"]) == ([1, 876_570], 5)
    assert (
        "5 earlier lines are not shown; use --limit, --from and --to."
        in sluice_intervals("list", "--limit", "2").stdout
    )
    shown = json.loads(sluice_intervals("show", "departures", "2099-12-31T05:30", "-o", "json").stdout)
    assert (shown["from"], shown["intervals"], shown["state"]) == ("2099-12-31T05:00:00+00:00", 1, "closed")


@pytest.mark.usefixtures("place")
def test_an_unknown_state_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"unknown state: dirrty.*open, closed, published, dirty, stale"):
        sluice_intervals("list", "--state", "dirrty")


def test_everything_about_an_interval_is_shown_base_and_current_apart(place: DeparturesProject) -> None:
    found = json.loads(sluice_intervals("show", "departures", "2013-01-01T03:59", "-o", "json").stdout)
    assert (found["base"]["owner"], found["base"]["rows"], found["base"]["late"]) == (SETTLER, 5, False)
    assert (found["current"]["owner"], found["current"]["rows"], found["current"]["late"]) == (
        "departures-correct",
        6,
        True,
    )
    assert found["base"]["code"] == found["current"]["code"] == place.project.code_of("departures")
    assert found["verified"]["backfill"] == "departures-verify"
    said = sluice_intervals("show", "departures", "2013-01-01T03:00Z").stdout
    for part in (
        "readers see",
        "parity compares with",
        "checksum 42",
        "flights/0 < 4",
        "verified by departures-verify",
        f"{place.project.code_of('departures')} (today's)",
    ):
        assert part in said


@pytest.mark.usefixtures("place")
def test_other_code_than_todays_is_shown_as_it_is() -> None:
    assert "other code\n" in sluice_intervals("show", "departures", "2013-01-01T00:00").stdout


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("at", "advice"),
    [
        ("2013-01-01T00:00", "--from 2013-01-01T00:00Z --to 2013-01-01T01:00Z --mode recompute --only stale"),
        ("2013-01-01T01:00", "--from 2013-01-01T01:00Z --to 2013-01-01T02:00Z --mode verify"),
        ("2013-01-01T02:00", "A repair starts automatically"),
        ("2013-01-01T03:00", "It is verified, and late records are in it."),
        ("2013-01-01T04:00", "The stream may still write it"),
        ("2012-12-31T23:00", "It was never streamed"),
    ],
)
def test_an_interval_is_shown_with_what_to_do_now(at: str, advice: str) -> None:
    assert advice in sluice_intervals("show", "departures", at).stdout


def test_an_unknown_pipeline_is_refused(place: DeparturesProject) -> None:
    assert place.home.exists()
    with pytest.raises(SpecError, match="there is no pipeline 'departuers'"):
        sluice_intervals("list", "departuers")


def test_an_unreadable_log_shows_the_index_with_a_note_and_fails(place: DeparturesProject) -> None:
    before = listed()
    damaged = CommitProperties(custom_metadata={"userMetadata": '{"sluice":99}'})
    write_deltalake(str(place.table), pa.table({"n": [1]}), mode="append", commit_properties=damaged)
    answer = sluice_intervals("list", "-o", "json")
    assert answer.exit_code == 6
    assert "the log cannot be read; this is the index of departures at table version 5" in answer.stderr
    assert json.loads(answer.stdout)["departures"]["intervals"] == before["intervals"]


def test_an_index_of_another_table_is_not_shown_but_the_log_and_a_rebuild_mends_it(place: DeparturesProject) -> None:
    listed()
    place.table.rename(place.table.with_name("old"))
    place.settle(2, {1: 9})
    answer = sluice_intervals("list", "-o", "json")
    assert answer.exit_code == 0
    assert "the index of departures was not refreshed" in answer.stderr
    assert "sluice control rebuild" in answer.stderr
    assert [i["current"]["rows"] for i in json.loads(answer.stdout)["departures"]["intervals"]] == [9]
    rebuilt = CliRunner().invoke(control.app, ["rebuild", "-o", "json"], catch_exceptions=False)
    assert json.loads(rebuilt.stdout)["departures"]["intervals"] == 1
    assert sluice_intervals("list").stderr == ""


@pytest.mark.usefixtures("place")
def test_a_rebuild_says_what_was_done() -> None:
    said = CliRunner().invoke(control.app, ["rebuild"], catch_exceptions=False).stdout
    assert said == "departures: 4 intervals from 5 ledger entries, up to table version 5.\n"
