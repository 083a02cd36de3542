"""Rounds by the clock: in the triggerer where it does them, in a worker where it does not."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any, cast

import pytest
from airflow.sdk import Context
from airflow.sdk._shared.module_loading import import_string
from airflow.serialization.serialized_objects import DagSerialization
from airflow.triggers.base import BaseTaskEndEvent, TriggerEvent
from airflow.utils.state import TaskInstanceState

from sluice.airflow.dags.reconciler import ReconcileTrigger, build_reconcile_dag
from sluice.airflow.rounds import AskedOfAirflow, Found, Round, RoundOperator, RoundTrigger, in_daemon
from sluice.errors import UnreachableError

RUN = {"trigger_dag_id": "stream_flights"}
THREADS: list[int] = []


def finds_one(_: AskedOfAirflow) -> Found:
    THREADS.append(threading.get_ident())
    return [RUN]


def finds_nothing(_: AskedOfAirflow) -> Found:
    return []


def cannot_check(_: AskedOfAirflow) -> Found:
    raise UnreachableError("database is locked")


class Does(RoundTrigger):
    def __init__(self, work: Round = finds_one) -> None:
        super().__init__()
        self.work = work

    def round(self, ti: AskedOfAirflow) -> Found:
        return self.work(ti)


async def first_event(trigger: RoundTrigger) -> TriggerEvent:
    async for event in trigger.run():
        return event
    raise AssertionError("it said nothing")


def test_what_the_triggerer_finds_is_taken_over_by_a_worker() -> None:
    THREADS.clear()
    event = asyncio.run(first_event(Does()))
    assert not isinstance(event, BaseTaskEndEvent)
    assert resumed(operator(finds_nothing), "take_over", {"event": event.payload}) == [RUN]
    assert threading.get_ident() not in THREADS  # the loop, and all watches with it, goes on meanwhile


def test_without_anything_to_do_the_task_is_skipped_and_no_worker_is_started() -> None:
    event = asyncio.run(first_event(Does(finds_nothing)))
    assert isinstance(event, BaseTaskEndEvent)
    assert event.task_instance_state == TaskInstanceState.SKIPPED


def test_a_round_that_raises_in_the_triggerer_is_done_by_the_worker() -> None:
    with pytest.raises(UnreachableError):
        asyncio.run(first_event(Does(cannot_check)))
    assert resumed(operator(finds_one), "__fail__", {"error": "Trigger failure", "traceback": ["boom"]}) == [RUN]


def test_a_round_that_the_triggerer_does_not_do_in_time_is_done_by_the_worker(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert resumed(operator(finds_one), "__fail__", {"error": "Trigger timeout"}) == [RUN]


def test_a_round_that_fails_in_the_worker_too_fails_its_task() -> None:
    with pytest.raises(UnreachableError):
        resumed(operator(cannot_check), "__fail__", None)


def operator(in_worker: Any) -> RoundOperator:  # noqa: ANN401 - a round
    return RoundOperator(task_id="decide", in_triggerer=Does, in_worker=in_worker)


def resumed(task: RoundOperator, method: str, arguments: dict[str, Any] | None) -> Found:
    return cast(Found, task.resume_execution(method, arguments, cast(Context, {"ti": None})))


async def test_who_waits_no_longer_is_not_told() -> None:
    go_on, done = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(10)
        done.set()

    waiting = asyncio.create_task(in_daemon(work))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    go_on.set()
    assert await asyncio.to_thread(done.wait, 10)


def test_the_reconciler_begins_in_the_triggerer_as_the_scheduler_reads_it() -> None:
    dag = DagSerialization.from_dict(DagSerialization.to_dict(build_reconcile_dag()))
    decide = dag.get_task("decide")
    assert decide.start_from_trigger is True
    arguments = decide.start_trigger_args
    assert arguments is not None
    assert arguments.trigger_kwargs is None
    trigger = import_string(arguments.trigger_cls)()
    assert isinstance(trigger, ReconcileTrigger)
    assert trigger.serialize() == (arguments.trigger_cls, {})
