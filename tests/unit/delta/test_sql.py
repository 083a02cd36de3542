from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

import sluice.cli.sql as sql_command
from sluice.cli.main import app
from sluice.cli.terminal.escaping import Terminal
from sluice.delta.sql import named_in, query
from sluice.errors import NotReadyError, SpecError
from sluice.settings import settings

HOUR = datetime(2013, 1, 1, 5, tzinfo=UTC)


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    folder = tmp_path / "state" / "tables" / "departures"
    rows = pa.table(
        {
            "hour": pa.array([HOUR, HOUR, HOUR.replace(hour=6)], pa.timestamp("us", "UTC")),
            "origin": ["EWR", "JFK", "EWR"],
            "departed": [3, 4, 5],
        }
    )
    write_deltalake(str(folder), rows, partition_by=["hour"])
    return {"departures": folder, "weather": tmp_path / "nowhere"}


def test_a_table_is_asked_by_its_name_and_times_are_utc(tables: dict[str, Path]) -> None:
    found = query("SELECT origin, sum(departed) AS n, min(hour) AS first FROM departures GROUP BY 1 ORDER BY 1", tables)
    assert found.to_pylist() == [{"origin": "EWR", "n": 8, "first": HOUR}, {"origin": "JFK", "n": 4, "first": HOUR}]


def test_only_tables_that_are_named_are_opened(tables: dict[str, Path]) -> None:
    assert list(named_in("select 1 from Departures", tables)) == ["departures"]
    assert len(query("select * from departures", tables, limit=2)) == 2


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("select * from nobody", "the tables are departures, weather"),
        ("select", "DuckDB refuses it: Parser Error"),
        ("select * from read_csv('/etc/passwd')", "file system operations are disabled"),
        ("copy departures to '/tmp/stolen.csv'", "disabled"),
        ("install httpfs", "disabled"),
        ("-- nothing", "gives no rows"),
    ],
)
def test_what_is_wrong_or_leads_elsewhere_is_refused(tables: dict[str, Path], statement: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        query(statement, tables)


@pytest.fixture
def state(tables: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert tables
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    settings.cache_clear()
    return tmp_path


def test_the_command_answers_as_a_table_and_as_a_document(state: Path) -> None:
    assert state.is_dir()
    told = CliRunner().invoke(app, ["sql", "select origin, departed from departures order by 2"])
    assert told.stdout.split() == ["origin", "departed", "EWR", "3", "JFK", "4", "EWR", "5"]
    answer = CliRunner().invoke(
        app, ["sql", "select hour, departed from departures order by 2", "-n", "1", "-o", "json"]
    )
    assert json.loads(answer.stdout) == [{"hour": "2013-01-01T05:00:00+00:00", "departed": 3}]
    assert "Showing the first 1 rows" in answer.stderr


def test_without_a_statement_the_tables_are_listed(state: Path) -> None:
    assert state.is_dir()
    listed = CliRunner().invoke(app, ["sql", "-o", "json"])
    assert json.loads(listed.stdout) == {
        "departures": {"hour": "timestamp[us, tz=UTC]", "origin": "string", "departed": "int64"}
    }


def test_a_name_that_is_no_table_is_not_taken_for_one_of_duckdbs_own(state: Path) -> None:
    assert state.is_dir()
    wrong = str(CliRunner().invoke(app, ["sql", "select * from nobody"]).exception)
    assert "Table with name nobody does not exist" in wrong
    assert "Did you mean" not in wrong
    assert "the tables are departures." in wrong


def test_a_declared_table_that_nobody_has_written_yet_is_no_wrong_statement(state: Path) -> None:
    assert state.is_dir()
    refused = CliRunner().invoke(app, ["sql", "select count(*) from departures_live"])
    assert isinstance(refused.exception, NotReadyError)
    assert "the table departures_live has no rows yet" in str(refused.exception)
    assert "`sluice streams start flights`" in str(refused.exception)
    wrong = CliRunner().invoke(app, ["sql", "select count(*) from nobody"])
    assert isinstance(wrong.exception, SpecError)


def test_a_record_commands_no_terminal_and_a_time_is_shown_to_its_last_digit(
    tables: dict[str, Path], state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert state.is_dir()
    hostile = "x" * 90 + "\x1b]52;c;cm0=\x07\u202e"
    rows = pa.table(
        {
            "hour": pa.array([datetime(2013, 1, 1, 5, 4, 3, 21, tzinfo=UTC)], pa.timestamp("us", "UTC")),
            "origin": [hostile],
            "departed": [3],
        }
    )
    write_deltalake(str(tables["departures"]), rows, mode="append")
    statement = ["sql", "select hour, origin from departures where departed = 3 and origin <> 'EWR'"]
    piped = CliRunner().invoke(app, statement).stdout
    assert piped.splitlines()[1] == "2013-01-01T05:04:03.000021Z  " + "x" * 90 + "\\x1b]52;c;cm0=\\x07\\u202e"
    monkeypatch.setattr(sql_command, "terminal_for_data", lambda: Terminal(width=60))
    folded = CliRunner().invoke(app, statement).stdout
    assert "2013-01-01T05:04:03.000021Z" in folded
    assert "…" not in folded
    assert folded.count("x") == 90 + 2
