"""The roles of the containers' PostgreSQL, made by its own script on a private server: each can do its work, no more.

Needs PostgreSQL's server programs and `requirements/postgres.in`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from typer.testing import CliRunner

from sluice.cli.outputs import app
from sluice.clock import SystemClock
from sluice.control.database import migrate, open_database
from sluice.errors import RefusedError, UnreachableError
from sluice.intervals.writers import writer_id
from sluice.launch.processes import wait_until
from sluice.postgres.latest import PostgresLatest, connect
from sluice.postgres.live_table import PostgresLiveTable
from sluice.project.project import Project
from sluice.project.records import ProjectRecords
from sluice.serve.server import open_source
from sluice.settings import PACKAGE, Settings
from sluice.specs.model.outputs import LatestOutput
from tests.certificates import make_authority
from tests.integration.brokers import free_ports
from tests.suites.latest_suite import TABLE, change

pytestmark = pytest.mark.verify

SCRIPT = PACKAGE / "containers" / "postgres.sh"
ROLES = {"airflow": "airflow", "sluice": "sluice", "serving_writer": "serving", "serving_reader": "serving"}
"""Role → the database in which it works."""
ATTRIBUTES = """
SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
       EXISTS (SELECT FROM pg_auth_members WHERE member = pg_roles.oid) AS is_member
  FROM pg_roles WHERE rolname = current_user
"""
DATABASES = ("postgres", "template1", "airflow", "sluice", "serving")


@dataclass
class Server:
    """A PostgreSQL that the script has started."""

    folder: Path
    port: int

    def url(self, role: str, database: str) -> str:
        password = (self.folder / "secrets" / f"postgres_{role}").read_text()
        return f"postgresql+psycopg://{role}:{password}@127.0.0.1:{self.port}/{database}"

    def engine(self, role: str, database: str | None = None) -> sa.Engine:
        return sa.create_engine(self.url(role, database or ROLES[role]), poolclass=sa.NullPool)

    def draw(self, role: str, password: str) -> None:
        secret = self.folder / "secrets" / f"postgres_{role}"
        secret.write_text(password)
        secret.chmod(0o444)

    def answers(self) -> bool:
        try:
            with self.engine("serving_reader").connect():
                return True
        except DBAPIError:
            return False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the script as a user without rights: PostgreSQL refuses root."""
        programs = next(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"))), "")
        environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PGDATA": str(self.folder / "data"),
            "PGHOST": str(self.folder),
            "PGPORT": str(self.port),
            "PGUSER": "postgres",
            "SECRETS": str(self.folder / "secrets"),
            "LISTEN": "127.0.0.1",
        }
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [str(self.folder / "scripts" / SCRIPT.name)],
                env=environment,
                stdout=log,
                stderr=log,
                **({"user": "postgres"} if os.getuid() == 0 else {}),
            )
        try:
            up = wait_until(lambda: process.poll() is not None or self.answers(), SystemClock(), deadline_seconds=60)
            assert up, "it does not answer"
            assert process.poll() is None, (self.folder / "log").read_text()
            yield
        finally:
            process.send_signal(signal.SIGINT)  # ends sessions, as in the containers
            process.wait(60)


@contextmanager
def prepared() -> Iterator[Server]:
    """Give a server that has not run yet, with a secret for each role."""
    pytest.importorskip("psycopg", reason="psycopg is not installed; see requirements/postgres.in")
    for name in ("initdb", "psql"):
        if shutil.which(name) is None and not any(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")):
            pytest.skip(f"there is no {name} here; install PostgreSQL's server programs")
    with TemporaryDirectory(prefix="sluice-roles-") as name:
        folder = Path(name)
        (folder / "secrets").mkdir()
        shutil.copytree(SCRIPT.parent, folder / "scripts")
        if os.getuid() == 0:
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        issued = make_authority(folder).issue("postgres")
        shutil.copy(issued.both, folder / "secrets" / "tls_postgres")
        (folder / "secrets" / "tls_postgres").chmod(0o444)
        made = Server(folder, *free_ports(1))
        for role in ROLES:
            made.draw(role, f"of-{role}")
        yield made


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with prepared() as made, made.running():
        yield made


def can(engine: sa.Engine, *statements: str) -> str:
    """Return "" if a role may run statements, which are rolled back, else what the server says."""
    try:
        with engine.connect() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))
    except DBAPIError as error:
        return str(error.orig)
    return ""


def test_each_role_connects_to_its_own_database_only(server: Server) -> None:
    allowed = {
        (role, database)
        for role in ROLES
        for database in DATABASES
        if not can(server.engine(role, database), "SELECT 1")
    }
    assert allowed == set(ROLES.items())


@pytest.mark.parametrize("role", ROLES)
def test_no_role_is_more_than_a_role_that_logs_in(server: Server, role: str) -> None:
    with server.engine(role).connect() as connection:
        found = connection.execute(sa.text(ATTRIBUTES)).one()
    assert not any(found), found
    assert "permission denied" in can(server.engine(role), "SET TRANSACTION READ WRITE", "CREATE ROLE another")
    assert "must be superuser" in can(server.engine(role), "COPY (SELECT 1) TO PROGRAM 'cat'")


@pytest.mark.parametrize("role", ROLES)
def test_a_client_that_does_not_encrypt_is_refused_and_one_that_does_knows_the_server(
    server: Server, role: str
) -> None:
    def engine(**settings: str) -> sa.Engine:
        return sa.create_engine(sa.make_url(server.url(role, ROLES[role])).set(query=settings), poolclass=sa.NullPool)

    assert "no encryption" in can(engine(sslmode="disable"), "SELECT 1")
    known = {"sslmode": "verify-full", "sslrootcert": str(server.folder / "ca.pem")}
    with engine(**known).connect() as connection:
        encrypted = "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        assert connection.execute(sa.text(encrypted)).scalar_one() == "TLSv1.3"
    assert "certificate verify failed" in can(engine(sslmode="verify-full", sslrootcert="system"), "SELECT 1")


@pytest.mark.parametrize("role", ROLES)
def test_a_wrong_password_lets_nobody_in(server: Server, role: str) -> None:
    engine = sa.create_engine(sa.make_url(server.url(role, ROLES[role])).set(password="guessed"), poolclass=sa.NullPool)  # noqa: S106
    assert "password authentication failed" in can(engine, "SELECT 1")


def test_the_control_database_is_made_and_kept_by_its_role(server: Server) -> None:
    engine = open_database(server.url("sluice", "sluice"))
    migrate(engine)
    migrate(engine)
    engine.dispose()


def test_airflows_role_owns_its_database_and_makes_its_tables(server: Server) -> None:
    assert (
        can(server.engine("airflow"), "CREATE TABLE made (a int)", "ALTER TABLE made ADD b int", "DROP TABLE made")
        == ""
    )


def written(server: Server, role: str, generation: int = 1) -> None:
    engine = connect(server.url(role, "serving"), "serving")
    try:
        store = PostgresLatest(engine, TABLE, writer_id("departures_live", "topic", 0), generation)
        store.open()
        store.apply(change(generation, (0, "UA", 2 + generation), generation=generation))
    finally:
        engine.dispose()


def test_streams_write_and_readers_read_and_change_nothing(server: Server) -> None:
    written(server, "serving_writer")
    reader = PostgresLiveTable(connect(server.url("serving_reader", "serving"), "serving"), TABLE.name)
    read = reader.read(0.0)
    reader.close()
    assert [row.fields["departed"] for row in read.rows] == [3]
    with server.engine("serving_reader").connect() as connection:
        assert connection.execute(sa.text("SHOW default_transaction_read_only")).scalar_one() == "on"
    of_rows = ("DELETE FROM departures_live", "UPDATE departures_live SET departed = 4", "TRUNCATE sluice_outputs")
    of_tables = ("DROP TABLE departures_live", "CREATE TABLE mine (a int)", "CREATE TEMP TABLE mine (a int)")
    for statement in (*of_rows, *of_tables):  # a session may lift what is only a default: rights stand alone
        said = can(server.engine("serving_reader"), "SET TRANSACTION READ WRITE", statement)
        assert any(word in said for word in ("permission denied", "must be owner")), (statement, said)
    with pytest.raises((RefusedError, UnreachableError), match=r"permission denied|read-only"):
        written(server, "serving_reader")


def test_the_command_line_prints_the_same_roles_for_a_database_of_ones_own(server: Server) -> None:
    printed = CliRunner().invoke(app, ["roles", "--writer", "streams", "--reader", "dashboards"])
    assert printed.exit_code == 0

    def psql(database: str, script: str) -> None:
        superuser = {"PGHOST": str(server.folder), "PGPORT": str(server.port), "PGUSER": "postgres"}
        command = ["psql", "--no-psqlrc", "--quiet", f"--dbname={database}"]
        subprocess.run(
            command,
            env={**os.environ, **superuser},
            input=script,
            text=True,
            capture_output=True,
            check=True,
            timeout=60,
            **({"user": "postgres"} if os.getuid() == 0 else {}),
        )

    psql("postgres", "CREATE DATABASE own")
    psql("own", printed.stdout)
    psql("own", printed.stdout)  # as often as you like
    psql("own", "ALTER ROLE streams PASSWORD 'of-streams'; ALTER ROLE dashboards PASSWORD 'of-dashboards'")
    for role in ("streams", "dashboards"):
        server.draw(role, f"of-{role}")
    streams, dashboards = server.engine("streams", "own"), server.engine("dashboards", "own")
    with streams.begin() as connection:
        connection.execute(sa.text("CREATE TABLE departures_now (hour int)"))
        connection.execute(sa.text("INSERT INTO departures_now VALUES (7)"))
    with dashboards.connect() as connection:
        assert connection.execute(sa.text("SELECT hour FROM departures_now")).scalars().all() == [7]
    assert "permission denied" in can(dashboards, "SET TRANSACTION READ WRITE", "DELETE FROM departures_now")
    assert "permission denied" in can(server.engine("airflow", "own"), "SELECT 1")
    assert "permission denied" in can(server.engine("streams", "serving"), "SELECT 1")


def test_a_second_start_keeps_all_data_and_takes_new_passwords_and_so_does_who_is_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"sluice": "SLUICE_CONTROL_URL_FILE", "serving_reader": "SLUICE_CONNECTION_SERVING_FILE"}
    for role, variable in files.items():
        monkeypatch.setenv(variable, str(tmp_path / role))
    monkeypatch.delenv("SLUICE_CONTROL_URL", raising=False)
    monkeypatch.delenv("SLUICE_CONNECTION_SERVING", raising=False)

    def hand_out(server: Server) -> None:
        for role in files:
            (tmp_path / role).write_text(server.url(role, ROLES[role]))

    place = Settings(home=tmp_path)
    records = ProjectRecords(place, place.folder, SystemClock())
    output = LatestOutput(kind="latest", table=TABLE.name, keys=TABLE.keys, store="postgres", connection="serving")
    with prepared() as server:
        hand_out(server)
        reader = open_source(cast(Project, None), output)
        with server.running():
            written(server, "serving_writer")
            assert [row.fields["departed"] for row in reader.read(0.0).rows] == [3]
            assert records.registry().attempts("flights") == ()
        before = server.url("serving_writer", "serving")
        for role in ROLES:
            (server.folder / "secrets" / f"postgres_{role}").unlink()
            server.draw(role, f"a-new-one-of-{role}")
        hand_out(server)
        with server.running():
            assert "password authentication failed" in can(sa.create_engine(before, poolclass=sa.NullPool), "SELECT 1")
            written(server, "serving_writer", 2)
            assert [row.fields["departed"] for row in reader.read(0.0).rows] == [4]
            assert records.registry().attempts("flights") == ()
        reader.close()
        records.database.dispose()
