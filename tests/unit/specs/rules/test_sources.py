"""Rules of a pipeline that reads several topics: what `sluice check` says, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.specs.expectations.model import Subject
from tests.unit.specs.bench import Bench
from tests.unit.specs.case import Case, assert_one_fault, words
from tests.unit.specs.several import (
    PIPELINE_FILE,
    PYTHON_FILE,
    QUERY,
    QUERY_FILE,
    SUITE_FILE,
    in_sql,
    project_with_several,
)

SIGNATURE = "def click_through(shown: DataFrame, clicks: DataFrame, *, campaigns: DataFrame)"
SHOWN = """\
  shown:
    topic: ad_impressions
    time: {allowed_lateness: 5 min, future_skew: 1 min}
    lookback: 1 hour
"""
STATIC = "  shown: {path: static/campaigns.csv, columns: {ad: string}}\n"
SHOWN_TOPIC, CLICKS_TOPIC = "include/topics/ad_impressions.yaml", "include/topics/ad_clicks.yaml"


@pytest.fixture
def several(tmp_path: Path) -> Bench:
    return project_with_several(tmp_path / "project")


def said(several: Bench) -> list[str]:
    return [str(fault) for fault in several.scan().faults]


def test_a_pipeline_of_several_sources_is_sound_in_python_and_in_sql(several: Bench) -> None:
    assert said(several) == []
    catalog = several.scan().catalog
    assert {name: [p.name for p in readers] for name, readers in catalog.readers.items()} == {
        "ad_impressions": ["click_through"],
        "ad_clicks": ["click_through"],
    }
    assert said(in_sql(several)) == []


@pytest.mark.parametrize(
    "case",
    [
        ("topic: ad_clicks", "topic: ad_click", 9, "sources.clicks.topic", "no topic 'ad_click' in include/topics"),
        ("static:\n", f"static:\n{STATIC}", 4, "sources.shown", "the static input 'shown' has this name, too"),
        (
            "{position: offset}",
            "{position: offset, id: key}",
            11,
            "sources.clicks.columns.id",
            "the topic ad_clicks has a field 'id', and a column holds one of the two. Fix: give the column another",
        ),
        (
            "driver: ads",
            "driver: ads\nstart: {0: 7}",
            21,
            "start",
            "offsets are of one topic, and the pipeline reads ad_impressions, ad_clicks. Fix: write `earliest`,",
        ),
        (
            "    topic: ad_clicks",
            "    topic: ad_impressions",
            3,
            "sources",
            "two sources read the topic 'ad_impressions'",
        ),
    ],
    ids=words,
)
def test_a_wrong_source_is_refused_at_its_line(several: Bench, case: Case) -> None:
    assert_one_fault(several, PIPELINE_FILE, case)


def test_a_source_reaches_beyond_intervals_only_where_there_are_some(several: Bench) -> None:
    (several.home / SUITE_FILE).unlink()
    several.edit(PIPELINE_FILE, "output:\n  table: click_through\n  time_column: clicked_at\n  interval: hour\n", "")
    several.edit(PIPELINE_FILE, "driver: ads", "driver: ads\noutputs: [{kind: rows, table: click_through}]")
    (fault,) = several.scan().faults
    assert (fault.line, fault.where) == (7, "sources.shown.lookback")
    assert fault.message == "it says how far beyond an interval is read, and the pipeline has no `intervals` output."


def test_a_pipeline_waits_for_the_faults_of_all_its_topics(several: Bench) -> None:
    several.edit(SHOWN_TOPIC, "event_time: shown_at", "event_time: shown")
    several.edit(CLICKS_TOPIC, "event_time: clicked_at", "event_time: clicked")
    scan = several.scan()
    assert "click_through" not in scan.catalog.pipelines
    (waiting,) = (
        faults for (kind, name), faults in scan.dependants.items() if (kind, name) == ("pipeline", "click_through")
    )
    assert [fault.file for fault in waiting] == [CLICKS_TOPIC, SHOWN_TOPIC]


def test_a_topic_that_shall_be_absent_is_no_source(several: Bench) -> None:
    several.write(CLICKS_TOPIC, "name: ad_clicks\nstate: absent\n")
    assert (
        "sources.clicks.topic: include/topics/ad_clicks.yaml says that the topic shall be absent." in said(several)[0]
    )


@pytest.mark.parametrize(
    ("signature", "where", "message"),
    [
        (
            "def click_through(impressions, clicks, *, campaigns)",
            "sources.shown",
            "click_through takes the records 'impressions', and this source is named 'shown'. Fix: name both alike.",
        ),
        (
            "def click_through(clicks, *, campaigns)",
            "sources.shown",
            "takes no positional parameter 'shown'; it takes clicks. Fix: write `def click_through(shown, clicks, *,",
        ),
        (
            "def click_through(clicks, shown, sales, *, campaigns)",
            "sources",
            "takes the records 'sales', which is no source of this pipeline. Fix: declare sources.sales, or put",
        ),
        (
            "def click_through(shown, clicks, /, *, campaigns)",
            "transform",
            "must take each source by its name: a parameter for each. Fix: write `def click_through(shown, clicks, *,",
        ),
        ("def click_through(*records, campaigns)", "transform", "must take each source by its name"),
        (
            "def click_through(shown, clicks, *, campaign)",
            "static.campaigns",
            "takes the static input 'campaign', and this one is named 'campaigns'.",
        ),
    ],
)
def test_a_function_takes_every_source_by_its_name(several: Bench, signature: str, where: str, message: str) -> None:
    several.edit(PYTHON_FILE, SIGNATURE, signature)
    (fault,) = several.scan().faults
    assert (fault.file, fault.where) == (PIPELINE_FILE, where)
    assert message in str(fault)


def test_sources_come_in_any_order_and_one_source_under_any_name(several: Bench) -> None:
    several.edit(PYTHON_FILE, SIGNATURE, "def click_through(clicks, shown, *, campaigns)")
    assert said(several) == []
    (several.home / SUITE_FILE).unlink()
    several.edit(PIPELINE_FILE, SHOWN, "")
    several.edit(PYTHON_FILE, "def click_through(clicks, shown, *, campaigns)", "def click_through(rows, *, campaigns)")
    several.edit(PYTHON_FILE, 'clicks.join(shown, "ad")', "rows")
    assert said(several) == []
    several.edit(PYTHON_FILE, "(rows, *,", "(rows, more, *,")
    assert "must take the records as its one positional parameter" in said(several)[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("JOIN shown s", "JOIN ad_impressions s", "3:6: 'ad_impressions' is neither a source, nor a static input"),
        ("c.position", "c.offset", "1:42: clicks has no column 'offset'."),
        ("c.position", "s.position", "1:42: shown has no column 'position'."),
        ("c.position", "positon", "no table that it reads has a column 'positon'. Fix: did you mean 'position'?"),
    ],
)
def test_tables_of_a_select_are_its_sources_with_their_columns(
    several: Bench, old: str, new: str, message: str
) -> None:
    assert message in said(in_sql(several, QUERY.replace(old, new)))[0]


def test_a_select_reads_every_source(several: Bench) -> None:
    in_sql(several, "SELECT clicked_at, c.ad, campaign FROM clicks c JOIN campaigns USING (ad)")
    (fault,) = several.scan().faults
    assert (fault.line, fault.where) == (4, "sources.shown")
    assert fault.message == f"{QUERY_FILE} does not read 'shown'."
    assert fault.fix == "join 'shown', correct the name, or remove the source."


@pytest.mark.parametrize("source", ["shown", "clicks"])
def test_nothing_is_done_with_all_records_of_any_source(several: Bench, source: str) -> None:
    total = "CROSS JOIN (SELECT count(*) AS n FROM shown) t".replace("shown", source)
    (fault,) = in_sql(several, QUERY + total).scan().faults
    assert "makes one group of all records" in fault.message
    several.edit(PIPELINE_FILE, "transform: click_through.sql", "transform: click_through:click_through")
    several.edit(PYTHON_FILE, 'clicks.join(shown, "ad")', f'clicks.join(shown, "ad").crossJoin({source}.limit(3))')
    (fault,) = several.scan().faults
    assert "`.limit(3)` chooses among all records" in fault.message


def test_sources_are_read_as_far_as_a_select_joins_them(several: Bench) -> None:
    several.edit(PIPELINE_FILE, "lookback: 1 hour", "lookback: 30 min")
    (fault,) = in_sql(several).scan().faults
    assert (fault.file, fault.line, fault.where) == (PIPELINE_FILE, 7, "sources.shown.lookback")
    assert fault.message == (
        f"line 4 of {QUERY_FILE}: a row has the time of 'clicks' and is made of records of 'shown' up to 1 hour "
        "before it; these are read with a `lookback` of 30 minutes."
    )
    assert fault.fix == "write `lookback: 1 hour` under sources.shown, or more."
    several.edit(PIPELINE_FILE, "    lookback: 30 min\n", "")
    (fault,) = several.scan().faults
    assert (fault.line, fault.where) == (4, "sources.shown.lookback")
    assert "these are read with a `lookback` of 0 seconds." in fault.message


def test_a_lookback_of_the_output_is_one_of_each_source_that_has_none(several: Bench) -> None:
    several.edit(PIPELINE_FILE, "    lookback: 1 hour\n", "")
    several.edit(PIPELINE_FILE, "  interval: hour\n", "  interval: hour\n  lookback: 2 hours\n")
    assert said(in_sql(several)) == []
    several.edit(PIPELINE_FILE, "topic: ad_impressions", "topic: ad_impressions\n    lookback: 1 min")
    assert [fault.where for fault in several.scan().faults] == ["sources.shown.lookback"]


def test_rows_with_the_time_of_the_earlier_record_need_the_later_ones(several: Bench) -> None:
    several.edit(PIPELINE_FILE, "time_column: clicked_at", "time_column: shown_at")
    in_sql(several, QUERY.replace("c.clicked_at, c.ad", "s.shown_at, c.ad"))
    (fault,) = several.scan().faults
    assert (fault.line, fault.where) == (8, "sources.clicks.lookahead")
    assert (
        "made of records of 'clicks' up to 1 hour after it; these are read with a `lookahead` of 0 s" in fault.message
    )
    several.edit(PIPELINE_FILE, "topic: ad_clicks", "topic: ad_clicks\n    lookahead: 1 hour")
    assert said(several) == []


def test_rows_of_another_time_need_both_records_within_reach(several: Bench) -> None:
    in_sql(several, QUERY.replace("c.clicked_at, c.ad", "greatest(c.clicked_at, s.shown_at) AS clicked_at, c.ad"))
    assert said(several) == []
    several.edit(PIPELINE_FILE, "lookback: 1 hour", "lookback: 20 min")
    (fault,) = several.scan().faults
    assert (fault.line, fault.where) == (7, "sources.shown.lookback")
    assert fault.fix == (
        "if `time_column` holds the time of 'clicks', write `lookback: 1 hour` under sources.shown; if it holds that "
        "of 'shown', write `lookahead: 1 hour` under sources.clicks."
    )
    several.edit(PIPELINE_FILE, "topic: ad_clicks", "topic: ad_clicks\n    lookahead: 40 min")
    assert said(several) == []


@pytest.mark.parametrize(
    "case",
    [
        (
            "{column: id}, on: [record], source: clicks",
            "{column: id}, on: [record]",
            6,
            "expectations[2].source",
            "has several sources, and this does not say whose records are meant. Fix: add `source: <name>`: shown or",
        ),
        (
            "{column: id}, on: [record], source: clicks",
            "{column: id}, on: [record], source: click",
            6,
            "expectations[2].source",
            "the pipeline 'click_through' has no source 'click'. Fix: did you mean 'clicks'?",
        ),
        (
            "{column: id}, on: [record], source: clicks",
            "{column: shown_at}, on: [record], source: clicks",
            6,
            "expectations[2].kwargs.column",
            "the topic has no field 'shown_at'",
        ),
        ("{column: ad}}", "{column: ad}, source: clicks}", 7, "expectations[3].source", "this is not about records"),
        (
            "source: clicks}",
            "source: shown}",
            3,
            "expectations",
            "number 3 repeats number 2",
        ),
    ],
    ids=words,
)
def test_an_expectation_of_records_says_whose(several: Bench, case: Case) -> None:
    assert_one_fault(several, SUITE_FILE, case)


def test_expectations_of_one_source_are_told_apart(several: Bench) -> None:
    catalog = several.scan().catalog
    columns = {
        source: [each.subject for each in catalog.expected_of_records("click_through", source)]
        for source in (None, "shown", "clicks")
    }
    assert columns == {None: ["shown_at", "id", "id"], "shown": ["shown_at", "id"], "clicks": ["id"]}
    suite = catalog.expectations["click_through"]
    assert len({each.key for each in suite.about(Subject.RECORD)}) == len(suite.about(Subject.RECORD))


def test_one_source_may_be_named_and_need_not(bench: Bench) -> None:
    suite = "name: sales\npipeline: sales\nexpectations:\n  - {expect: expect_column_values_to_not_be_null, "
    suite += "kwargs: {column: id}, on: [record]}\n"
    bench.write("include/expectations/sales.yaml", suite)
    assert len(bench.scan().catalog.expected_of_records("sales", "orders")) == 1
    bench.write("include/expectations/sales.yaml", suite.replace("[record]", "[record], source: orders"))
    assert len(bench.scan().catalog.expected_of_records("sales", "orders")) == 1
    bench.write("include/expectations/sales.yaml", suite.replace("[record]", "[record], source: sales"))
    assert "the pipeline 'sales' has no source 'sales'." in said(bench)[0]


def test_windows_are_held_against_the_widest_reach_of_the_sources(several: Bench) -> None:
    several.edit(
        PYTHON_FILE, 'clicks.join(shown, "ad")', 'clicks.groupBy(F.window("clicked_at", "3 hours").end).count()'
    )
    several.edit(
        PYTHON_FILE,
        "from pyspark.sql import DataFrame",
        "from pyspark.sql import DataFrame\nfrom pyspark.sql import functions as F",
    )
    assert "windows of 3 hours reach" in said(several)[0]
    several.edit(PIPELINE_FILE, "lookback: 1 hour", "lookback: 3 hours")
    assert said(several) == []
