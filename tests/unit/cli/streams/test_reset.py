"""`sluice streams reset` over the real control database and twins of launcher and broker."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sluice.cli.streams.commands import app
from sluice.cli.streams.reset import parse_target
from sluice.cli.terminal import user
from sluice.errors import RefusedError, SpecError
from sluice.specs.model.access import Role
from sluice.specs.model.start import Edge
from sluice.streams.position.epochs import Epochs
from tests.twins.departures_project import DeparturesProject
from tests.twins.flights_unit import FlightsUnit
from tests.unit.streams.position.test_checkpoint import commit, write_offsets


class Bench(FlightsUnit):
    """A unit that has run and was stopped, at offset 6 of 10."""

    def __init__(self, place: DeparturesProject, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(place, monkeypatch)
        for stream in ("departures", "departures_live"):
            folder = self.project.folder.checkpoint(stream)
            write_offsets(folder, 0, {"flights": {"0": 6}})
            commit(folder, 0)
        self.project.streams.life("flights").start("ada", "launch")

    def stop(self) -> None:
        self.project.streams.life("flights").stop("ada", "to reset it", 5)

    def epochs(self, stream: str = "departures") -> Epochs:
        return self.project.streams.epochs(stream)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(DeparturesProject.create(tmp_path, monkeypatch), monkeypatch)


def run(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=typed, catch_exceptions=False)


def reset(*arguments: str, to: str = "earliest", typed: str | None = None) -> Result:
    return run("reset", "flights", "--to", to, "--why", "a bad day", *arguments, typed=typed)


def test_a_unit_that_runs_is_refused_with_the_command_that_stops_it(bench: Bench) -> None:
    with pytest.raises(RefusedError, match="sluice streams stop flights"):
        reset("--yes")
    assert bench.epochs().number == 0


def test_what_is_confirmed_is_on_record_and_shown(bench: Bench) -> None:
    bench.stop()
    said = " ".join(reset("--yes").stdout.split())
    assert "departures: epoch 1" in said
    assert "flights/0 6 0 6 0" in said
    assert "It repeats 6 records and skips 0, of 2013-01-07 12:00:00 to 2013-01-07 12:05:00 UTC." in said
    assert "settled intervals stay as they are" in said
    assert "2 of 2 streams begin a new epoch. Start the unit: sluice streams start flights" in said
    newest = bench.epochs("departures_live").newest()
    assert newest is not None
    assert (newest.to, newest.why, newest.offsets) == ("earliest", "a bad day", {"flights/0": 0})
    assert newest.by.endswith("(command line)")

    shown = " ".join(run("show", "flights").stdout.split())
    assert "departures: epoch 1 since" in shown
    assert "begins at earliest (flights/0=0):" in shown
    epochs: dict[str, Any] = json.loads(run("show", "flights", "-o", "json").stdout)["epochs"]
    assert [epoch["number"] for epoch in epochs["departures"]] == [1]


def test_the_cluster_is_asked_in_a_role_that_may_only_read(bench: Bench) -> None:
    bench.stop()
    reset("--yes")
    assert bench.roles == {Role.WATCHER}


def test_a_repeated_reset_has_nothing_to_do_and_asks_for_no_confirmation(bench: Bench) -> None:
    bench.stop()
    reset("--yes", "--stream", "departures")
    assert "Nothing to do" in reset("--stream", "departures").stdout
    assert "1 of 2 streams" in reset("--yes").stdout  # as after a crash between the two
    assert (bench.epochs().number, bench.epochs("departures_live").number) == (1, 1)


def test_without_a_terminal_and_without_yes_it_is_shown_and_refused(bench: Bench) -> None:
    bench.stop()
    with pytest.raises(SpecError, match="--yes") as refused:
        reset()
    assert refused.value.exit_code == 2
    assert bench.epochs().number == 0


def test_a_person_types_the_name_of_the_unit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.stop()
    monkeypatch.setattr(user, "interactive", lambda: True)
    with pytest.raises(RefusedError, match="not confirmed"):
        reset(typed="yes\n")
    assert bench.epochs().number == 0
    assert "2 of 2 streams begin a new epoch" in reset(typed="flights\n").stdout


def test_a_unit_that_is_started_before_the_confirmation_is_not_reset(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.stop()

    def asked() -> bool:
        bench.project.streams.life("flights").start("bob", "he did not know")
        return True

    monkeypatch.setattr(user, "interactive", asked)
    with pytest.raises(RefusedError, match="no stop of it is on record"):
        reset(typed="flights\n")
    assert bench.epochs().number == 0


def test_programs_get_one_document_with_what_is_planned_and_what_is_on_record(bench: Bench) -> None:
    bench.stop()
    found = json.loads(reset("--yes", "-o", "json", "--stream", "departures", to="flights/0=9").stdout)
    assert (found["unit"], found["to"]) == ("flights", "flights/0=9")
    planned = found["streams"]["departures"]
    assert planned["partitions"] == {"flights/0": {"now": 6, "then": 9, "repeated": 0, "skipped": 3}}
    assert (planned["epoch"], planned["skipped"], planned["from"]) == (1, 3, "2013-01-07T12:06:00+00:00")
    assert [epoch["offsets"] for epoch in found["recorded"]] == [{"flights/0": 9}]


def test_where_to_is_read_in_every_form() -> None:
    assert parse_target("latest") is Edge.LATEST
    assert parse_target("2013-01-07") == datetime(2013, 1, 7, tzinfo=UTC)
    offsets = {"flights/0": 5, "flights/11": 7}
    assert parse_target("flights/0=5, flights/11=7") == offsets
    assert parse_target('{"flights": {"0": 5, "11": 7}}') == offsets


@pytest.mark.parametrize(
    "text", ["yesterday", "flights=5", "flights/0=-1", "flights/0=x", "{}", '{"flights": 5}', "=", "{"]
)
def test_what_does_not_name_a_position_is_refused_as_an_argument(text: str) -> None:
    with pytest.raises(SpecError, match="is not a position"):
        parse_target(text)
