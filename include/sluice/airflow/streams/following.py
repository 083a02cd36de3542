"""What comes after a watch that saw its driver die: the next attempt, as soon as the governor lets it start.

The reconciler would do the same at its next minute. This only saves the minute: a task that never runs, is cleared or
runs twice changes nothing, because the run that it asks for reads the truth itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from sluice.airflow import runtime
from sluice.airflow.streams.stream_request import UnitCommand
from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.streams.life.attempts import Desired
from sluice.streams.life.governor import Go, Halt, Hold, Rest
from sluice.streams.life.status import UnitStatus


@dataclass(frozen=True)
class NextRun:
    """The run that follows an attempt: named by its key, so that there is one at most; not before a time (UTC)."""

    key: str
    not_before: datetime | None
    why: str


def following(status: UnitStatus, now: datetime) -> NextRun | str:
    """Return the run to ask for, or why none is needed."""
    attempt, desired = status.attempt, status.desired
    if attempt is None or desired is None or desired.state is Desired.STOPPED:
        return "it is not wanted to run"
    if attempt.ended_at is None:
        return f"generation {attempt.generation} is not on record as ended"
    match status.outlook(now):
        case Halt() | Rest() as why_not:
            return str(why_not)
        case Hold(until, why):
            return NextRun(attempt.key, until, why)
        case Go(why):
            return NextRun(attempt.key, None, why)


class FollowOperator(TriggerDagRunOperator):  # type: ignore[misc]  # the provider is untyped
    """Asks for the run that starts the next generation; skipped where a watch ended for another reason."""

    template_fields = ("trigger_dag_id",)
    """Nothing of it is a template; the link to the triggered run reads this one."""

    def __init__(self, *, unit: str, broken: bool = False, clock: Clock | None = None, **arguments: Any) -> None:  # noqa: ANN401
        super().__init__(trigger_dag_id=stream_dag_id(unit), skip_when_already_exists=True, **arguments)
        self.unit = unit
        self._broken = broken
        self._clock = clock or SystemClock()

    def execute(self, context: Context) -> None:
        """Ask for the run, or skip."""
        next_run = "its specs are broken" if self._broken else self._following()
        if isinstance(next_run, str):
            raise AirflowSkipException(f"No run follows: {next_run}.")
        self.trigger_run_id = f"follow__{next_run.key}"
        self.conf = {"action": UnitCommand.FOLLOW.value, "reason": f"follows {next_run.key}: {next_run.why}"[:500]}
        if next_run.not_before is not None:
            self.run_after = next_run.not_before
        super().execute(context)

    def _following(self) -> NextRun | str:
        try:
            return following(runtime.open_project().streams.life(self.unit).observe(), self._clock.now())
        except SluiceError as error:
            return f"could not check, so the reconciler will: {error}"
