"""The trigger behind a deferred watch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from sluice.airflow.streams.observer import ProjectObserver
from sluice.airflow.streams.watcher import Watch, Watcher
from sluice.failpoints import failpoint


class StreamTrigger(BaseTrigger):
    """Waits until there is something to see of a unit's generation. It holds ids only, and acts on nothing."""

    def __init__(self, unit: str, generation: int, until: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers are untyped
        self.unit = unit
        self.generation = generation
        self.until = until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what another triggerer needs to go on with this watch."""
        return "sluice.airflow.streams.trigger.StreamTrigger", self._arguments()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one hint, with what it is about; the task reads the truth itself."""
        watcher = Watcher.of_running_loop(lambda: Watcher(ProjectObserver()))
        hint = await watcher.wait(Watch(self.unit, self.generation, datetime.fromisoformat(self.until)))
        failpoint("after_poll_before_event", self.unit)
        yield TriggerEvent({**self._arguments(), "hint": hint.value})  # type: ignore[no-untyped-call]  # the same

    def _arguments(self) -> dict[str, Any]:
        return {"unit": self.unit, "generation": self.generation, "until": self.until}

    async def on_kill(self) -> None:
        """Stop nothing. Only a stop on record ends a driver.

        Airflow promises that this fires only when a person acts on the task, but it also fires when a trigger moves to
        another triggerer (apache/airflow#73454): a stop of the driver here would be for a slow triggerer.
        """
