"""`sluice outputs rebuild`: newest values from the interval table, after a confirmation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import Result
from deltalake import write_deltalake
from typer.testing import CliRunner

from sluice.cli import outputs
from sluice.delta.log import append_entry
from sluice.delta.reading import read_rows
from sluice.errors import NotReadyError, RefusedError, SpecError
from sluice.intervals.entries import ExaminedSource, SettleEntry
from tests.editing import edit
from tests.twins.departures_project import DeparturesProject, hour

Given = tuple[int, str, int]
COLUMNS = pa.schema(
    {"hour": pa.timestamp("us", tz="UTC"), "origin": pa.string(), "carrier": pa.string(), "flights": pa.int64()}.items()
)
SETTLED = SettleEntry(
    "settle:departures", 1, "a", hour(0), hour(4), {"flights": ExaminedSource({"flights/0": 9}, ("t",))}
)


def rows(*given: Given) -> pa.Table:
    """Return rows of (hour, carrier, flights)."""
    return pa.Table.from_pylist(
        [{"hour": hour(h), "origin": "JFK", "carrier": c, "flights": n} for h, c, n in given], schema=COLUMNS
    )


class Bench:
    """Four settled hours, and a table of newest values that holds other rows."""

    def __init__(self, place: DeparturesProject) -> None:
        self.place = place
        edit(place.home / "include/pipelines/departures.yaml", "keep: open", "keep: all")
        write_deltalake(str(place.table), rows((0, "AA", 1), (1, "AA", 2), (2, "UA", 3)))
        append_entry(place.table, SETTLED)
        self.live = place.project.folder.table("departures_live")

    def hold(self, *given: Given) -> None:
        write_deltalake(str(self.live), rows(*given))

    def held(self) -> list[Given]:
        found = read_rows(self.live).to_pylist()
        return sorted(((row["hour"] - hour(0)).seconds // 3600, row["carrier"], row["flights"]) for row in found)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(DeparturesProject.create(tmp_path, monkeypatch))


def rebuild(*arguments: str) -> Result:
    return CliRunner().invoke(outputs.app, ["rebuild", "departures", *arguments], catch_exceptions=False)


def test_settled_rows_are_added_replaced_and_removed_and_open_ones_stay(bench: Bench) -> None:
    bench.hold((0, "AA", 1), (1, "AA", 7), (3, "DL", 1), (4, "AA", 9), (5, "UA", 1))
    said = " ".join(rebuild("--yes").stdout.split())
    assert "departures_live: settled until 2013-01-01 04:00 UTC; 1 rows will be added, 1 replaced and 1 removed" in said
    assert "2 rows of open intervals stay. Done." in said
    assert bench.held() == [(0, "AA", 1), (1, "AA", 2), (2, "UA", 3), (4, "AA", 9), (5, "UA", 1)]
    again = rebuild()
    assert "it holds what departures holds" in " ".join(again.stdout.split())
    found: list[dict[str, Any]] = json.loads(rebuild("-o", "json").stdout)
    assert found == [
        {
            "table": "departures_live",
            "settled_until": "2013-01-01T04:00:00+00:00",
            "added": 0,
            "replaced": 0,
            "removed": 0,
            "later": 2,
        }
    ]


def test_a_column_that_the_interval_table_does_not_have_is_null(bench: Bench) -> None:
    wider = rows((1, "AA", 2)).append_column("gate", pa.array(["B7"]))
    write_deltalake(str(bench.live), wider)
    rebuild("--yes")
    assert {row["gate"] for row in read_rows(bench.live).to_pylist()} == {None}
    assert bench.held() == [(0, "AA", 1), (1, "AA", 2), (2, "UA", 3)]


def test_without_a_confirmation_nothing_is_changed(bench: Bench) -> None:
    bench.hold((0, "AA", 7))
    with pytest.raises(SpecError, match="--yes"):
        rebuild()
    assert bench.held() == [(0, "AA", 7)]


def test_what_cannot_be_rebuilt_is_refused_by_name(bench: Bench) -> None:
    with pytest.raises(SpecError, match="no `latest` output 'nothing'"):
        rebuild("--table", "nothing")
    with pytest.raises(NotReadyError, match="there is no table"):
        rebuild()
    edit(bench.place.home / "include/pipelines/departures.yaml", "keep: all", "keep: open")
    with pytest.raises(RefusedError, match="departures_live has `keep: open`"):
        rebuild()


def test_before_anything_is_settled_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.append_entry", lambda _table, _entry: None)
    bench = Bench(DeparturesProject.create(tmp_path, monkeypatch))
    bench.hold((0, "AA", 7))
    with pytest.raises(NotReadyError, match="no interval of departures is settled yet"):
        rebuild()


def test_the_roles_of_a_database_are_printed_with_their_names() -> None:
    printed = CliRunner().invoke(outputs.app, ["roles", "--reader", "dashboards"], catch_exceptions=False)
    assert printed.exit_code == 0
    assert printed.stdout.startswith("\\set ON_ERROR_STOP on\n\\set writer sluice_writer\n\\set reader dashboards\n")
    assert 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO :"reader";' in printed.stdout


@pytest.mark.parametrize(
    "name", ["", "Reader", "a b", "x; DROP TABLE y", "`id`", "a\nb", "a" * 64, "1a", "sluice_writer"]
)
def test_a_name_that_psql_would_read_otherwise_is_refused(name: str) -> None:
    with pytest.raises(SpecError):
        CliRunner().invoke(outputs.app, ["roles", "--reader", name], catch_exceptions=False)
