from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Barrier

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.exc import DataError, StatementError

from sluice.control.database import SCHEMA, compact, migrate, open_database, sqlite_url, transaction
from sluice.control.registry import SqlRegistry
from sluice.control.tables import desired_state, metadata
from sluice.errors import CorruptionError, RefusedError, SpecError, UnreachableError
from sluice.streams.life.attempts import Desired
from tests.twins.clock import ManualClock


def test_the_migrations_build_the_tables_that_the_code_declares(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    migrate(engine)
    with transaction(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_the_schema_that_the_code_names_is_the_newest_migration(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    migrate(engine)
    with transaction(engine) as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one() == SCHEMA


def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "control.db"
    engine = open_database(sqlite_url(path))
    migrate(engine)
    SqlRegistry(engine, "local").set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    migrate(open_database(sqlite_url(path)))
    assert SqlRegistry(engine, "local").desired("flights") is not None


def test_four_processes_worth_of_engines_may_migrate_at_once(tmp_path: Path) -> None:
    together = Barrier(4)

    def migrate_together(_: int) -> None:
        engine = open_database(sqlite_url(tmp_path / "control.db"))
        together.wait()
        migrate(engine)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate_together, range(4)))
    with sqlite3.connect(tmp_path / "control.db") as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(SCHEMA,)]


@pytest.mark.parametrize(("revision", "advice"), [("9999", "or a newer one"), ("0010", "`sluice control rebuild`")])
def test_a_schema_that_is_not_known_is_refused_and_left_alone(tmp_path: Path, revision: str, advice: str) -> None:
    path = tmp_path / "control.db"
    migrate(open_database(sqlite_url(path)))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", [revision])
    with pytest.raises(RefusedError, match=revision) as refused:
        migrate(open_database(sqlite_url(path)))
    assert advice in str(refused.value)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(revision,)]


def test_a_file_that_is_no_database_is_corruption(tmp_path: Path) -> None:
    (tmp_path / "control.db").write_text("these are not the bytes you are looking for" * 100)
    with pytest.raises(CorruptionError, match="not a database"):
        migrate(open_database(sqlite_url(tmp_path / "control.db")))


def test_a_database_that_cannot_be_opened_is_unreachable_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "control.db").mkdir()
    registry = SqlRegistry(open_database(sqlite_url(tmp_path / "control.db")), "local")
    with pytest.raises(UnreachableError):
        registry.latest_attempt("flights")


def test_a_url_that_nobody_understands_is_refused_without_repeating_its_password() -> None:
    with pytest.raises(SpecError) as refusal:
        open_database("postgresql+nodriver://sluice:hunter2@db/sluice")
    assert "hunter2" not in str(refusal.value)


def test_times_come_back_in_utc_whatever_zone_they_had(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    migrate(engine)
    new_york = timezone(timedelta(hours=-5))
    clock = ManualClock(datetime(2013, 1, 1, 7, 30, tzinfo=new_york))
    SqlRegistry(engine, "local", clock).set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    wish = SqlRegistry(engine, "local", clock).desired("flights")
    assert wish is not None
    assert wish.at == datetime(2013, 1, 1, 12, 30, tzinfo=UTC)
    assert wish.at.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    migrate(engine)
    row = {
        "deployment": "local",
        "unit": "u",
        "state": "running",
        "requested_by": "ada",
        "why": "",
        "at": datetime(2013, 1, 1),  # noqa: DTZ001 - the fault under test
    }
    with pytest.raises(StatementError, match="no time zone"), transaction(engine, write=True) as connection:
        connection.execute(desired_state.insert(), row)


def test_a_text_may_quote_what_no_database_holds(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    migrate(engine)
    registry = SqlRegistry(engine, "local")
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="the value '12\0'")
    wish = registry.desired("flights")
    assert wish is not None
    assert wish.why == "the value '12\ufffd'"


def test_a_value_that_the_database_refuses_makes_it_no_unreachable_one(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    with pytest.raises(DataError, match="out of range"), transaction(engine, write=True):
        raise DataError("INSERT", {}, ValueError("integer out of range"))


def test_deployments_in_one_database_do_not_see_each_other(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    migrate(engine)
    local, prod = SqlRegistry(engine, "local"), SqlRegistry(engine, "prod")
    local.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    local.intend("flights", after_generation=0, key="local.flights.g1")
    assert prod.desired("flights") is None
    assert prod.intend("flights", after_generation=0, key="prod.flights.g1").generation == 1


def test_a_database_that_held_much_is_as_small_again_as_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "control.db"
    engine = open_database(sqlite_url(path))
    migrate(engine)
    small = path.stat().st_size
    with transaction(engine, write=True) as connection:
        connection.exec_driver_sql("CREATE TABLE much (text TEXT)")
        connection.exec_driver_sql("INSERT INTO much VALUES (?)", [("x" * 1000,) for _ in range(3000)])
    with transaction(engine, write=True) as connection:
        connection.exec_driver_sql("DROP TABLE much")
    assert compact(engine) > 2_000_000
    assert path.stat().st_size <= 2 * small
    migrate(engine)
    assert compact(engine) == 0


def test_a_database_that_somebody_writes_to_is_not_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.control.database.BUSY_SECONDS", 0.1)
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    migrate(engine)
    with transaction(engine, write=True), pytest.raises(UnreachableError, match="sluice control compact"):
        compact(engine)
