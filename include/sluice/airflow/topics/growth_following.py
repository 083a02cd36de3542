"""The end of a growth: the running streams read the new partitions from their start, and come nearer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import BaseSensorOperator, Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from sluice.airflow import runtime
from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.provisioning.growth.adoption import FIX, Growth, GrowthAdoption

FOLLOW_MINUTES = 30
POLL = timedelta(seconds=15)


class GrowthSensor(BaseSensorOperator):
    """Waits, without a worker between its checks, until every running stream of a topic that grew has taken that.

    Skipped if nothing has grown. Red when the time is over.
    """

    def __init__(self, *, clock: Clock | None = None, **arguments: Any) -> None:  # noqa: ANN401 - BaseSensorOperator's
        super().__init__(**{"mode": "reschedule", "poke_interval": POLL, "timeout": timedelta(days=2), **arguments})
        self._clock = clock or SystemClock()

    def poke(self, context: Context) -> bool:
        """Check once; whether there is nothing left to wait for.

        Raises:
            AirflowSkipException: nothing has grown.
            AirflowFailException: it takes too long; says of each stream what was seen.
        """
        grown: Mapping[str, Any] = context["ti"].xcom_pull(task_ids="apply", key="grown")
        growths = [Growth.of(each) for each in grown["growths"]]
        if not growths:
            raise AirflowSkipException("No topic has grown.")
        try:
            adoptions = runtime.open_project().topics.adoption(growths)
        except SluiceError as error:
            self.log.warning("Could not check: %s", error)
            adoptions = None
        for each in adoptions or ():
            self.log.info("%s.", each)
        waiting = None if adoptions is None else [each for each in adoptions if each.state is GrowthAdoption.WAITS]
        if waiting == []:
            return True
        until = datetime.fromisoformat(grown["at"]) + timedelta(minutes=float(context["params"]["follow_minutes"]))
        if self._clock.now() >= until:
            unknown = "how their streams take it could not be observed"
            what = unknown if waiting is None else "; ".join(map(str, waiting))
            raise AirflowFailException(f"The topics have grown, and {what}. Fix: {FIX}")
        return False
