"""The watch: a deferred task that ends when there is something to say about a driver."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NoReturn

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from sluice.airflow import runtime
from sluice.airflow.links import DriverLogLink, SparkUiLink
from sluice.airflow.streams.trigger import StreamTrigger
from sluice.airflow.streams.watcher import Hint
from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.failpoints import failpoint
from sluice.streams.life.watch import WatchFinding, WatchState, examine

DAY = timedelta(days=1)


class WatchOperator(BaseOperator):
    """Watches the generation that the task `submit` of the same run has claimed. The unit's spec is not needed.

    Green when the stop is on record and the driver has ended, when a newer generation or a younger watch took over, and
    after `limit`: the reconciler then attaches a fresh one, so that no run is older than a day. Red, without retries,
    when the driver is proven dead and its stop was not requested. Everything else is watched on: unknown is not dead.
    """

    template_fields = ("unit",)
    operator_extra_links = (SparkUiLink(), DriverLogLink())

    def __init__(
        self,
        *,
        unit: str,
        limit: timedelta = DAY,
        clock: Clock | None = None,
        **arguments: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**arguments)
        self.unit = unit
        self._limit = limit
        self._clock = clock or SystemClock()

    def execute(self, context: Context) -> None:
        """Defer at once: the watcher observes first, so that an unreachable database cannot fail a watch."""
        generation = int(context["ti"].xcom_pull(task_ids="submit")["generation"])
        failpoint("after_bind_before_defer", self.unit)
        self._watch(generation, self._clock.now() + self._limit)

    def resume(self, context: Context, event: dict[str, Any]) -> str:
        """Read the truth, and end or watch on.

        Raises:
            AirflowFailException: the driver is proven dead and its stop was not requested.
        """
        _ = context
        generation, until = int(event["generation"]), datetime.fromisoformat(event["until"])
        finding = self._observe(generation)
        self.log.info("%s", finding.why)
        if finding.over:
            self._log_timeline()
        if finding.state is WatchState.DIED:
            death = SluiceError(finding.why, fix=finding.what_to_do)  # the alert says both, each in its place
            raise AirflowFailException(f"{finding.why} {finding.what_to_do}") from death
        if finding.over:
            return finding.why
        if event["hint"] == Hint.HANDED_OVER:
            return f"A younger run watches generation {generation} of {self.unit} on."
        if self._clock.now() >= until:
            end = f"{until:%Y-%m-%d %H:%M} UTC"
            return f"Watched generation {generation} of {self.unit} until {end}; the reconciler attaches a new watch."
        return self._watch(generation, until)

    def _observe(self, generation: int) -> WatchFinding:
        try:
            status = runtime.open_project().streams.life(self.unit).record_end()
        except Exception as error:  # noqa: BLE001 - whatever prevented the check, it says nothing about the driver
            return WatchFinding(WatchState.WATCHING, f"Could not check unit {self.unit}: {error}")
        return examine(status, generation, now=self._clock.now())

    def _log_timeline(self) -> None:
        """End the task's log with what was tried, and what comes next."""
        try:
            lines = list(runtime.open_project().streams.timeline(self.unit).lines())
        except Exception as error:  # noqa: BLE001 - a watch must not fail for its log
            lines = [f"The attempts could not be listed: {error}"]
        for line in lines:
            self.log.info("%s", line)

    def _watch(self, generation: int, until: datetime) -> NoReturn:
        self.defer(
            trigger=StreamTrigger(self.unit, generation, until.isoformat()),
            method_name="resume",
        )
