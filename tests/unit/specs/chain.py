"""The small sound project, and a pipeline that reads its settled table."""

from __future__ import annotations

from pathlib import Path

from tests.unit.specs.bench import Bench, sound_project

DAYS_FILE, QUERY_FILE = "include/pipelines/days.yaml", "spark_jobs/transforms/days.sql"
DAYS = """\
name: days
transform: days.sql
sources:
  hourly:
    table: sales
output:
  table: days
  time_column: at
  interval: day
driver: reports
"""
QUERY = "SELECT window.start AS at, sum(units) AS units FROM hourly GROUP BY window(sold_at, '1 day')\n"


def chained_project(folder: Path) -> Bench:
    """Write the project."""
    project = sound_project(folder)
    project.write(DAYS_FILE, DAYS)
    project.write(QUERY_FILE, QUERY)
    return project
