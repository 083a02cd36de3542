"""An observer that answers from a table, and what starts and ends watches in a test's event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sluice.airflow.streams.watcher import Hint, Watch, Watcher
from sluice.errors import UnreachableError
from sluice.streams.health.pacing import PollRate
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.status import UnitStatus
from tests.twins.clock import START

TOMORROW = START + timedelta(days=1)


DEADLINE_SECONDS = 120.0


EAGER = PollRate(0.0, share=1.0, most=0.0)


def alive(unit: str) -> UnitStatus:
    key = f"local.{unit}.g1"
    return UnitStatus(
        unit,
        DesiredState(unit, Desired.RUNNING, "ada", "launch", START),
        Attempt(unit, 1, key, AttemptState.BOUND, START, bound_at=START),
        DriverReport(key, DriverState.RUNNING, pid=7),
    )


def dead(unit: str) -> UnitStatus:
    status = alive(unit)
    assert status.attempt is not None
    long_ago = START - timedelta(hours=1)
    ended = replace(status.attempt, state=AttemptState.ENDED, ended_at=long_ago, reason="was killed by signal 9")
    return replace(status, attempt=ended, report=None)


@dataclass
class ScriptedObserver:
    """Answers from a table. Knows how often, by how many threads, and how many at once it was asked."""

    statuses: dict[str, UnitStatus] = field(default_factory=dict)
    unreachable: set[str] = field(default_factory=set)
    broken_verdicts: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    observations: list[str] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    database_down: bool = False
    answer: threading.Event = field(default_factory=threading.Event)
    threads: set[int] = field(default_factory=set)

    def observe(self, units: Sequence[str]) -> dict[str, UnitStatus]:
        self.threads.add(threading.get_ident())
        self.observations += units
        self.parts.append(len(units))
        if self.database_down:
            raise UnreachableError("the control database does not answer.")
        return {unit: self.statuses.get(unit, alive(unit)) for unit in units if unit not in self.unreachable}

    def record_verdicts(self, seen: Mapping[str, UnitStatus]) -> None:
        if self.silent & set(seen):
            self.answer.wait(DEADLINE_SECONDS)
        if self.broken_verdicts & set(seen):
            raise UnreachableError("the control database does not answer.")
        self.recorded += seen


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - it observes a fake that knows no event
        await asyncio.sleep(0)


def rounds() -> int:
    return sum(task.get_name().startswith("sluice") for task in asyncio.all_tasks())


def all_rounds_are_over() -> bool:
    return rounds() == 0


def start(watcher: Watcher, unit: str, until_: datetime = TOMORROW) -> asyncio.Task[Hint]:
    return asyncio.create_task(watcher.wait(Watch(unit, 1, until_)))


async def cancel(*tasks: asyncio.Task[Hint]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
