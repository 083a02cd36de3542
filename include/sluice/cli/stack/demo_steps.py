"""The demo: the main job on real data, from an empty machine to a checked result.

Every step is idempotent: a running stack and driver are adopted, and the feed sends nothing twice. So a second run ends
the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Protocol

from sluice.clock import Clock
from sluice.devstack.airflow.api import AirflowApi, succeeded, watching
from sluice.errors import NotReadyError, SluiceError
from sluice.feeds.pace import Pace
from sluice.feeds.publish import Sending
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import Ledger, State
from sluice.launch.endpoints import Endpoints
from sluice.project.project import Project
from sluice.quality.census import Census
from sluice.quality.gate import GateResult
from sluice.quality.reasons import Outcome
from sluice.streams.health.health import WELL, Health
from sluice.streams.health.verdict import Verdict

PIPELINE, LIVE, FEED, UNIT = "departures", "departures_live", "flights", "flights"
BACKFILL, QUALITY = f"backfill_{PIPELINE}", f"quality_{PIPELINE}"
_QUALITY_SECONDS = 240
_POLL_SECONDS = 0.5


class DemoReporter(Protocol):
    """Receives the progress of the demo."""

    def step(self, title: str) -> None:
        """Report that a step begins."""
        ...

    def note(self, text: str) -> None:
        """Report a detail of the step."""
        ...


@dataclass
class DemoResults:
    """The results of the steps so far; `seconds` has the duration of each."""

    seconds: dict[str, float] = field(default_factory=dict)
    sending: Sending | None = None
    verdict: Verdict | None = None
    generation: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    census: Census | None = None
    parity: dict[Mode, dict[str, Any]] = field(default_factory=dict)
    quality: GateResult | None = None


class Demo:
    """Runs the steps in order.

    Args:
        project: with the embedded deployment.
        reporter: receives the progress.
        clock: measures the steps.
        up: starts the stack and returns its endpoints.
        send: publishes the feed's flights of a range of days.
        take_census: recomputes validation over the raw table.
    """

    def __init__(
        self,
        project: Project,
        reporter: DemoReporter,
        clock: Clock,
        *,
        up: Callable[[], Endpoints],
        send: Callable[[date, date, Pace], Sending],
        take_census: Callable[[], Census],
    ) -> None:
        self._project = project
        self._reporter = reporter
        self._clock = clock
        self._up = up
        self._send = send
        self._take_census = take_census
        self.results = DemoResults()

    def run(self, first: date, last: date, *, seconds_to_feed: float) -> dict[str, Any]:
        """Run all steps and return the report (the content of `demo.json`).

        Args:
            first: first local day of flights.
            last: last local day, inclusive.
            seconds_to_feed: about how long the feed should take, so that the stream can be watched.

        Raises:
            SluiceError: a step failed; the stack keeps running for inspection.
        """
        results, began = self.results, self._clock.monotonic()
        with self._step("stack", "Start Kafka and Airflow"):
            airflow = AirflowApi(self._up().airflow_url, self._clock)
        with self._step("topics", "Create the declared topics (DAG `topics`)"):
            airflow.wait("topics", airflow.trigger("topics"), succeeded, 120)
        with self._step("stream", f"Start the stream (DAG `stream_{UNIT}`)"):
            conf = {"action": "start", "reason": "make demo"}
            airflow.wait(f"stream_{UNIT}", airflow.trigger(f"stream_{UNIT}", conf), watching, 120)
            results.generation = self._running_generation()
            self._wait_for_driver()
        with self._step("feed", f"Publish the flights of {first} to {last}"):
            results.sending = self._feed(first, last, seconds_to_feed)
        with self._step("settle", "Wait until the stream has closed every interval"):
            results.ledger = self._settle()
        with self._step("validation", "Recompute validation over the raw table"):
            results.census = self._take_census()
        with self._step("verify", f"Compute the same intervals by batch (DAG `{BACKFILL}`, mode verify)"):
            results.parity[Mode.VERIFY] = self._backfill(airflow, Mode.VERIFY)
        with self._step("correct", "Add the late records (mode correct: stage, quality gate, publish)"):
            results.parity[Mode.CORRECT] = self._backfill(airflow, Mode.CORRECT)
        with self._step("quality", f"Check the published table (DAG `{QUALITY}`, which the publish triggers)"):
            results.quality = self._check(airflow)
        results.ledger = self._project.tables.ledger(PIPELINE)
        results.verdict = self._project.health.verdicts(UNIT)[PIPELINE]
        results.seconds["total"] = round(self._clock.monotonic() - began, 1)
        report = self._report()
        self._project.folder.demo.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        return report

    @contextmanager
    def _step(self, name: str, title: str) -> Iterator[None]:
        self._reporter.step(title)
        began = self._clock.monotonic()
        yield
        self.results.seconds[name] = round(self._clock.monotonic() - began, 1)
        self._reporter.note(f"{self.results.seconds[name]:.1f} s")

    def _running_generation(self) -> int:
        attempt = self._project.records.registry().latest_attempt(UNIT)
        if attempt is None:
            raise SluiceError(f"the run of stream_{UNIT} ended without an attempt on record.")
        return attempt.generation

    def _wait_for_driver(self, deadline_seconds: float = 120) -> None:
        """Wait until the driver reads, so that it reads the feed as a stream and not as a backlog."""
        deadline = self._clock.monotonic() + deadline_seconds
        while self._project.streams.checkpoint(PIPELINE).lineage() is None:
            verdict = self._project.health.verdicts(UNIT)[PIPELINE]
            if verdict.health is Health.STOPPED or self._clock.monotonic() > deadline:
                raise SluiceError(
                    f"the stream {PIPELINE} did not start: {verdict.why}", fix=f"see `sluice streams logs {UNIT}`."
                )
            self._clock.sleep(_POLL_SECONDS)

    def _feed(self, first: date, last: date, seconds: float) -> Sending:
        days = (last - first).days + 1
        return self._send(first, last, Pace(speed=days * 86_400 / seconds) if seconds else Pace())

    def _settle(self, deadline_seconds: float = 180) -> Ledger:
        """Wait until every record is in a committed batch and the watermark has passed the feed's last interval."""
        deadline = self._clock.monotonic() + deadline_seconds
        while True:
            verdicts = self._project.health.verdicts(UNIT)
            ledger = self._project.tables.ledger(PIPELINE)
            if all(v.health in WELL and v.lag_records == 0 for v in verdicts.values()) and self._all_closed(ledger):
                return ledger
            if self._clock.monotonic() > deadline:
                states = "; ".join(f"{name}: {verdict.health}, {verdict.why}" for name, verdict in verdicts.items())
                raise SluiceError(
                    f"the stream has not closed every interval after {deadline_seconds:.0f} s. {states}",
                    fix=f"see `sluice streams logs {UNIT}`.",
                )
            self._clock.sleep(_POLL_SECONDS)

    def _all_closed(self, ledger: Ledger) -> bool:
        """Whether the last interval of the feed is closed: the heartbeat is the smallest time that closes it."""
        sending = self.results.sending
        latest = sending.manifest.latest_event if sending else None
        delay = self._project.catalog.pipelines[PIPELINE].time.delay
        return ledger.closed_until is not None and (latest is None or ledger.closed_until >= latest - delay)

    def _backfill(self, airflow: AirflowApi, mode: Mode) -> dict[str, Any]:
        """Run the backfill over all closed intervals and return its result."""
        ledger = self.results.ledger
        if (first := ledger.first) is None:
            raise NotReadyError(f"{PIPELINE} has no closed interval.", fix="run `sluice status`.")
        conf = {
            "from": first.isoformat(),
            "to": (ledger.closed_until or first).isoformat(),
            "mode": mode.value,
            "reason": "make demo",
        }
        run_id = airflow.trigger(BACKFILL, conf)
        airflow.wait(BACKFILL, run_id, succeeded, 240)
        newest = self._project.records.backfills().recent(PIPELINE, limit=1)[0]
        self._reporter.note(f"backfill {newest.id}: {newest.outcome}. {newest.why}")
        result = self._project.folder.backfill(newest.id) / "result.json"
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return found

    def _check(self, airflow: AirflowApi) -> GateResult:
        """Wait for the run of the quality DAG that the publish triggers, and return its result.

        A second demo has nothing to correct and publishes nothing: then trigger the DAG.
        """
        if not self.results.parity[Mode.CORRECT]["published"]:
            airflow.trigger(QUALITY)
        deadline = self._clock.monotonic() + _QUALITY_SECONDS
        while not (runs := airflow.runs(QUALITY)):
            if self._clock.monotonic() > deadline:
                raise SluiceError(f"no run of {QUALITY} followed the publish within {_QUALITY_SECONDS} s.")
            self._clock.sleep(_POLL_SECONDS)
        airflow.wait(QUALITY, runs[-1], succeeded, _QUALITY_SECONDS)
        return GateResult.from_json(self._project.folder.quality(PIPELINE).read_bytes())

    def _report(self) -> dict[str, Any]:
        results, project = self.results, self._project
        if results.sending is None or results.census is None or results.verdict is None or results.quality is None:
            raise SluiceError("the demo has not run yet, so there is no report.")
        census, verdict = results.census, results.verdict
        produced = results.sending.manifest.records
        accounted = census.records == sum(census.outcomes.values())
        heartbeats = census.outcomes[Outcome.CONTROL]
        states = results.ledger.count(project.code_of(PIPELINE))
        correct = results.parity[Mode.CORRECT]
        return {
            "ok": (
                verdict.health in WELL
                and accounted
                and census.records == produced + heartbeats
                and states[State.DIRTY] == correct["unexplained"] == results.quality.expectations_failed == 0
            ),
            "seconds": results.seconds,
            "produced": produced,
            "raw": {"records": census.records, "undecodable": census.undecodable},
            "validation": {outcome.value: count for outcome, count in census.outcomes.items()},
            "stream": {
                "pipeline": PIPELINE,
                "verdict": verdict.health.value,
                "generation": results.generation,
                "batches": verdict.batches,
            },
            # Published intervals are closed ones that a backfill wrote.
            "intervals": {
                "closed": len(results.ledger.rows),
                "published": states[State.PUBLISHED],
                "dirty": states[State.DIRTY],
            },
            "parity": self._parity(),
            "quality": {
                "passed": results.quality.expectations_passed,
                "failed": results.quality.expectations_failed,
            },
            "tables": self._tables(),
        }

    def _parity(self) -> dict[str, Any]:
        verify, correct = self.results.parity[Mode.VERIFY], self.results.parity[Mode.CORRECT]
        return {
            "verify": verify["outcome"],
            "correct": correct["outcome"],
            "late_records": correct["late_records"],
            "unexplained": correct["unexplained"],
        }

    def _tables(self) -> dict[str, str]:
        catalog = self._project.catalog
        tables = {
            PIPELINE: catalog.pipelines[PIPELINE].intervals.table,
            LIVE: LIVE,
            "flights_raw": catalog.topics[FEED].raw.table,
        }
        return {name: str(_table(self._project, table)) for name, table in tables.items()}


def _table(project: Project, name: str) -> Path:
    return project.folder.table(name)
