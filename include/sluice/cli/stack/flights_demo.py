"""The demo of the flights: the main job on real data, from an empty machine to a checked result.

A second run ends the same: every step is idempotent, and the feed sends nothing twice.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

from sluice.cli.feed import open_project_feed, reporting
from sluice.cli.stack.stack_steps import StackSteps
from sluice.clock import Clock
from sluice.devstack.airflow.api import succeeded
from sluice.errors import SluiceError
from sluice.feeds.pace import Pace
from sluice.feeds.publish import Sending
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import Ledger, State
from sluice.project.project import Project
from sluice.quality.census import Census
from sluice.quality.gate import GateResult
from sluice.quality.reasons import Outcome
from sluice.spark.session.warm import warm_up
from sluice.streams.health.health import WELL

PIPELINE, LIVE, FEED, UNIT = "departures", "departures_live", "flights", "flights"
QUALITY = f"quality_{PIPELINE}"
_QUALITY_SECONDS = 240
_POLL_SECONDS = 0.5


class FlightsDemo:
    """Runs the steps in order, in a project with the embedded deployment."""

    def __init__(self, project: Project, clock: Clock) -> None:
        self._project = project
        self._clock = clock
        self._steps = StackSteps(project, clock)

    def run(self, first: date, last: date, *, seconds_to_feed: float) -> dict[str, Any]:
        """Run all steps for a range of local days, both included, and return the report (the content of `demo.json`).

        Raises:
            SluiceError: a step failed; the stack keeps running for inspection.
        """
        began, steps = self._clock.monotonic(), self._steps
        with steps.step("stack", "Start Kafka and Airflow"):
            steps.start_stack()
        with steps.step("topics", "Create the declared topics (DAG `topics`)"):
            steps.create_topics()
        with steps.step("stream", f"Start the stream (DAG `stream_{UNIT}`)"):
            generation = steps.start_unit(UNIT)
        warm_up(self._project)  # while records come and settle
        with steps.step("feed", f"Publish the flights of {first} to {last}"):
            sending = self._feed(first, last, seconds_to_feed)
        with steps.step("settle", "Wait until the stream has closed every interval"):
            ledger = self._settle(sending.manifest.latest_event)
        with steps.step("validation", "Recompute validation over the raw table"):
            census = self._census()
        with steps.step("verify", f"Compute the same intervals by batch (DAG `backfill_{PIPELINE}`, mode verify)"):
            verify = steps.backfill(PIPELINE, ledger, Mode.VERIFY)
        with steps.step("correct", "Add the late records (mode correct: stage, quality gate, publish)"):
            correct = steps.backfill(PIPELINE, ledger, Mode.CORRECT)
        with steps.step("quality", f"Check the published table (DAG `{QUALITY}`, which the publish triggers)"):
            gate = self._check(published=correct["published"])
        steps.seconds["total"] = round(self._clock.monotonic() - began, 1)
        counts = self._counts(census, sending.manifest.records, correct, gate)
        report = {**counts, "parity": _parity(verify, correct), "seconds": steps.seconds, "tables": self._tables()}
        report["stream"]["generation"] = generation
        self._project.folder.demo.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        return report

    def _feed(self, first: date, last: date, seconds: float) -> Sending:
        days = (last - first).days + 1
        pace = Pace(speed=days * 86_400 / seconds) if seconds else Pace()
        with open_project_feed(self._project, FEED) as feed, reporting(FEED) as report:
            return feed.send(first, last, pace=pace, report=report)

    def _settle(self, latest: datetime | None) -> Ledger:
        """Wait until the feed's last interval is settled: its heartbeat lies the watermark's delay behind the end."""
        delay = self._project.catalog.pipelines[PIPELINE].time_of(FEED).delay
        return self._steps.settled(UNIT, PIPELINE, None if latest is None else latest - delay)

    def _census(self) -> Census:
        from sluice.spark.checks.feed_census import census_of_feed  # noqa: PLC0415  Spark is slow to import

        return next(census for census in census_of_feed(self._project, FEED) if census.pipeline == PIPELINE)

    def _check(self, *, published: int) -> GateResult:
        """Wait for the run of the quality DAG that the publish triggers, and return its result.

        A second demo has nothing to correct and publishes nothing: then trigger the DAG.
        """
        airflow = self._steps.airflow
        if not published:
            airflow.trigger(QUALITY)
        deadline = self._clock.monotonic() + _QUALITY_SECONDS
        while not (runs := airflow.runs(QUALITY)):
            if self._clock.monotonic() > deadline:
                raise SluiceError(f"no run of {QUALITY} followed the publish within {_QUALITY_SECONDS} s.")
            self._clock.sleep(_POLL_SECONDS)
        airflow.wait(QUALITY, runs[-1], succeeded, _QUALITY_SECONDS)
        return GateResult.from_json(self._project.folder.quality(PIPELINE).read_bytes())

    def _counts(self, census: Census, produced: int, correct: dict[str, Any], gate: GateResult) -> dict[str, Any]:
        """Return the numbers of the report, and whether they add up."""
        verdict = self._project.health.verdicts(UNIT)[PIPELINE]
        ledger = self._project.tables.ledger(PIPELINE)
        states = ledger.count(self._project.code_of(PIPELINE))
        return {
            "ok": (
                verdict.health in WELL
                and census.records == sum(census.outcomes.values()) == produced + census.outcomes[Outcome.CONTROL]
                and states[State.DIRTY] == correct["unexplained"] == gate.expectations_failed == 0
            ),
            "produced": produced,
            "raw": {"records": census.records, "undecodable": census.undecodable},
            "validation": {outcome.value: count for outcome, count in census.outcomes.items()},
            "stream": {"pipeline": PIPELINE, "verdict": verdict.health.value, "batches": verdict.batches},
            # Published intervals are closed ones that a backfill wrote.
            "intervals": {
                "closed": len(ledger.rows),
                "published": states[State.PUBLISHED],
                "dirty": states[State.DIRTY],
            },
            "quality": {"passed": gate.expectations_passed, "failed": gate.expectations_failed},
        }

    def _tables(self) -> dict[str, str]:
        catalog, folder = self._project.catalog, self._project.folder
        intervals, raw = catalog.pipelines[PIPELINE].intervals.table, catalog.topics[FEED].raw.table
        tables = {PIPELINE: intervals, LIVE: LIVE, "flights_raw": raw}
        return {name: str(folder.table(table)) for name, table in tables.items()}


def _parity(verify: dict[str, Any], correct: dict[str, Any]) -> dict[str, Any]:
    return {
        "verify": verify["outcome"],
        "correct": correct["outcome"],
        "late_records": correct["late_records"],
        "unexplained": correct["unexplained"],
    }
