"""`sluice intervals advance`: a person sees what a settled table holds back, and decides."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from sluice.cli import intervals
from sluice.delta.log import read_log
from sluice.errors import RefusedError, SpecError
from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan
from sluice.intervals.entries import AdvanceEntry, ExaminedSource, SettleEntry
from tests.twins.departures_project import DeparturesProject, hour

FAR = datetime(2020, 1, 1, tzinfo=UTC)
CLOCKS = ArrivalClocks(
    {"flights/0": hour(8)}, {"flights/1": (ArrivalSpan(FAR, FAR + timedelta(hours=1)),)}, timedelta(days=-4_000)
)


def decisions(place: DeparturesProject) -> list[AdvanceEntry]:
    return [logged.entry for logged in read_log(place.table) if isinstance(logged.entry, AdvanceEntry)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
    """Four settled hours, and a record of 2020 that nothing bears out."""
    place = DeparturesProject.create(tmp_path, monkeypatch)
    place.commit(
        SettleEntry(
            "settle:departures", 1, "a", hour(0), hour(4), {"flights": ExaminedSource({"flights/0": 9}, ("t",), CLOCKS)}
        )
    )
    return place


def advance(*arguments: str) -> Result:
    return CliRunner().invoke(intervals.app, ["advance", "departures", *arguments], catch_exceptions=False)


def data(*arguments: str) -> dict[str, Any]:
    answer = advance(*arguments, "-o", "json")
    assert answer.exit_code == 0
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


@pytest.mark.usefixtures("place")
def test_it_shows_what_is_held_back_and_changes_nothing() -> None:
    answer = advance()
    assert "settled until 2013-01-01 04:00; arrival times have come to 2013-01-01 08:00:00 (UTC)." in answer.stdout
    assert "flights/1 holds back 2020-01-01 00:00:00 to 2020-01-01 01:00:00 UTC" in answer.stdout
    assert data()["held_back"] == [
        {"partition": "flights/1", "first": "2020-01-01T00:00:00+00:00", "last": "2020-01-01T01:00:00+00:00"}
    ]


def test_a_confirmation_is_on_record_with_its_reason(place: DeparturesProject) -> None:
    assert data("--confirm", "2020-01-02", "--why", "the topic was paused", "--yes")["confirmed_until"] == (
        "2020-01-02T00:00:00+00:00"
    )
    (entry,) = decisions(place)
    assert (entry.until, entry.why) == (datetime(2020, 1, 2, tzinfo=UTC), "the topic was paused")
    assert "Confirmed until 2020-01-02 00:00:00 UTC" in advance().stdout


def test_what_is_refused_is_held_back_no_more(place: DeparturesProject) -> None:
    assert data("--refuse", "--why", "a wrong clock", "--yes")["refused"]
    assert [entry.until for entry in decisions(place)] == [None]
    assert data()["held_back"] == []
    with pytest.raises(RefusedError, match="holds no arrival time back"):
        advance("--refuse", "--why", "again", "--yes")


@pytest.mark.usefixtures("place")
def test_a_decision_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(SpecError, match="exclude each other"):
        advance("--refuse", "--confirm", "2020-01-02", "--why", "x")
    with pytest.raises(SpecError, match="needs a reason"):
        advance("--refuse")
    with pytest.raises(RefusedError, match="2020-01-01T00:00:00Z, after 2013-02-01T00:00:00Z"):
        advance("--confirm", "2013-02-01", "--why", "x", "--yes")
