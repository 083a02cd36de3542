"""Sinks of a project: what they are given, and that a guarantee is kept or found out, against a real database."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
import sqlalchemy as sa
from pyspark.sql import DataFrame, SparkSession

from sluice.delta.table import ensure_table
from sluice.delta.writer_log import WriterLog
from sluice.errors import CorruptionError, NotReadyError, SpecError
from sluice.intervals.writers import writer_id
from sluice.postgres.positions import newest_token, store_token
from sluice.spark.sinks.batch_outputs import BatchOutput, BatchOutputsSink, all_known
from sluice.spark.sinks.output_stream import held_by_all
from sluice.spark.sinks.own import OwnSink, SinkBatch, delivers
from sluice.spark.sinks.own_output import LoggedSink, TransactionalSink, load_sink
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.fencing import FencedError
from tests.integration.control.test_postgresql import server, url
from tests.integration.spark.sinks.lineages import Lineage

__all__ = ["server", "url"]

WRITER = writer_id("numbers", "a-topic", 0)
_metadata = sa.MetaData()
_rows = sa.Table("numbers", _metadata, sa.Column("n", sa.BigInteger))


class KilledError(Exception):
    """The process ends here."""


@dataclass
class Database:
    """A database with a sink for it."""

    url: str
    batches: list[SinkBatch] = field(default_factory=list)
    dies: str = ""

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url)

    def write(self, rows: DataFrame, batch: SinkBatch, *, stores: bool = True) -> None:
        self.batches.append(batch)
        with self.engine.begin() as connection:
            _metadata.create_all(connection)
            if values := [row.asDict() for row in rows.collect()]:
                connection.execute(_rows.insert(), values)
            if stores:
                store_token(connection, batch)
            if self.dies == "before":
                raise KilledError
        if self.dies == "after":
            raise KilledError

    def newest(self, stream: str, _url: str | None) -> str | None:
        with self.engine.connect() as connection:
            return newest_token(connection, stream)

    @property
    def sink(self) -> OwnSink:
        return delivers("exactly_once", newest=self.newest)(self.write)

    @property
    def numbers(self) -> list[int]:
        with self.engine.connect() as connection:
            return sorted(connection.execute(sa.select(_rows.c.n)).scalars())


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.verify)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return Database(f"sqlite:///{tmp_path}/rows.db")
    url: str = request.getfixturevalue("url")
    return Database(url)


def transactional(database: Database, generation: int = 1) -> TransactionalSink:
    found = TransactionalSink("numbers", database.sink, WRITER, generation, connection=None, code_hash="code")
    found.open()
    return found


def stream(lineage: Lineage, output: BatchOutput) -> BatchOutputsSink:
    return BatchOutputsSink([output], Checkpoint(lineage.folder), floor=held_by_all([output]), known=all_known)


def numbers(spark: SparkSession, first: int, last: int) -> DataFrame:
    return spark.range(first, last).withColumnRenamed("id", "n")


@pytest.mark.parametrize("dies", ["before", "after"])
def test_a_sink_that_stores_its_token_is_given_no_batch_twice_wherever_it_dies(
    spark: SparkSession, tmp_path: Path, database: Database, dies: str
) -> None:
    lineage = Lineage(tmp_path / "a", "a")
    stream(lineage, transactional(database))(numbers(spark, 0, 10), lineage.plan(10, None))
    second, database.dies = lineage.plan(20, None), dies
    with pytest.raises(KilledError):
        stream(lineage, transactional(database))(numbers(spark, 10, 20), second)
    database.dies = ""
    again = transactional(database, generation=2)
    assert (again.latest is not None and again.latest.end) == {"t/0": 20 if dies == "after" else 10}
    stream(lineage, again)(numbers(spark, 10, 20), second)
    assert database.numbers == list(range(20))
    assert [batch.position for batch in database.batches] == ([20, 40] if dies == "after" else [20, 40, 40])
    assert database.batches[-1].first == {"t/0": 10}
    assert database.batches[-1].next == {"t/0": 20}


def test_a_driver_that_slept_writes_nothing_more(spark: SparkSession, tmp_path: Path, database: Database) -> None:
    lineage = Lineage(tmp_path / "a", "a")
    old, new = transactional(database, 1), transactional(database, 2)
    first = lineage.plan(10, None)
    stream(lineage, new)(numbers(spark, 0, 10), first)
    with pytest.raises(FencedError, match="belongs to generation 2"):
        old.check_fence()
    with pytest.raises(FencedError):
        stream(lineage, old)(numbers(spark, 0, 10), first)
    with pytest.raises(FencedError), database.engine.begin() as connection:
        store_token(connection, database.batches[0])
    assert database.numbers == list(range(10))


def test_one_that_finds_another_batch_than_its_own_ends_and_goes_on_from_it(
    spark: SparkSession, tmp_path: Path, database: Database
) -> None:
    lineage = Lineage(tmp_path / "a", "a")
    first, late = lineage.plan(10, None), transactional(database, 1)
    new = transactional(database, 2)
    stream(lineage, late)(numbers(spark, 0, 10), first)  # before the newer one has written
    with pytest.raises(NotReadyError, match="holds another batch"):
        new.check_fence()
    again = transactional(database, 2)
    stream(lineage, again)(numbers(spark, 0, 10), first)
    assert database.numbers == list(range(10))


def test_a_sink_that_declares_what_it_does_not_do_is_found_at_its_first_batch(
    spark: SparkSession, tmp_path: Path, database: Database
) -> None:
    lineage = Lineage(tmp_path / "a", "a")
    lying = delivers("exactly_once", newest=database.newest)(lambda rows, b: database.write(rows, b, stores=False))
    sink = TransactionalSink("numbers", lying, WRITER, 1, connection=None, code_hash="code")
    sink.open()
    with pytest.raises(CorruptionError, match="declares exactly_once, and does not hold the token"):
        stream(lineage, sink)(numbers(spark, 0, 10), lineage.plan(10, None))


def test_a_token_that_is_none_is_no_position(database: Database) -> None:
    odd = delivers("exactly_once", newest=lambda _stream, _url: "yesterday")(database.write)
    with pytest.raises(CorruptionError, match="returns a token that is none: 'yesterday'"):
        TransactionalSink("numbers", odd, WRITER, 1, connection=None, code_hash="code").open()


def test_a_sink_without_a_position_is_given_a_batch_again_after_a_crash_and_by_the_same_number(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, given = tmp_path / "numbers_deliveries", list[tuple[int, list[int]]]()
    ensure_table(folder, '{"type":"struct","fields":[{"name":"p","type":"long","nullable":true,"metadata":{}}]}')
    dies = [True]

    @delivers("at_least_once")
    def write(rows: DataFrame, batch: SinkBatch) -> None:
        given.append((batch.position, sorted(row["n"] for row in rows.collect())))
        if dies.pop():
            raise KilledError

    def opened(generation: int) -> LoggedSink:
        log = WriterLog(folder, WRITER, generation)
        log.open(code="code")
        return LoggedSink("numbers", write, log, None, "code")

    lineage = Lineage(tmp_path / "a", "a")
    first = lineage.plan(10, None)
    with pytest.raises(KilledError):
        stream(lineage, opened(1))(numbers(spark, 0, 3), first)
    dies.append(False)
    stream(lineage, opened(2))(numbers(spark, 0, 3), first)
    stream(lineage, opened(3))(numbers(spark, 0, 3), first)
    assert given == [(20, [0, 1, 2]), (20, [0, 1, 2])]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("crm:nothing", "cannot be loaded"),
        ("erp:write", "cannot be loaded"),
        ("crm:plain", "is a function that declares no guarantee"),
    ],
)
def test_what_is_no_sink_is_refused(monkeypatch: pytest.MonkeyPatch, function: str, message: str) -> None:
    module = ModuleType("sinks.crm")
    module.plain = lambda _rows, _batch: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sinks", ModuleType("sinks"))
    monkeypatch.setitem(sys.modules, "sinks.crm", module)
    with pytest.raises(SpecError, match=message):
        load_sink(function)


@pytest.mark.parametrize(
    "declare",
    [lambda: delivers("twice"), lambda: delivers("exactly_once"), lambda: delivers("at_least_once", newest=print)],
)
def test_a_guarantee_that_is_none_is_refused_where_it_is_declared(declare: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"twice|newest"):
        declare()
