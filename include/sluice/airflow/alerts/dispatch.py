"""The dispatcher of Airflow's processes: alerts go through Airflow's connections, without the secrets that it masks."""

from __future__ import annotations

from functools import partial

from airflow.sdk.log import redact  # type: ignore[attr-defined]  # it is there, only not in an `__all__`

from sluice.airflow.alerts.delivery import Find, deliver
from sluice.alerts.dispatch import AlertDispatcher
from sluice.clock import Clock, SystemClock


def airflow_dispatcher(clock: Clock | None = None, find: Find | None = None) -> AlertDispatcher:
    """Return a dispatcher with the policy and journal of this deployment."""
    return AlertDispatcher(
        clock or SystemClock(), deliver=partial(deliver, find=find), mask=lambda text: str(redact(text))
    )
