"""The demo: the main job on real data, from an empty machine to a checked result.

Every step is idempotent: a running stack and driver are adopted, and the feed sends nothing twice. So a second run ends
the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any

from sluice.cli.feed import open_project_feed, reporting
from sluice.cli.stack.up import print_component
from sluice.cli.terminal.output import err, err_lines
from sluice.clock import Clock
from sluice.devstack.airflow.api import AirflowApi, succeeded, watching
from sluice.devstack.stack import up
from sluice.errors import NotReadyError, SluiceError
from sluice.feeds.pace import Pace
from sluice.feeds.publish import Sending
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import Ledger, State
from sluice.project.project import Project
from sluice.quality.census import Census
from sluice.quality.gate import GateResult
from sluice.quality.reasons import Outcome
from sluice.streams.health.health import WELL, Health

PIPELINE, LIVE, FEED, UNIT = "departures", "departures_live", "flights", "flights"
BACKFILL, QUALITY = f"backfill_{PIPELINE}", f"quality_{PIPELINE}"
_QUALITY_SECONDS = 240
_POLL_SECONDS = 0.5


class Demo:
    """Runs the steps in order, in a project with the embedded deployment, and reports them on stderr."""

    def __init__(self, project: Project, clock: Clock) -> None:
        self._project = project
        self._clock = clock
        self._seconds: dict[str, float] = {}

    def run(self, first: date, last: date, *, seconds_to_feed: float) -> dict[str, Any]:
        """Run all steps for a range of local days, both included, and return the report (the content of `demo.json`).

        Raises:
            SluiceError: a step failed; the stack keeps running for inspection.
        """
        began = self._clock.monotonic()
        with self._step("stack", "Start Kafka and Airflow"):
            airflow = AirflowApi(up(self._project.settings, print_component).airflow_url, self._clock)
        with self._step("topics", "Create the declared topics (DAG `topics`)"):
            airflow.wait("topics", airflow.trigger("topics"), succeeded, 120)
        with self._step("stream", f"Start the stream (DAG `stream_{UNIT}`)"):
            conf = {"action": "start", "reason": "make demo"}
            airflow.wait(f"stream_{UNIT}", airflow.trigger(f"stream_{UNIT}", conf), watching, 120)
            generation = self._wait_for_driver()
        with self._step("feed", f"Publish the flights of {first} to {last}"):
            sending = self._feed(first, last, seconds_to_feed)
        with self._step("settle", "Wait until the stream has closed every interval"):
            ledger = self._settle(sending.manifest.latest_event)
        with self._step("validation", "Recompute validation over the raw table"):
            census = self._census()
        with self._step("verify", f"Compute the same intervals by batch (DAG `{BACKFILL}`, mode verify)"):
            verify = self._backfill(airflow, ledger, Mode.VERIFY)
        with self._step("correct", "Add the late records (mode correct: stage, quality gate, publish)"):
            correct = self._backfill(airflow, ledger, Mode.CORRECT)
        with self._step("quality", f"Check the published table (DAG `{QUALITY}`, which the publish triggers)"):
            gate = self._check(airflow, published=correct["published"])
        self._seconds["total"] = round(self._clock.monotonic() - began, 1)
        counts = self._counts(census, sending.manifest.records, correct, gate)
        report = {**counts, "parity": _parity(verify, correct), "seconds": self._seconds, "tables": self._tables()}
        report["stream"]["generation"] = generation
        self._project.folder.demo.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        return report

    @contextmanager
    def _step(self, name: str, title: str) -> Iterator[None]:
        err.print(f"[bold]==> {title}[/bold]", soft_wrap=True)
        began = self._clock.monotonic()
        yield
        self._seconds[name] = round(self._clock.monotonic() - began, 1)
        err_lines.print(f"    {self._seconds[name]:.1f} s")

    def _wait_for_driver(self, deadline_seconds: float = 120) -> int:
        """Wait until the driver reads, so that it reads the feed as a stream, and return its generation."""
        attempt = self._project.records.registry().latest_attempt(UNIT)
        if attempt is None:
            raise SluiceError(f"the run of stream_{UNIT} ended without an attempt on record.")
        deadline = self._clock.monotonic() + deadline_seconds
        while self._project.streams.checkpoint(PIPELINE).lineage() is None:
            verdict = self._project.health.verdicts(UNIT)[PIPELINE]
            if verdict.health is Health.STOPPED or self._clock.monotonic() > deadline:
                raise SluiceError(
                    f"the stream {PIPELINE} did not start: {verdict.why}", fix=f"see `sluice streams logs {UNIT}`."
                )
            self._clock.sleep(_POLL_SECONDS)
        return attempt.generation

    def _feed(self, first: date, last: date, seconds: float) -> Sending:
        days = (last - first).days + 1
        pace = Pace(speed=days * 86_400 / seconds) if seconds else Pace()
        with open_project_feed(self._project, FEED) as feed, reporting(FEED) as report:
            return feed.send(first, last, pace=pace, report=report)

    def _settle(self, latest: datetime | None, deadline_seconds: float = 180) -> Ledger:
        """Wait until every record is in a committed batch and the feed's last interval is settled.

        The feed's heartbeat lies the watermark's delay behind the end of that interval.
        """
        deadline = self._clock.monotonic() + deadline_seconds
        delay = self._project.catalog.pipelines[PIPELINE].time_of(FEED).delay
        while True:
            verdicts = self._project.health.verdicts(UNIT)
            ledger = self._project.tables.ledger(PIPELINE)
            closed = ledger.closed_until is not None and (latest is None or ledger.closed_until >= latest - delay)
            if closed and all(v.health in WELL and v.lag_records == 0 for v in verdicts.values()):
                return ledger
            if self._clock.monotonic() > deadline:
                states = "; ".join(f"{name}: {verdict.health}, {verdict.why}" for name, verdict in verdicts.items())
                raise SluiceError(
                    f"the stream has not closed every interval after {deadline_seconds:.0f} s. {states}",
                    fix=f"see `sluice streams logs {UNIT}`.",
                )
            self._clock.sleep(_POLL_SECONDS)

    def _census(self) -> Census:
        from sluice.spark.checks.feed_census import census_of_feed  # noqa: PLC0415  Spark is slow to import

        return next(census for census in census_of_feed(self._project, FEED) if census.pipeline == PIPELINE)

    def _backfill(self, airflow: AirflowApi, ledger: Ledger, mode: Mode) -> dict[str, Any]:
        """Run the backfill over all closed intervals and return its result."""
        if (first := ledger.first) is None:
            raise NotReadyError(f"{PIPELINE} has no closed interval.", fix="run `sluice status`.")
        bounds = {"from": first.isoformat(), "to": (ledger.closed_until or first).isoformat()}
        run_id = airflow.trigger(BACKFILL, {**bounds, "mode": mode.value, "reason": "make demo"})
        airflow.wait(BACKFILL, run_id, succeeded, 240)
        newest = self._project.records.backfills().recent(PIPELINE, limit=1)[0]
        err_lines.print(f"    backfill {newest.id}: {newest.outcome}. {newest.why}".rstrip())
        result: dict[str, Any] = json.loads((self._project.folder.backfill(newest.id) / "result.json").read_bytes())
        return result

    def _check(self, airflow: AirflowApi, *, published: int) -> GateResult:
        """Wait for the run of the quality DAG that the publish triggers, and return its result.

        A second demo has nothing to correct and publishes nothing: then trigger the DAG.
        """
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
