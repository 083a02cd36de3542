"""The steps that every demo consists of, each idempotent: a running stack and drivers are adopted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sluice.cli.stack.up import print_component
from sluice.cli.terminal.output import err, err_lines
from sluice.clock import Clock
from sluice.devstack.airflow.api import AirflowApi, succeeded, watching
from sluice.devstack.stack import up
from sluice.errors import NotReadyError, SluiceError
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project
from sluice.streams.health.health import WELL, Health
from sluice.streams.health.verdict import Verdict

_REASON = "make demo"
_BACKFILL_SECONDS = 600.0  # on a machine with other work; it takes half a minute on one without
_POLL_SECONDS = 0.5


class StackSteps:
    """Runs steps in a project with the embedded deployment, and says on stderr which and how long each took."""

    def __init__(self, project: Project, clock: Clock) -> None:
        self._project = project
        self._clock = clock
        self._airflow: AirflowApi | None = None
        self.seconds: dict[str, float] = {}

    @property
    def airflow(self) -> AirflowApi:
        """The API of the stack that was started."""
        if self._airflow is None:
            raise RuntimeError("the stack is not started")
        return self._airflow

    @contextmanager
    def step(self, name: str, title: str) -> Iterator[None]:
        """Announce a step, and measure it."""
        err.print(f"[bold]==> {title}[/bold]", soft_wrap=True)
        began = self._clock.monotonic()
        yield
        self.seconds[name] = round(self._clock.monotonic() - began, 1)
        err_lines.print(f"    {self.seconds[name]:.1f} s")

    def start_stack(self) -> None:
        """Start Kafka and Airflow."""
        place = self._project.settings
        self._airflow = AirflowApi(up(place, print_component).airflow_url, self._clock, place=place)

    def create_topics(self) -> None:
        """Create the declared topics by their DAG."""
        self.airflow.wait("topics", self.airflow.trigger("topics"), succeeded, 120)

    def start_unit(self, unit: str) -> int:
        """Start a unit by its DAG, wait until all its streams read, and return the driver's generation."""
        run_id = self.airflow.trigger(f"stream_{unit}", {"action": "start", "reason": _REASON})
        self.airflow.wait(f"stream_{unit}", run_id, watching, 120)
        return self._wait_for_driver(unit)

    def _wait_for_driver(self, unit: str, deadline_seconds: float = 120) -> int:
        """Wait until the driver reads, so that it reads a feed as a stream."""
        attempt = self._project.records.registry().latest_attempt(unit)
        if attempt is None:
            raise SluiceError(f"the run of stream_{unit} ended without an attempt on record.")
        deadline = self._clock.monotonic() + deadline_seconds
        for pipeline in self._project.catalog.unit(unit).pipelines:
            while self._project.streams.checkpoint(pipeline).lineage() is None:
                verdict = self._project.health.verdicts(unit)[pipeline]
                if verdict.health is Health.STOPPED or self._clock.monotonic() > deadline:
                    raise SluiceError(
                        f"the stream {pipeline} did not start: {verdict.why}", fix=f"see `sluice streams logs {unit}`."
                    )
                self._clock.sleep(_POLL_SECONDS)
        return attempt.generation

    def settled(self, unit: str, pipeline: str, until: datetime | None, deadline_seconds: float = 180) -> Ledger:
        """Wait until all is read and a pipeline's intervals are settled until a time (UTC); return its ledger."""
        deadline = self._clock.monotonic() + deadline_seconds
        while True:
            verdicts = self._project.health.verdicts(unit)
            ledger = self._project.tables.ledger(pipeline)
            closed = ledger.closed_until is not None and (until is None or ledger.closed_until >= until)
            if closed and all(v.health in WELL and v.lag_records == 0 for v in verdicts.values()):
                return ledger
            if self._clock.monotonic() > deadline:
                raise _not_settled(unit, verdicts, deadline_seconds)
            self._clock.sleep(_POLL_SECONDS)

    def backfill(self, pipeline: str, ledger: Ledger, mode: Mode) -> dict[str, Any]:
        """Run a backfill over all closed intervals by its DAG, and return its result."""
        if (first := ledger.first) is None:
            raise NotReadyError(f"{pipeline} has no closed interval.", fix="run `sluice status`.")
        dag = f"backfill_{pipeline}"
        bounds = {"from": first.isoformat(), "to": (ledger.closed_until or first).isoformat()}
        run_id = self.airflow.trigger(dag, {**bounds, "mode": mode.value, "reason": _REASON})
        self.airflow.wait(dag, run_id, succeeded, _BACKFILL_SECONDS)
        newest = self._project.records.backfills().recent(pipeline, limit=1)[0]
        err_lines.print(f"    backfill {newest.id}: {newest.outcome}. {newest.why}".rstrip())
        result: dict[str, Any] = json.loads((self._project.folder.backfill(newest.id) / "result.json").read_bytes())
        return result


def _not_settled(unit: str, verdicts: Mapping[str, Verdict], deadline_seconds: float) -> SluiceError:
    states = "; ".join(f"{name}: {verdict.health}, {verdict.why}" for name, verdict in verdicts.items())
    return SluiceError(
        f"the stream has not closed every interval after {deadline_seconds:.0f} s. {states}",
        fix=f"see `sluice streams logs {unit}`.",
    )
