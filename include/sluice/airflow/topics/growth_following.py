"""The end of a growth: the running streams read the new partitions from their start, and come nearer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from sluice.airflow import runtime
from sluice.airflow.rounds import FAILED, PATIENCE, in_daemon
from sluice.clock import SystemClock
from sluice.errors import SluiceError
from sluice.provisioning.growth.adoption import FIX, Followed, Growth, GrowthAdoption

FOLLOW_MINUTES = 30
POLL = timedelta(seconds=15)


class GrowthOperator(BaseOperator):
    """Waits, deferred, until every running stream of a topic that grew has taken that.

    Skipped if nothing has grown. Red when the time is over.
    """

    def execute(self, context: Context) -> None:
        """Check, and wait on if a stream has not taken it. It does not return then.

        Raises:
            AirflowSkipException: nothing has grown.
            AirflowFailException: it takes too long; says of each stream what was seen.
        """
        grown: Mapping[str, Any] = context["ti"].xcom_pull(task_ids="apply", key="grown")
        growths = [Growth.of(each) for each in grown["growths"]]
        if not growths:
            raise AirflowSkipException("No topic has grown.")
        waiting = _waiting_streams(growths, self.log)
        if waiting == []:
            return
        until = datetime.fromisoformat(grown["at"]) + timedelta(minutes=float(context["params"]["follow_minutes"]))
        left = until - SystemClock().now()
        if left <= timedelta():
            unknown = "how their streams take it could not be observed"
            what = unknown if waiting is None else "; ".join(map(str, waiting))
            raise AirflowFailException(f"The topics have grown, and {what}. Fix: {FIX}")
        trigger = GrowthTrigger(grown["growths"], until.isoformat(), POLL.total_seconds())
        self.defer(trigger=trigger, method_name="resume", timeout=left + PATIENCE)

    def resume(self, context: Context, event: dict[str, Any]) -> None:
        """Check again: an event is only a hint."""
        _ = event
        self.execute(context)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:  # noqa: ANN401 - BaseOperator's
        """Check also if the triggerer has failed, or was not heard of in time."""
        if next_method != FAILED:
            return super().resume_execution(next_method, next_kwargs, context)
        self.log.warning("The triggerer has not seen it to its end: %s", (next_kwargs or {}).get("error"))
        return self.execute(context)


class GrowthTrigger(BaseTrigger):
    """Waits until no stream is waited for any more, or the time is over. It changes nothing.

    Args:
        growths: each as `Growth.as_dict` gives it.
        until: ISO 8601, UTC.
        poll_seconds: between two checks.
    """

    def __init__(self, growths: Sequence[Mapping[str, Any]], until: str, poll_seconds: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers are untyped
        self.growths = list(growths)
        self.until = until
        self.poll_seconds = poll_seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what another triggerer needs to go on with it."""
        arguments = {"growths": self.growths, "until": self.until, "poll_seconds": self.poll_seconds}
        return "sluice.airflow.topics.growth_following.GrowthTrigger", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one hint; the task checks itself."""
        growths, until = [Growth.of(each) for each in self.growths], datetime.fromisoformat(self.until)
        while SystemClock().now() < until:
            if await in_daemon(lambda: _waiting_streams(growths, self.log)) == []:
                break
            await asyncio.sleep(self.poll_seconds)
        yield TriggerEvent({"until": self.until})  # type: ignore[no-untyped-call]  # the same


def _waiting_streams(growths: Sequence[Growth], log: Any) -> list[Followed] | None:  # noqa: ANN401 - Airflow's
    """Return the streams that have not taken a growth yet, and log what was seen; None if that could not be."""
    try:
        adoptions = runtime.open_project().topics.adoption(growths)
    except SluiceError as error:
        log.warning("Could not check: %s", error)
        return None
    for each in adoptions:
        log.info("%s.", each)
    return [each for each in adoptions if each.state is GrowthAdoption.WAITS]
