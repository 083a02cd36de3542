"""The demo of an example: its feeds go through its streams, and its settled tables are computed again by batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any

import pandas as pd
from rich.table import Table

from sluice.cli.feed import open_project_feed
from sluice.cli.stack.page_server import PageServer
from sluice.cli.stack.stack_steps import StackSteps
from sluice.cli.terminal.output import out, out_lines
from sluice.clock import Clock
from sluice.delta.reading import read_rows
from sluice.feeds.publish import Feed
from sluice.feeds.side_by_side import first_and_last_day, send_side_by_side
from sluice.intervals.alignment import interval_of
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import Ledger
from sluice.launch.endpoints import read_endpoints
from sluice.project.project import Project
from sluice.specs.model.model import PipelineSpec

_SHOWN = 12


class ScenarioDemo:
    """Runs the steps in order, in a project that is an example."""

    def __init__(self, project: Project, clock: Clock, pages: PageServer) -> None:
        self._project = project
        self._clock = clock
        self._pages = pages
        self._steps = StackSteps(project, clock)

    def run(self, *, seconds_to_feed: float) -> dict[str, Any]:
        """Run all steps and return the report (the content of `demo.json`).

        Raises:
            SluiceError: a step failed; the stack keeps running for inspection.
        """
        began, steps, catalog = self._clock.monotonic(), self._steps, self._project.catalog
        with steps.step("stack", "Start Kafka and Airflow"):
            steps.start_stack()
        with steps.step("topics", "Create the declared topics (DAG `topics`)"):
            steps.create_topics()
        for unit in catalog.units():
            with steps.step(f"stream_{unit}", f"Start its streams (DAG `stream_{unit}`)"):
                steps.start_unit(unit)
        self._pages.start()
        with ExitStack() as opened:
            feeds = [opened.enter_context(open_project_feed(self._project, name)) for name in sorted(catalog.feeds)]
            with steps.step("feeds", f"Send {', '.join(feed.spec.name for feed in feeds)}"):
                sent = send_side_by_side(feeds, seconds_to_feed)
            settled = [pipeline for pipeline in catalog.pipelines.values() if pipeline.has_intervals]
            with steps.step("settle", "Wait until the streams have settled every interval"):
                ledgers = {each.name: self._settle(each, feeds) for each in settled}
        outcomes = {}
        for each in settled:
            with steps.step(f"verify_{each.name}", f"Compute {each.name} by batch (DAG `backfill_{each.name}`)"):
                outcomes[each.name] = steps.backfill(each.name, ledgers[each.name], Mode.VERIFY)["outcome"]
        steps.seconds["total"] = round(self._clock.monotonic() - began, 1)
        report = {
            "ok": all(outcome == ParityOutcome.IDENTICAL for outcome in outcomes.values()),
            "records": sent,
            "parity": outcomes,
            "intervals": {name: len(ledger.rows) for name, ledger in ledgers.items()},
            "pages": self._pages.pages,
            "seconds": steps.seconds,
        }
        self._project.folder.demo.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        return report

    def _settle(self, pipeline: PipelineSpec, feeds: Sequence[Feed]) -> Ledger:
        """Wait until the interval with the last event of all feeds is settled.

        Without a heartbeat nothing completes that one, so the one before it is the last.
        """
        events = [feed.source.last_event(*first_and_last_day(feed)) for feed in feeds]
        last = interval_of(min(event for event in events if event is not None), pipeline.intervals.interval_length)
        closed = all(feed.topic.value.heartbeat for feed in feeds)
        return self._steps.settled(pipeline.driver, pipeline.name, last.end if closed else last.start)


def show_scenario(project: Project, report: dict[str, Any]) -> None:
    """Print the newest rows of each settled table, and the numbers of the report."""
    for name in report["parity"]:
        intervals = project.catalog.pipelines[name].intervals
        frame = read_rows(project.folder.table(intervals.table)).to_pandas().convert_dtypes()
        newest = frame[frame[intervals.time_column] == frame[intervals.time_column].max()]
        columns = [column for column in frame.columns if column != "interval_start"]
        table = Table(*columns, title=f"{name}, its newest rows")
        for row in newest[columns].head(_SHOWN).itertuples(index=False):
            table.add_row(*(_text(value) for value in row))
        out.print(table)
    out.print("records     " + ", ".join(f"{count:,} of {feed}" for feed, count in report["records"].items()))
    out.print("intervals   " + ", ".join(f"{count} of {name}" for name, count in report["intervals"].items()))
    out.print("parity      " + ", ".join(f"{name}: {outcome}" for name, outcome in report["parity"].items()))
    out_lines.print(f"seconds     {', '.join(f'{name} {value}' for name, value in report['seconds'].items())}")
    out.print(f"Airflow     {read_endpoints(project.folder).airflow_url}")
    out_lines.print(f"report      {project.folder.demo}")


def _text(value: object) -> str:
    if value is None or value is pd.NA or value is pd.NaT:
        return ""
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)
