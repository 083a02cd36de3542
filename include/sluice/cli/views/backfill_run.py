"""A backfill that the command line runs: planned, started as a process, and followed to its end."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from sluice.cli.terminal.output import counted, err, err_lines
from sluice.cli.terminal.user import requester
from sluice.clock import Clock, SystemClock
from sluice.devstack.supervision import last_lines
from sluice.errors import NotReadyError, RefusedError, SluiceError
from sluice.intervals.alignment import Interval, contiguous
from sluice.intervals.backfill.backfills import Backfill, Backfills, BackfillState
from sluice.intervals.backfill.progress import progress_in_words
from sluice.intervals.backfill.request import Request
from sluice.intervals.backfill.selection import Selection, select
from sluice.launch.backfill_lock import BackfillLock
from sluice.launch.batch_process import BatchProcess, end_now
from sluice.project.chains import Downstream, downstream_of
from sluice.project.project import Project
from sluice.specs.model.model import PipelineSpec
from sluice.streams.life.launcher import Job

_SECONDS_BETWEEN_LINES = 60.0
_LOG_LINES = 15


class ProgressLine:
    """One line on stderr: rewritten on a terminal, else printed on each change and once a minute.

    The first Ctrl-C makes the backfill stop after its chunk, the second kills it.
    """

    def __init__(
        self,
        process: BatchProcess,
        backfills: Backfills,
        lock: Callable[[str], BackfillLock],
        clock: Clock,
    ) -> None:
        self._process = process
        self._backfills = backfills
        self._lock = lock
        self._clock = clock
        self._printed = ""
        self._printed_at = -math.inf
        self._stop_requested = False
        self._status = Status("starting Spark", console=err)

    def __enter__(self) -> Self:
        """Start the line, if stderr is a terminal."""
        if err.is_terminal:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop updating the line."""
        self._status.stop()

    def progressed(self, backfill: Backfill) -> None:
        """Show the progress of the backfill; the follower calls it with each change."""
        stopping = ", stopping after this chunk" if backfill.cancel_requested_by else ""
        now = self._clock.monotonic()
        starved = self._process.starvation(claimed=backfill.state is BackfillState.RUNNING)
        progress = progress_in_words(backfill, self._clock.now())
        words = f"{backfill.id}: {progress}{stopping}{f'; {starved}' if starved else ''}"
        self._status.update(escape(words))
        state = f"{backfill.state} {backfill.done} {backfill.total}{stopping}"
        if not err.is_terminal and (state != self._printed or now - self._printed_at >= _SECONDS_BETWEEN_LINES):
            err.print(words, markup=False, soft_wrap=True)
            self._printed_at = now
        self._printed = state
        if backfill.state is BackfillState.CANCELLED and not self._lock(backfill.id).held():
            self._process.end()  # it was cancelled before it claimed its range

    def interrupted(self, backfill: Backfill | None) -> None:
        """Request a stop; the second time, kill the process."""
        try:
            if backfill is None or not self._lock(backfill.id).held():  # it has not claimed its range
                if backfill is not None and backfill.state is BackfillState.SUBMITTED:
                    self._backfills.ask_cancel(backfill.id, requester())
                self._process.end()
            elif self._stop_requested:
                end_now(self._backfills, self._lock(backfill.id), backfill.id, requester())
            else:
                self._backfills.ask_cancel(backfill.id, requester())
                err.print("It stops after the current chunk. Press Ctrl-C again to kill it.", markup=False)
        except SluiceError as error:  # it continues, and so does this line
            err.print(f"sluice: {error}", style="red", markup=False, soft_wrap=True)
        self._stop_requested = True


@dataclass(frozen=True)
class BackfillPlan:
    """A selection, cut into chunks of one commit each.

    Attributes:
        selection: the request, with the intervals that are processed and skipped.
        chunks: ranges that are processed one after the other.
        in_the_way: why a run would be refused now; empty if it would not.
        downstream: settled intervals of other pipelines that are made of the rows of the range.
    """

    selection: Selection
    chunks: tuple[Interval, ...]
    in_the_way: str = ""
    downstream: tuple[Downstream, ...] = ()

    @classmethod
    def of(cls, selection: Selection, longest: timedelta, in_the_way: str = "") -> BackfillPlan:
        """Cut a selection into chunks that span no more than `longest`."""
        chunks = (Interval(rows[0].interval.start, rows[-1].interval.end) for rows in selection.chunks(longest))
        return cls(selection, tuple(chunks), in_the_way)

    @property
    def skipped(self) -> dict[str, list[Interval]]:
        """The skipped ranges, by reason."""
        by_reason: dict[str, list[Interval]] = {}
        for interval, why in self.selection.left.items():
            by_reason.setdefault(why, []).append(interval)
        return {why: contiguous(intervals) for why, intervals in by_reason.items()}

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        request = self.selection.request
        return {
            "pipeline": request.pipeline,
            "mode": request.mode,
            "only": request.only,
            **_bounds(request.range),
            "intervals": len(self.selection.taken),
            "taken": [_bounds(interval) for interval in self.selection.ranges],
            "chunks": [_bounds(interval) for interval in self.chunks],
            "left": [{**_bounds(interval), "why": why} for why, ranges in self.skipped.items() for interval in ranges],
            "in_the_way": self.in_the_way,
            "downstream": [each.as_dict() for each in self.downstream],
        }

    def print(self, console: Console) -> None:
        """Print the plan for people."""
        request, taken = self.selection.request, len(self.selection.taken)
        only = "" if request.only == "all" else f", only {request.only}"
        what = f"{request.mode} {request.pipeline}{only}, {_words(request.range)}"
        chunks = counted(len(self.chunks), "chunk")
        console.print(f"{what}: processes {counted(taken, 'interval')} in {chunks}.", markup=False)
        for chunk in self.chunks:
            console.print(f"  + {_words(chunk)}", style="green", markup=False)
        for why, ranges in self.skipped.items():
            for interval in ranges:
                console.print(f"  - {_words(interval)}  {why}".rstrip(), style="dim", markup=False, soft_wrap=True)
        for each in self.downstream:
            console.print(each.in_words, markup=False, soft_wrap=True)
        if self.in_the_way:
            console.print(f"A run would be refused now: {self.in_the_way}", style="red", markup=False, soft_wrap=True)


def _bounds(interval: Interval) -> dict[str, str]:
    return {"from": interval.start.isoformat(), "to": interval.end.isoformat()}


def _words(interval: Interval) -> str:
    return f"{interval.start:%FT%RZ} to {interval.end:%FT%RZ}"


@dataclass(frozen=True)
class BackfillRun:
    """A backfill whose process has ended.

    Attributes:
        backfill: as it is on record; None if it cannot be found there.
        code: the process's exit code, negative after a signal.
        log: the process's output.
    """

    backfill: Backfill | None
    code: int
    log: Path

    @property
    def exit_code(self) -> int:
        """What the command that ran it exits with."""
        return self.code if self.code >= 0 else 1

    def print_log_if_broken_off(self) -> None:
        """Print the end of the log if the process ended without an outcome."""
        if self.code and (self.backfill is None or not self.backfill.outcome):
            for line in last_lines(self.log, _LOG_LINES):
                err_lines.print(line)
            err_lines.print(f"The batch ended with exit code {self.code}; its log is {self.log}")


def plan_backfill(project: Project, spec: PipelineSpec, request: Request, key: str = "") -> BackfillPlan:
    """Return what a backfill would process, and why it would be refused now."""
    ledger, code = project.tables.ledger(spec.name), project.code_of(spec.name)
    resumed = project.records.backfills().find(key)
    selection = select(request, ledger, spec.intervals.interval_length, code, resumed.id if resumed else "")
    plan = replace(BackfillPlan.of(selection, spec.backfill.chunk), downstream=downstream_of(project, request))
    try:
        project.processes.refuse_overlap(request, key)
    except RefusedError as refusal:
        return replace(plan, in_the_way=str(refusal))
    return plan


def run_backfill_process(project: Project, spec: PipelineSpec, request: Request, key: str = "") -> BackfillRun:
    """Run a backfill and wait for its end, with a line of progress. Ctrl-C makes it stop after the current chunk.

    Raises:
        RefusedError: another backfill is in the way, or the range has no interval to process; nothing was started.
        NotReadyError: the process cannot be started.
    """
    key = key or f"cli-{uuid.uuid4().hex}"
    planned = plan_backfill(project, spec, request, key)
    if planned.in_the_way:  # refuse before Spark starts
        raise RefusedError(planned.in_the_way)
    if not planned.selection.taken:
        planned.print(err)
        raise RefusedError("the range has no interval to process.", fix="choose a range with closed intervals.")
    job = project.processes.batch(request.pipeline, _arguments(request, key))
    return _followed(project, request, key, job)


def _followed(project: Project, request: Request, key: str, job: Job) -> BackfillRun:
    backfills, clock = project.records.backfills(), SystemClock()
    submitted = backfills.submit(request, key, alive=lambda name: project.processes.backfill_lock(name).held())
    try:
        process = BatchProcess(job, project.folder.backfills)
    except NotReadyError as error:
        backfills.end(submitted.id, BackfillState.FAILED, outcome="", why=str(error))
        raise
    try:
        with ProgressLine(process, backfills, project.processes.backfill_lock, clock) as line:
            code = process.follow(lambda: backfills.find(key), line, clock)
    except KeyboardInterrupt:  # before `follow` handles it
        process.end()
        code = 1
    if (left := backfills.find(key)) is not None and left.state is BackfillState.SUBMITTED:
        why = f"its process ended with exit code {code} before it claimed its range; its log is {process.log}"
        backfills.end(left.id, BackfillState.FAILED, outcome="", why=why)
    return BackfillRun(backfills.find(key), code, process.log)


def _arguments(request: Request, key: str) -> list[str]:
    options = {
        "--pipeline": request.pipeline,
        "--from": request.range.start.isoformat(),
        "--to": request.range.end.isoformat(),
        "--mode": request.mode.value,
        "--only": request.only.value,
        "--by": request.by,
        "--why": request.why,
        "--accepts": request.accepts,
        "--static": request.static.value,
        "--key": key,
    }
    return ["backfill", "--submitted", *(f"{name}={value}" for name, value in options.items())]
