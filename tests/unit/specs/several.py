"""A small sound project of which one pipeline joins two topics, in Python; tests break it on purpose."""

from __future__ import annotations

from pathlib import Path

from tests.unit.specs.bench import Bench

PIPELINE_FILE, SUITE_FILE = "include/pipelines/click_through.yaml", "include/expectations/click_through.yaml"
PYTHON_FILE, QUERY_FILE = "spark_jobs/transforms/click_through.py", "spark_jobs/transforms/click_through.sql"

_TOPIC = """\
name: {name}
partitions: 2
value:
  fields:
    id: {{type: long, required: true}}
    ad: {{type: string, required: true}}
    {at}: {{type: timestamp, required: true}}
  event_time: {at}
  arrival_time: {at}
raw:
  table: {name}_raw
  driver: ads
"""
PIPELINE = """\
name: click_through
transform: click_through:click_through
sources:
  shown:
    topic: ad_impressions
    time: {allowed_lateness: 5 min, future_skew: 1 min}
    lookback: 1 hour
  clicks:
    topic: ad_clicks
    time: {allowed_lateness: 10 min, future_skew: 1 min}
    columns: {position: offset}
static:
  campaigns:
    path: static/campaigns.csv
    columns: {ad: string, campaign: string}
output:
  table: click_through
  time_column: clicked_at
  interval: hour
driver: ads
"""
PYTHON = '''\
"""Clicks with the impressions that they answer."""

from pyspark.sql import DataFrame


def click_through(shown: DataFrame, clicks: DataFrame, *, campaigns: DataFrame) -> DataFrame:
    """Join them."""
    return clicks.join(shown, "ad").join(campaigns, "ad")
'''
QUERY = """\
SELECT c.clicked_at, c.ad, g.campaign, c.position
FROM clicks c
JOIN shown s ON s.ad = c.ad
 AND s.shown_at BETWEEN c.clicked_at - INTERVAL 1 HOUR AND c.clicked_at
JOIN campaigns g ON g.ad = c.ad
"""
SUITE = """\
name: click_through
pipeline: click_through
expectations:
  - {expect: expect_column_values_to_not_be_null, kwargs: {column: shown_at}, on: [record], source: shown}
  - {expect: expect_column_values_to_not_be_null, kwargs: {column: id}, on: [record], source: shown}
  - {expect: expect_column_values_to_not_be_null, kwargs: {column: id}, on: [record], source: clicks}
  - {expect: expect_column_values_to_not_be_null, kwargs: {column: ad}}
"""


def project_with_several(home: Path) -> Bench:
    """Write a project without fault."""
    project = Bench(home)
    project.write("include/topics/ad_impressions.yaml", _TOPIC.format(name="ad_impressions", at="shown_at"))
    project.write("include/topics/ad_clicks.yaml", _TOPIC.format(name="ad_clicks", at="clicked_at"))
    project.write(PIPELINE_FILE, PIPELINE)
    project.write(SUITE_FILE, SUITE)
    project.write("include/static/campaigns.csv", "ad,campaign\n7,spring\n")
    project.write("spark_jobs/transforms/__init__.py", "")
    project.write(PYTHON_FILE, PYTHON)
    return project


def in_sql(project: Bench, query: str = QUERY) -> Bench:
    """Write the transform in SQL instead."""
    project.edit(PIPELINE_FILE, "transform: click_through:click_through", "transform: click_through.sql")
    project.write(QUERY_FILE, query)
    return project
