"""The control database on a private PostgreSQL. Needs its server programs and `requirements/postgres.in`."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier, Event, Lock

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from sluice.control.backfills import SqlBackfills
from sluice.control.database import migrate, open_database, transaction
from sluice.control.index import LedgerIndex, LedgerSource
from sluice.control.order_breaks import SqlOrderBreaks
from sluice.control.registry import SqlRegistry
from sluice.control.snapshots import SqlSnapshotStore
from sluice.control.tables import metadata
from sluice.errors import RefusedError, SluiceError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import Backfills, BackfillState
from sluice.intervals.backfill.request import Mode, Request
from sluice.intervals.entries import Logged, StreamEntry
from sluice.intervals.ledger import fold
from sluice.intervals.reach import RawPosition, Reach
from sluice.postgres.latest import PostgresLatest, connect, newest_generation
from sluice.postgres.live_table import PostgresLiveTable
from sluice.postgres.rebuilding import PostgresRebuildStore
from sluice.provisioning.growth.order_break import OrderBreaks
from sluice.streams.health.snapshots import SnapshotStore
from sluice.streams.registry import Registry
from tests.settlements import settlement
from tests.suites.backfills_suite import BackfillsSuite
from tests.suites.latest_suite import TABLE, WRITER, LatestSuite, Place, at, change, rows
from tests.suites.live_suite import READ_SECONDS, LiveTableSuite, OpenSource
from tests.suites.order_breaks_suite import OrderBreaksSuite
from tests.suites.rebuild_suite import OpenRebuilt, RebuildSuite
from tests.suites.registry_suite import RegistrySuite
from tests.suites.snapshots_suite import SnapshotStoreSuite
from tests.twins.clock import ManualClock

pytestmark = pytest.mark.verify


def _program(name: str) -> str:
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        pytest.skip(f"there is no {name} here; install PostgreSQL's server programs")
    return found


def _as_ordinary_user(command: list[str]) -> None:
    """Run a program of PostgreSQL, which refuses to run as root."""
    user = {"user": "postgres"} if os.getuid() == 0 else {}
    subprocess.run(command, check=True, capture_output=True, timeout=120, **user)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server that listens on a socket in its own folder; yields the start of its URL."""
    pytest.importorskip("psycopg", reason="psycopg is not installed; see requirements/postgres.in")
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    with TemporaryDirectory(prefix="sluice-postgresql-") as name:
        folder = Path(name)
        if os.getuid() == 0:
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        data = str(folder / "data")
        _as_ordinary_user([initdb, "-D", data, "-A", "trust", "-U", "sluice", "--no-sync"])
        options = f"-k {folder} -c listen_addresses="
        _as_ordinary_user([pg_ctl, "-D", data, "-l", str(folder / "log"), "-o", options, "-w", "start"])
        try:
            yield f"postgresql+psycopg://sluice@/{{}}?host={folder}"
        finally:
            _as_ordinary_user([pg_ctl, "-D", data, "-m", "immediate", "-w", "stop"])


@pytest.fixture
def url(server: str) -> str:
    """An empty database."""
    name = f"control_{uuid.uuid4().hex[:8]}"
    maintenance = open_database(server.format("postgres"))
    with maintenance.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    maintenance.dispose()
    return server.format(name)


class TestPostgresqlRegistry(RegistrySuite):
    @pytest.fixture
    def registry(self, url: str, clock: ManualClock) -> Iterator[Registry]:
        engine = open_database(url)
        migrate(engine)
        yield SqlRegistry(engine, "local", clock)
        engine.dispose()


class TestPostgresqlBackfills(BackfillsSuite):
    @pytest.fixture
    def backfills(self, url: str, clock: ManualClock) -> Iterator[Backfills]:
        engine = open_database(url)
        migrate(engine)
        yield SqlBackfills(engine, "local", clock)
        engine.dispose()


class TestPostgresqlOrderBreaks(OrderBreaksSuite):
    @pytest.fixture
    def breaks(self, url: str) -> Iterator[OrderBreaks]:
        engine = open_database(url)
        migrate(engine)
        yield SqlOrderBreaks(engine, "local")
        engine.dispose()


class TestPostgresqlSnapshots(SnapshotStoreSuite):
    @pytest.fixture
    def newest(self, url: str) -> Iterator[SnapshotStore]:
        engine = open_database(url)
        migrate(engine)
        yield SqlSnapshotStore(engine, "local")
        engine.dispose()


@pytest.fixture
def place(url: str) -> Iterator[Place]:
    engine = connect(url, "serving")

    def read() -> list[Mapping[str, object]]:
        with engine.connect() as connection:
            return [dict(row._mapping) for row in connection.execute(text("SELECT * FROM departures_live"))]

    yield Place(lambda table, generation, writer: PostgresLatest(engine, table, writer, generation), read)
    engine.dispose()


class TestPostgresLiveTable(LiveTableSuite):
    @pytest.fixture
    def source(self, url: str) -> OpenSource:
        return lambda: PostgresLiveTable(connect(url, "serving"), "departures_live")

    def test_whoever_follows_sees_what_was_rebuilt(self, place: Place, source: OpenSource, url: str) -> None:
        place.store().apply(change(10, (1, "UA", 3), (2, "UA", 5)))
        followed, rebuilt = source(), PostgresRebuildStore(connect(url, "serving"), "departures_live")
        followed.read(READ_SECONDS)
        rebuilt.replace(rows((1, "UA", 4)), TABLE.keys, "hour", at(2))
        assert {row.fields["departed"] for row in followed.read(READ_SECONDS).rows} == {4, 5}
        rebuilt.remove_later("hour", at(1))
        assert {row.fields["departed"] for row in followed.read(READ_SECONDS).rows} == {4}
        followed.close()


class TestPostgresRebuildStore(RebuildSuite):
    @pytest.fixture
    def place(self, place: Place) -> Place:
        return place

    @pytest.fixture
    def rebuilt(self, url: str) -> OpenRebuilt:
        return lambda: PostgresRebuildStore(connect(url, "serving"), "departures_live")


class TestPostgresLatest(LatestSuite):
    @pytest.fixture
    def place(self, place: Place) -> Place:
        return place

    def test_rows_and_position_change_together_or_not_at_all(self, place: Place) -> None:
        store = place.store()
        store.apply(change(10, (1, "UA", 3)))
        with pytest.raises(SluiceError):
            store.apply(change(20, (1, "UA", 4), (1, None, 5)))  # type: ignore[arg-type]  a key that is null
        assert place.held() == {(1, "UA"): 3}
        assert place.store().latest == change(10).entry

    @pytest.mark.parametrize("carrier", ["U\0A", secrets.token_hex(5000)], ids=["U+0000", "a long key"])
    def test_a_value_that_it_cannot_hold_is_refused_and_not_taken_for_an_outage(
        self, place: Place, carrier: str
    ) -> None:
        store = place.store()
        store.apply(change(10, (1, "UA", 3)))
        with pytest.raises(RefusedError, match="cannot hold the rows"):
            store.apply(change(20, (1, carrier, 4)))
        assert place.held() == {(1, "UA"): 3}

    def test_a_lost_record_begins_above_the_generation_that_owns_a_table(self, place: Place, url: str) -> None:
        engine = connect(url, "serving")
        assert newest_generation(engine, TABLE.name) == 0
        place.store(generation=40)
        assert (newest_generation(engine, TABLE.name), newest_generation(engine, "others")) == (40, 0)
        engine.dispose()

    def test_streams_that_open_the_first_tables_at_once_all_succeed(self, url: str) -> None:
        engines = [connect(url, "serving") for _ in range(6)]
        at_once = Barrier(len(engines))

        def opened(number: int) -> StreamEntry | None:
            table = replace(TABLE, name=f"departures_{number % 2}")
            store = PostgresLatest(engines[number], table, f"{WRITER}{number}", 1)
            at_once.wait(10)
            store.open()
            return store.latest

        with ThreadPoolExecutor(len(engines)) as pool:
            assert list(pool.map(opened, range(len(engines)))) == [None] * len(engines)
        for engine in engines:
            engine.dispose()


def test_a_url_that_is_of_no_postgresql_is_refused_and_not_repeated() -> None:
    with pytest.raises(SpecError, match="of sqlite, not of PostgreSQL") as refused:
        connect("sqlite:///hunter2.db", "serving")
    assert "hunter2" not in str(refused.value)


def test_a_backfill_that_is_cancelled_while_its_process_claims_it_is_asked_to_stop(url: str) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)

    def asked_for(hours: int) -> Request:
        span = Interval(start, start + timedelta(hours=hours))
        return Request(pipeline="p", range=span, mode=Mode.RECOMPUTE, by="ada", why="late records")

    engine = open_database(url)
    migrate(engine)
    backfills, others = SqlBackfills(engine, "local"), SqlBackfills(open_database(url), "local")
    backfills.claim(asked_for(5), "dead", alive=lambda _: False)
    waiting = backfills.submit(asked_for(6), "new", alive=lambda _: False)
    begun, cancelling = Event(), Event()

    def slow_launcher(_: str) -> bool:
        begun.set()
        cancelling.wait(1)  # it is not, if it has to wait for this
        return False

    with ThreadPoolExecutor(2) as pool:
        claimed = pool.submit(backfills.claim, asked_for(6), "new", alive=slow_launcher, submitted=True)
        assert begun.wait(30)
        cancelled = others.ask_cancel(waiting.id, "bob")
        cancelling.set()
        assert claimed.result().state is BackfillState.RUNNING
    assert (cancelled.state, cancelled.cancel_requested_by) == (BackfillState.RUNNING, "bob")
    assert others.get(waiting.id).cancel_requested_by == "bob"


def test_several_that_refresh_the_index_of_a_growing_log_arrive_at_the_ledger(url: str) -> None:
    hour, start, racers = timedelta(hours=1), datetime(2013, 1, 1, tzinfo=UTC), 6
    together, log = Barrier(racers), list[Logged]()

    def source() -> LedgerSource:
        return LedgerSource(
            hour,
            lambda after: [c for c in [*log] if c.version > after],
            lambda: RawPosition(len(log), Reach({"t/0": 99})),
        )

    def race(_: int) -> None:
        engine = open_database(url)
        migrate(engine)
        together.wait()
        for n in range(20):
            own = start + n * hour
            entry = settlement(own, own + hour, {own: n}, read={"t/0": n}, code="c")
            with growing:
                log.append(Logged(len(log), start, entry))
            LedgerIndex(engine, "local", {"p": source()}).refresh("p")
        engine.dispose()

    growing = Lock()
    with ThreadPoolExecutor(racers) as pool:
        list(pool.map(race, range(racers)))
    engine = open_database(url)
    assert LedgerIndex(engine, "local", {}).ledger("p") == fold(log, hour, Reach({"t/0": 99}))
    engine.dispose()


def test_a_database_of_before_one_code_was_behind_an_interval_gets_todays_tables(url: str) -> None:
    engine = open_database(url)
    migrate(engine)
    with transaction(engine, write=True) as connection:
        for statement in (
            "ALTER TABLE interval ADD COLUMN watermark TIMESTAMP WITH TIME ZONE",
            "ALTER TABLE interval ADD COLUMN codes TEXT",
            "ALTER TABLE interval DROP COLUMN code",
            "UPDATE alembic_version SET version_num = '0014'",
        ):
            connection.execute(text(statement))
    migrate(engine)
    with transaction(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_several_that_migrate_at_once_build_the_declared_tables(url: str) -> None:
    together = Barrier(4)

    def migrate_together(_: int) -> None:
        engine = open_database(url)
        together.wait()
        migrate(engine)
        engine.dispose()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate_together, range(4)))
    engine = open_database(url)
    with transaction(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()
