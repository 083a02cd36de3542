"""Pipelines over the tables of a console's fleet: days of two units' hours, what is made of these, and letters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import insert

from sluice.control.database import transaction
from sluice.control.interval_rows import columns_of
from sluice.control.tables import interval, ledger
from sluice.intervals.alignment import Interval
from sluice.intervals.entries import Content
from sluice.intervals.ledger import LedgerRow, Written
from sluice.project.project import Project
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import Rates, StreamSnapshot
from sluice.streams.health.verdict import Verdict
from tests.twins.console_fleet import CLOSED_UNTIL, ConsoleFleet, unit_of

_PIPELINE = """
name: {name}
description: Over the tables of others.
owner: somebody
sources: {{{sources}}}
transform: {name}.sql
output: {{table: {name}, time_column: at, window: 1 day, interval: day}}
driver: {unit}
"""
_QUERY = "SELECT window.start AS at, count(*) AS n FROM ({rows}) GROUP BY window(at, '1 day')\n"
_ROWS = "SELECT {time} AS at FROM from_{table}"


@dataclass(frozen=True)
class Chained:
    """A pipeline over tables: its name, the tables, the unit that settles it, and how many of its days are dirty."""

    name: str
    tables: tuple[str, ...]
    unit: str
    dirty: int = 0


CHAINS = (
    Chained("days_of_departures_by_airport", ("pipe0000", "pipe0001"), unit_of(3)),
    Chained("days_of_arrivals", ("pipe0002",), unit_of(4), dirty=2),
    Chained("balance", ("days_of_departures_by_airport", "days_of_arrivals", "pipe0003"), unit_of(4)),
)


def add_chains(fleet: ConsoleFleet, now: datetime) -> None:
    """Declare the pipelines, and put on record how their streams and tables stand."""
    include, transforms = fleet.settings.home / "include", fleet.settings.home / "spark_jobs" / "transforms"
    for chained in CHAINS:
        sources = ", ".join(f"from_{table}: {{table: {table}}}" for table in chained.tables)
        text = _PIPELINE.format(name=chained.name, sources=sources, unit=chained.unit)
        (include / "pipelines" / f"{chained.name}.yaml").write_text(text)
        times = {table: "hour" if table.startswith("pipe") else "at" for table in chained.tables}
        rows = " UNION ALL ".join(_ROWS.format(table=table, time=time) for table, time in times.items())
        (transforms / f"{chained.name}.sql").write_text(_QUERY.format(rows=rows))
    project = Project.open_strict(fleet.settings)
    verdict = Verdict(Health.OK, fleet.says("Its versions are read."), "", committed_at=now)
    project.records.snapshots().store(
        [StreamSnapshot(each.unit, each.name, 2, now - timedelta(seconds=5), verdict, Rates(1, 1)) for each in CHAINS]
    )
    for chained in CHAINS:
        _settle(project, chained)


def _settle(project: Project, chained: Chained, days: int = 20) -> None:
    base = {"deployment": "local", "pipeline": chained.name}
    head = {"table_version": 3, "closed_until": CLOSED_UNTIL, "raw_version": 9, "raw_offsets": "{}", "raw_topics": "[]"}
    written = Written("s", 2, 3, CLOSED_UNTIL, {}, project.code_of(chained.name), Content(9, "1"))
    rows = []
    for number in range(days):
        end = CLOSED_UNTIL - number * timedelta(days=1)
        dirty = ("records came too late",) if number < chained.dirty else ()
        row = LedgerRow(Interval(end - timedelta(days=1), end), written, written, dirty)
        rows.append({**base, **columns_of(row)})
    with transaction(project.records.database, write=True) as connection:
        connection.execute(insert(ledger), [{**base, **head}])
        connection.execute(insert(interval), rows)
