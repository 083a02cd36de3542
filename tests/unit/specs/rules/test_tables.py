"""Rules of a pipeline that reads a settled table: what `sluice check` says, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.settling.rules import SettlingRules
from sluice.specs.code.closure import meaning
from sluice.specs.model.sources import table_input, table_of
from tests.unit.specs.bench import DEPLOYMENT, DEPLOYMENT_FILE, PIPELINE_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words
from tests.unit.specs.chain import DAYS, DAYS_FILE, QUERY, chained_project

INTERVALS = "{kind: intervals, table: days, time_column: at, interval: day}"
LATEST = "{kind: latest, table: now, keys: [at]}"
BESIDE = """\
  hourly:
    table: sales
    topic: orders
"""


@pytest.fixture
def chained(tmp_path: Path) -> Bench:
    return chained_project(tmp_path / "project")


def said(project: Bench) -> list[str]:
    return [str(fault) for fault in project.scan().faults]


def test_a_pipeline_over_a_table_is_sound_and_its_columns_are_not_asked(chained: Bench) -> None:
    assert said(chained) == []
    catalog = chained.scan().catalog
    days = catalog.pipelines["days"]
    assert (days.topics, days.reads, days.tables) == ((), ("table:sales",), ("table:sales",))
    assert [pipeline.name for pipeline in catalog.table_readers["sales"]] == ["days"]
    assert catalog.settled_tables["sales"].name == "sales"
    assert catalog.streams["days"].tables == ("table:sales",)
    assert (table_input("sales"), table_of("table:sales"), table_of("sales")) == ("table:sales", "sales", None)


def test_a_table_is_read_in_a_bucket_as_well(chained: Bench) -> None:
    chained.write(DEPLOYMENT_FILE, f"{DEPLOYMENT}storage: s3://bucket/sluice\n")
    assert said(chained) == []


def test_nothing_of_a_table_is_late(chained: Bench) -> None:
    chained.edit(DAYS_FILE, "table: sales", "table: sales\n    lookahead: 2 hours")
    rules = SettlingRules.of(chained.scan().catalog.pipelines["days"], "table:sales")
    assert rules.margin == rules.lookahead != rules.lookback
    assert not rules.allowed_lateness


def test_the_code_counts_the_name_of_the_table_and_how_far_it_is_read(chained: Bench) -> None:
    days = chained.scan().catalog.pipelines["days"]
    assert meaning(days, {})["sources"] == {"hourly": {"table": "sales"}}
    chained.edit(DAYS_FILE, "table: sales", "table: sales\n    lookback: 2 hours")
    further = meaning(chained.scan().catalog.pipelines["days"], {})["sources"]
    assert further == {"hourly": {"table": "sales", "lookback": "2 hours"}}


@pytest.mark.parametrize(
    "case",
    [
        ("table: sales", "table: sale", 5, "sources.hourly.table", "no pipeline settles a table 'sale'. Fix: did you"),
        ("table: sales", "table: orders_raw", 5, "sources.hourly.table", "is the raw table of the topic orders, and"),
        (
            "  hourly:\n    table: sales\n",
            BESIDE,
            5,
            "sources.hourly.table",
            "it does not go together with another",
        ),
        ("driver: reports", "driver: reports\nstart: latest", 11, "start", "a settled table is read from its first"),
        ("table: sales", "table: days", 5, "sources.hourly.table", "made of its own rows: days → days."),
        (
            "output:\n  table: days\n  time_column: at\n  interval: day",
            f"outputs: [{INTERVALS}, {LATEST}]",
            6,
            "outputs[1].kind",
            "an output of the kind latest takes records as they come, and this pipeline reads a settled table. Fix",
        ),
    ],
    ids=words,
)
def test_one_mistake_is_one_fault(chained: Bench, case: Case) -> None:
    if case[-1].startswith("it does not go"):
        chained.edit(DAYS_FILE, case[0], case[1])
        assert any(case[-1] in fault for fault in said(chained))
        return
    assert_one_fault(chained, DAYS_FILE, case)


def test_a_table_is_read_once(chained: Bench) -> None:
    chained.edit(DAYS_FILE, "  hourly:\n", "  again:\n    table: sales\n  hourly:\n")
    assert any("two sources read the table 'sales'" in fault for fault in said(chained))


def test_a_circle_is_named_with_all_that_is_in_it(chained: Bench) -> None:
    chained.write("include/pipelines/weeks.yaml", DAYS.replace("days", "weeks").replace("sales", "days"))
    chained.write("spark_jobs/transforms/weeks.sql", QUERY)
    assert said(chained) == []
    chained.edit(DAYS_FILE, "table: sales", "table: weeks")
    (fault,) = chained.scan().faults
    assert (fault.file, fault.where) == (DAYS_FILE, "sources.hourly.table")
    assert "days → weeks → days" in str(fault)


def test_a_pipeline_waits_for_the_sound_spec_of_the_one_before_it(chained: Bench) -> None:
    chained.write("include/pipelines/weeks.yaml", DAYS.replace("days", "weeks").replace("sales", "days"))
    chained.write("spark_jobs/transforms/weeks.sql", QUERY)
    chained.edit(PIPELINE_FILE, "driver:", "drivr:")
    scanned = chained.scan()
    assert not scanned.catalog.pipelines
    assert {name for _, name in scanned.dependants} == {"days", "weeks"}


def test_expectations_of_records_are_refused_where_there_are_none(chained: Bench) -> None:
    chained.write(
        "include/expectations/days.yaml",
        "name: days\npipeline: days\nexpectations:\n"
        "  - {expect: expect_column_values_to_not_be_null, kwargs: {column: at}, on: [record]}\n"
        "  - {expect: expect_interval_offsets_to_be_complete, on: [interval]}\n",
    )
    first, second = said(chained)
    assert "is a settled table, whose rows are no records" in first
    assert "days reads settled tables alone" in second
