"""A pipeline over a sample: the stream's own functions, and words for a transform that fails."""

from __future__ import annotations

import json
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sluice.errors import RefusedError, SpecError
from sluice.quality.preview import Preview
from sluice.quality.reasons import Reason
from sluice.settings import settings
from sluice.spark.checks.sample import preview
from sluice.spark.records.pipeline import sources_of
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.model import PipelineSpec, TopicSpec
from tests.e2e.machine import Machine

GOOD = {
    "flight_id": 1,
    "carrier": "AA",
    "flight": 1,
    "origin": "JFK",
    "dest": "LAX",
    "scheduled_at": "2013-01-01T10:00:00Z",
    "observed_at": "2013-01-01T10:05:00.25Z",
    "departed_at": "2013-01-01T10:05:00Z",
    "dep_delay_min": 5,
    "cancelled": False,
}
ROWS = 'flights.select(F.col("scheduled_at").alias("hour"), "origin", "carrier"'
HEADER = """\
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


"""


def line(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


LINES = [
    line(),
    line(flight_id=2, carrier="UA", cancelled=True, departed_at=None, dep_delay_min=None),
    line(flight_id=3, observed_at="2013-01-01T14:00:00Z"),
    line(origin="SFO"),
    b"\xff no JSON",
    b"",
    b'{"heartbeat": true, "scheduled_at": "2013-01-02T00:00:00Z", "observed_at": "2013-01-02T00:00:00Z"}',
]


def tried(
    spark: SparkSession, catalog: Catalog, home: Path, topic: TopicSpec, arrived_at: datetime | None = None
) -> Preview:
    return of_flights(spark, home, catalog.pipelines["departures"], topic, LINES, arrived_at=arrived_at)


def of_flights(
    spark: SparkSession,
    home: Path,
    pipeline: PipelineSpec,
    topic: TopicSpec,
    lines: list[bytes],
    *,
    arrived_at: datetime | None = None,
) -> Preview:
    sources = sources_of(pipeline, {"flights": topic}, {})
    arrivals = {} if arrived_at is None else {"flights": arrived_at}
    return preview(spark, home, pipeline, sources, {"flights": lines}, arrived_at=arrivals)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, whose transforms nobody has imported yet."""
    shutil.copytree(settings().home / "include" / "pipelines", tmp_path / "include" / "pipelines")
    (tmp_path / "spark_jobs" / "transforms").mkdir(parents=True)
    (tmp_path / "spark_jobs" / "transforms" / "__init__.py").touch()
    for name in [name for name in sys.modules if name.partition(".")[0] == "transforms"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def test_every_line_is_judged_and_the_good_ones_are_transformed(spark: SparkSession, catalog: Catalog) -> None:
    found = tried(spark, catalog, settings().home, catalog.topics["flights"])
    assert [(judged.number, judged.reason or judged.outcome) for judged in found.lines] == [
        (1, "good"),
        (2, "good"),
        (3, "late"),
        (4, Reason.NOT_ALLOWED),
        (5, Reason.MALFORMED),
        (6, Reason.EMPTY),
        (7, "control"),
    ]
    assert found.lines[0].fields == {
        **GOOD,
        "observed_at": "2013-01-01T10:05:00.25Z",
        "tailnum": None,
        "distance_miles": None,
        "heartbeat": None,
    }
    assert found.lines[4].text == "\N{REPLACEMENT CHARACTER} no JSON"
    assert found.columns["hour"] == "timestamp"
    assert found.columns["delay_max_min"] == "bigint"
    hour = {"origin": "JFK", "hour": "2013-01-01T10:00:00Z"}
    assert [
        {key: row[key] for key in ("origin", "hour", "carrier", "departed", "cancelled")} for row in found.rows
    ] == [
        {**hour, "carrier": "AA", "departed": 1, "cancelled": 0},
        {**hour, "carrier": "UA", "departed": 0, "cancelled": 1},
    ]
    assert found.rows[0]["airline"] == "American Airlines Inc."
    assert found.rows[1]["delay_max_min"] is None


def test_where_the_broker_stamps_arrival_the_given_time_decides(spark: SparkSession, catalog: Catalog) -> None:
    topic = catalog.topics["flights"]
    topic = topic.model_copy(update={"value": topic.value.model_copy(update={"arrival_time": "broker"})})
    for arrived_at, outcome in (
        (datetime(2013, 1, 1, 13, 0, 0, tzinfo=UTC), "good"),
        (datetime(2013, 1, 1, 13, 0, 1, tzinfo=UTC), "late"),
        (datetime(2013, 1, 1, 8, 59, 59, tzinfo=UTC), "quarantined"),
    ):
        found = tried(spark, catalog, settings().home, topic, arrived_at)
        assert found.lines[0].outcome == outcome, arrived_at


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('return flights.groupBy("orign").count()', r"departures\.py:6: AnalysisException: .*`orign`.*\(`return "),
        ("return flights.select(nothing)", r"departures\.py:6: NameError: name 'nothing' is not defined"),
        (f'return {ROWS}, F.raise_error(F.lit("x")).alias("x"))', "failed: .*USER_RAISED_EXCEPTION"),
        (
            f'return {ROWS}, F.col("flight_id") / F.lit(0))',
            r"departures\.py:6: ArithmeticException: \[DIVIDE_BY_ZERO\]",
        ),
        ("return None", "returns a NoneType, not a DataFrame"),
        ('return flights.select("origin", "carrier")', "returns no timestamp of that name; it returns origin string"),
        ('return flights.select(F.lit("x").alias("hour"))', "returns no timestamp of that name"),
        ('return flights.select(F.col("scheduled_at").alias("hour"))', "output.keys names origin, carrier"),
        (f'return {ROWS}, F.lit(1).alias("Origin"))', "returns origin more than once"),
    ],
    ids=[
        "unknown column",
        "name error",
        "error at run time",
        "division by zero",
        "nothing",
        "no time",
        "text for a time",
        "no keys",
        "a column twice",
    ],
)
def test_a_transform_that_fails_is_told_in_one_sentence(
    spark: SparkSession, catalog: Catalog, home: Path, body: str, words: str
) -> None:
    code = f"{HEADER}def departures(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:\n    {body}\n"
    (home / "spark_jobs" / "transforms" / "departures.py").write_text(code)
    with pytest.raises(SpecError, match=words) as refusal:
        tried(spark, catalog, home, catalog.topics["flights"])
    assert "\n" not in str(refusal.value)


def test_columns_of_any_name_and_type_are_shown(spark: SparkSession, catalog: Catalog, home: Path) -> None:
    columns = (
        'F.col("scheduled_at").alias("hour"), "origin", "carrier", F.col("flight_id").alias("a.b"), '
        'F.create_map("origin", "flight").alias("map"), F.array(F.struct("dest")).alias("list"), '
        'F.lit(None).alias("void"), F.lit(2).cast("decimal(9,2)").alias("money"), F.to_date("observed_at").alias("day")'
    )
    body = f"{HEADER}def departures(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:\n"
    (home / "spark_jobs" / "transforms" / "departures.py").write_text(f"{body}    return flights.select({columns})\n")
    assert tried(spark, catalog, home, catalog.topics["flights"]).rows[0] == {
        "hour": "2013-01-01T10:00:00Z",
        "origin": "JFK",
        "carrier": "AA",
        "a.b": 1,
        "map": {"JFK": 1},
        "list": [{"dest": "LAX"}],
        "void": None,
        "money": 2.0,
        "day": "2013-01-01",
    }


@pytest.mark.parametrize("scope", ["interval", "range"])
def test_a_transform_over_a_whole_interval_is_called_for_each(
    spark: SparkSession, catalog: Catalog, home: Path, scope: str
) -> None:
    body = 'flights.agg(F.date_trunc("hour", F.min("scheduled_at")).alias("hour"), F.count("*").alias("n"))'
    code = f"{HEADER}def departures(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:\n    return {body}\n"
    (home / "spark_jobs" / "transforms" / "departures.py").write_text(code)
    pipeline = catalog.pipelines["departures"]
    output = pipeline.intervals.model_copy(update={"keys": (), "scope": scope})
    pipeline = pipeline.model_copy(update={"outputs": (output,)})
    later = {"scheduled_at": "2013-01-01T11:30:00Z", "observed_at": "2013-01-01T11:30:00Z"}
    lines = [*LINES, line(flight_id=4, **later)]
    if scope == "range":
        with pytest.raises(SpecError, match=r"`groupBy\(\)\.agg\(.*write `scope: interval`"):
            of_flights(spark, home, pipeline, catalog.topics["flights"], lines)
        return
    found = of_flights(spark, home, pipeline, catalog.topics["flights"], lines).rows
    assert found == ({"hour": "2013-01-01T10:00:00Z", "n": 2}, {"hour": "2013-01-01T11:00:00Z", "n": 1})


@pytest.mark.parametrize("scope", ["interval", "range"])
def test_rows_that_a_settler_would_refuse_are_refused(
    spark: SparkSession, catalog: Catalog, home: Path, scope: str
) -> None:
    body = 'flights.select((F.col("scheduled_at") - F.expr("interval 2 days")).alias("hour"), "origin", "carrier")'
    code = f"{HEADER}def departures(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:\n    return {body}\n"
    (home / "spark_jobs" / "transforms" / "departures.py").write_text(code)
    pipeline = catalog.pipelines["departures"]
    output = pipeline.intervals.model_copy(update={"scope": scope})
    pipeline = pipeline.model_copy(update={"outputs": (output,)})
    with pytest.raises(RefusedError, match="a row of the interval 2012-12-30 10:00 UTC, which is not made of them"):
        of_flights(spark, home, pipeline, catalog.topics["flights"], LINES)


@pytest.mark.verify
def test_the_command_prints_one_document_and_leaves_neither_process_nor_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transform prints and calls Python in a worker: neither may spoil the document, and both must work."""
    for kind in ("topics", "access", "deployments"):
        shutil.copytree(settings().home / "include" / kind, home / "include" / kind)
    (home / "include" / "deployments" / "local.yaml").write_text("name: [")  # another spec is broken
    (home / "spark_jobs" / "transforms" / "departures.py").write_text(
        f"{HEADER}def ground(x: int) -> int:\n    return x // 1\n\n\n"
        "def departures(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:\n"
        "    flights.show()\n"
        '    return flights.select(F.col("scheduled_at").alias("hour"), "origin", "carrier",\n'
        '        F.udf(ground, "long")("flight_id").alias("x"))\n'
    )
    sample, scratch = home / "sample.jsonl", home / "scratch"
    sample.write_bytes(b"\n".join(LINES))
    scratch.mkdir()
    monkeypatch.setenv("SLUICE_HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("PATH", os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if ".venv" not in p))
    machine = Machine(home / "state")
    before = sorted(home.rglob("*.yaml"))

    done = machine.sluice("run", "departures", "--sample", str(sample), "-o", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["census"]["outcomes"] == {"good": 2, "quarantined": 3, "late": 1, "control": 1}
    assert [row["x"] for row in document["rows"]] == [1, 2]
    assert "WARN" not in done.stderr
    assert "flight_id" in done.stderr  # what the transform printed
    assert machine.processes() == []
    assert not machine.state.exists()
    assert list(scratch.iterdir()) == []
    assert sorted(home.rglob("*.yaml")) == before


def test_what_a_record_has_beside_its_value_is_there_under_the_names_that_the_spec_gives(
    spark: SparkSession, catalog: Catalog, home: Path
) -> None:
    body = 'observed.select("scheduled_at", "flight_id", "place", "at", "key", "headers", "partition")'
    code = f"{HEADER}def departures(observed: DataFrame, *, airlines: DataFrame) -> DataFrame:\n    return {body}\n"
    (home / "spark_jobs" / "transforms" / "departures.py").write_text(code)
    shipped = catalog.pipelines["departures"]
    parts = {"place": "offset", "at": "broker_time", "key": "key", "headers": "headers", "partition": "partition"}
    source = {"topic": "flights", "time": shipped.time, "columns": parts}
    document = {**shipped.model_dump(exclude_defaults=True), "source": None, "time": None, "sources": {"flown": source}}
    document = {**document, "output": None, "outputs": [{"kind": "rows", "table": "flown"}]}
    pipeline = PipelineSpec.model_validate(document)
    at = datetime(2013, 1, 2, 9, tzinfo=UTC)
    found = of_flights(spark, home, pipeline, catalog.topics["flights"], LINES, arrived_at=at)
    assert [(row["place"], row["flight_id"], row["at"]) for row in found.rows] == [
        (0, 1, "2013-01-02T09:00:00Z"),
        (1, 2, "2013-01-02T09:00:00Z"),
    ]
    assert found.columns["headers"] == "array<struct<key:string,value:binary>>"
    assert (found.columns["key"], found.columns["partition"]) == ("binary", "int")
