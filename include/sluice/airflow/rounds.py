"""Tasks that run by the clock and mostly find nothing to do: they begin in the triggerer, which is there anyway.

In a worker such a task is a process of its own, which costs two CPU seconds to find nothing. In the triggerer it is a
thread. It ends the task as skipped where nothing is to be done; otherwise a worker takes over what was found. A round
that the triggerer does not do (it is gone, or slow, or the round raises there) is done by the worker from its
beginning: so nothing depends on the triggerer, and what fails, fails as a task does, with its alert.

Two rounds may overlap then, which must do no harm.
"""

from __future__ import annotations

import asyncio
import threading
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from contextvars import copy_context
from datetime import timedelta
from typing import Any, Protocol, TypeVar, cast

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import BaseOperator, Context
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.triggers.base import BaseTrigger, StartTriggerArgs, TaskSkippedEvent, TriggerEvent

T = TypeVar("T")

PATIENCE = timedelta(seconds=60)
"""The triggerer has so long for a round. It may just be restarted, which takes a quarter of a minute."""
FAILED = "__fail__"
"""Airflow's name of the method by which a task goes on whose trigger has failed, or was not heard of in time."""


class AskedOfAirflow(Protocol):
    """What a round may ask of runs; a task instance of the SDK, in a worker as in the triggerer."""

    def get_dr_count(self, dag_id: str, *, run_ids: list[str] | None = None, states: list[str] | None = None) -> int:
        """Return how many runs of a DAG there are."""
        ...

    def get_dagrun_state(self, dag_id: str, run_id: str) -> str:
        """Return a run's state."""
        ...


Found = list[dict[str, Any]]
Round = Callable[[AskedOfAirflow], Found]
"""Returns the arguments of one run to trigger per thing to do."""


class RoundOperator(BaseOperator):
    """Does a round, in the triggerer if possible; in a worker by `in_worker`, or omitted by the same trigger."""

    start_from_trigger = True

    def __init__(
        self,
        *,
        in_triggerer: type[RoundTrigger],
        in_worker: Round | None = None,
        **arguments: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**arguments)
        self._in_worker = in_worker or (lambda ti: in_triggerer().round(ti))
        self.start_trigger_args = StartTriggerArgs(
            trigger_cls=_path(in_triggerer), next_method="take_over", timeout=PATIENCE
        )

    def execute(self, context: Context) -> Found:
        """Do the round here."""
        return self._in_worker(cast(AskedOfAirflow, context["ti"]))

    def take_over(self, context: Context, event: dict[str, Any]) -> Found:
        """Return what the triggerer has found."""
        _ = context
        return list(event["found"])

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:  # noqa: ANN401 - BaseOperator's
        """Take over what was found, or do the round here if the triggerer has not done it."""
        if next_method != FAILED:
            return super().resume_execution(next_method, next_kwargs, context)
        failure = next_kwargs or {}
        why = "\n".join([str(failure.get("error", "no reason given")), *map(str, failure.get("traceback") or ())])
        self.log.warning("The triggerer has not done this round, so it is done here: %s", why)
        return self.execute(context)


def trigger_decided(decided: RoundOperator, *, doc: str) -> None:
    """Trigger the runs that a round has decided on. What fails is not tried again: the next round decides again."""
    TriggerDagRunOperator.partial(
        task_id="trigger",
        map_index_template="{{ task.trigger_dag_id }}",
        retries=0,
        skip_when_already_exists=True,  # the id of a run stands for its reason: there is one at most
        doc_md=doc,
    ).expand_kwargs(decided.output)


class RoundTrigger(BaseTrigger):
    """Does a round in the triggerer, in a thread of its own, and says what it has found. It has no arguments."""

    @abstractmethod
    def round(self, ti: AskedOfAirflow) -> Found:
        """Do it."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what another triggerer needs to do it."""
        return _path(type(self)), {}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield what was found; without anything, the task is skipped and no worker hears of it."""
        result = await in_daemon(lambda: self.round(cast(AskedOfAirflow, RuntimeTaskInstance)))
        if result:
            yield TriggerEvent({"found": result})  # type: ignore[no-untyped-call]  # Airflow's triggers are untyped
        else:
            yield TaskSkippedEvent()


def _path(trigger: type[RoundTrigger]) -> str:
    return f"{trigger.__module__}.{trigger.__qualname__}"


async def in_daemon(work: Callable[[], T]) -> T:
    """Return what comes of work in a thread that keeps no process alive: what it talks to may never answer.

    What it logs belongs to the trigger that waits. Cancelling that does not end the thread.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(settle_: Callable[[Any], None], result: object) -> None:
        if not future.done():
            settle_(result)

    def run() -> None:
        try:
            done, result = future.set_result, cast(object, work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            done, result = cast(Any, future.set_exception), error
        with suppress(RuntimeError):  # the loop was closed meanwhile, and nothing waits
            loop.call_soon_threadsafe(settle, done, result)

    threading.Thread(target=copy_context().run, args=(run,), name="sluice-round", daemon=True).start()
    return await future
