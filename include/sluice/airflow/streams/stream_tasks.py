"""The first tasks of the DAGs `stream_<unit>`: claim a generation, and submit its driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from sluice.airflow import runtime
from sluice.airflow.batches.spark_connection import at_connection
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.project_operator import DecidingOperator, ProjectOperator
from sluice.airflow.streams import stream_request
from sluice.airflow.streams.stream_request import UnitCommand, UnitRequest
from sluice.errors import RefusedError

_BY_SCHEDULE = "scheduled"
"""What Airflow calls a run that a DAG's schedule has made."""


class ClaimOperator(DecidingOperator):
    """Records the desired state, then adopts the live driver or reserves the next generation; or stops the driver.

    With faults of the unit's specs no driver is started.
    """

    def __init__(self, *, faults: Sequence[str] = (), **arguments: Any) -> None:  # noqa: ANN401 - ProjectOperator's
        super().__init__(**arguments)
        self._faults = tuple(faults)

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Return the generation to submit and watch; without one (after a stop) the rest of the run is skipped.

        Raises:
            AirflowFailException: a person must act first.
        """
        request = request_of(self.subject, context["params"], context["dag_run"], self._faults)
        with retried_only_if_unknown():
            project = at_connection(runtime.open_project())
            claimed = stream_request.claim(request, project.streams.life(self.subject), project.records.registry())
        self.log.info("%s %s: %s", request.asked, self.subject, claimed.why)
        if claimed.generation is None:
            self.skip_rest(context)
            return None
        return {"generation": claimed.generation, "why": claimed.why}


class SubmitOperator(ProjectOperator):
    """Starts the driver of the claimed generation, or finds it running."""

    def execute(self, context: Context) -> dict[str, Any]:
        """Return the generation and its submission key.

        Raises:
            AirflowSkipException: another run was quicker; it says how it went on.
        """
        claimed = context["ti"].xcom_pull(task_ids="claim")
        with retried_only_if_unknown():
            try:
                life = at_connection(runtime.open_project()).streams.life(self.subject)
                attempt = stream_request.submit(self.subject, claimed["generation"], life)
            except RefusedError as refusal:
                raise AirflowSkipException(str(refusal)) from refusal
        self.log.info(
            "Generation %s of %s is %s under %s.", attempt.generation, self.subject, attempt.state, attempt.key
        )
        return {"generation": attempt.generation, "key": attempt.key}


def request_of(unit: str, params: Mapping[str, Any], dag_run: Any, faults: Sequence[str]) -> UnitRequest:  # noqa: ANN401 - the SDK's run
    """Read the form of a run, and who filled it in."""
    who, asked, why = dag_run.triggering_user_name or "an unknown user", UnitCommand(params["action"]), params["reason"]
    if dag_run.run_type == _BY_SCHEDULE:  # nobody has filled in its form
        who, asked, why = "its schedule", UnitCommand.SCHEDULED, "its schedule is due"
    return UnitRequest(
        unit=unit,
        asked=asked,
        by=f"{who} (Airflow run {dag_run.run_id})",
        why=why,
        deadline_seconds=float(params["deadline_seconds"]),
        faults=faults,
    )
