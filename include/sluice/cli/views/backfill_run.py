"""A backfill that the command line runs: planned, started as a process, and followed to its end."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.cli.terminal.output import err, err_lines
from sluice.cli.views.backfill_plan import BackfillPlan
from sluice.cli.views.backfill_progress import ProgressLine
from sluice.clock import SystemClock
from sluice.devstack.supervision import last_lines
from sluice.errors import NotReadyError, RefusedError
from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.intervals.backfill.request import Request
from sluice.intervals.backfill.selection import select
from sluice.launch.batch_process import BatchProcess
from sluice.project.chains import downstream_of
from sluice.project.project import Project
from sluice.specs.model.model import PipelineSpec
from sluice.streams.life.launcher import Job

_LOG_LINES = 15


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
