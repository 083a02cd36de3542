"""Main of the batch side: backfills closed intervals, checks what is published, or replays a case.

    batch.py backfill --pipeline P --from ISO --to ISO --mode verify|correct|recompute|try --by WHO --key KEY [...]
    batch.py quality --pipeline P [--from ISO --to ISO]
    batch.py replay --pipeline P --case ID --by WHO
    batch.py due --pipeline P --into FILE [--cut FILE]

Runs as a plain Python process and under spark-submit. Exit code 0: all is as it should be; 1: it is not, and the line
on stderr says why; others: see `sluice.errors`.
"""

from __future__ import annotations

import argparse
import uuid
from datetime import datetime, timedelta
from pathlib import Path

from sluice.capacity.costs import Work
from sluice.errors import SluiceError, SpecError
from sluice.intervals.backfill.acceptance import GATE_FAILED
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode, Only, Request, StaticChoice, range_of
from sluice.launch.processes import lower_priority
from sluice.observability.logs import get_logger
from sluice.project.project import Project
from sluice.proof.rows_file import read_cut, write_answer
from sluice.settings import settings
from sluice.spark.backfill.replay import replay
from sluice.spark.backfill.results import Result
from sluice.spark.backfill.run import run_backfill
from sluice.spark.checks.due_rows import find_due_rows
from sluice.spark.checks.published_quality import check_published
from sluice.spark.driver.pipeline_code import keep_code, pipeline_code
from sluice.spark.session.batch_cost import cost_recorded
from sluice.spark.session.batch_session import batch_session
from sluice.specs.model.alerting import AlertClass

log = get_logger()


def main(arguments: list[str]) -> int:
    """Do what the arguments ask and return the exit code."""
    options = _parser().parse_args(arguments)
    lower_priority(settings().batch_niceness)
    try:
        return {"backfill": _backfill, "quality": _quality, "replay": _replay, "due": _due}[options.command](options)
    except SluiceError as error:
        log.error("it cannot be done", command=options.command, why=str(error))  # noqa: TRY400  our own errors need no trace
        return error.exit_code


def _backfill(options: argparse.Namespace) -> int:
    project, length = _project(options.pipeline)
    request = Request(
        pipeline=options.pipeline,
        range=range_of(options.start, options.end, length),
        mode=options.mode,
        by=options.by,
        why=options.why,
        only=options.only,
        accepts=options.accepts,
        static=options.static,
    )
    kept = keep_code(project, options.pipeline)  # the ledger will name it
    with (
        batch_session(project, "backfill", options.pipeline, request.range) as spark,
        cost_recorded(project, spark, Work.BACKFILL, options.pipeline, _run_name(options.pipeline)),
    ):
        code = pipeline_code(project, spark, project.catalog.pipelines[options.pipeline], kept=kept)
        result = run_backfill(project, spark, code, request, key=options.key, submitted=options.submitted)
    return tell_backfill(result, project.folder.backfill(result.backfill))


_CLASSES = {
    GATE_FAILED: AlertClass.GATE,
    ParityOutcome.RAW_MISMATCH: AlertClass.PARITY,
    ParityOutcome.DIFFERENT: AlertClass.PARITY,
}


def tell_backfill(result: Result, folder: Path) -> int:
    """Say how a backfill ended and return the exit code."""
    if result.passed:
        log.info("backfill ends", backfill=result.backfill, outcome=result.outcome, published=len(result.published))
        return 0
    page = folder / ("quality.html" if result.outcome == GATE_FAILED else "parity.html")
    about = {"alert_class": str(_CLASSES[result.outcome])} if result.outcome in _CLASSES else {}
    why = f"{result.why} Fix: read {page}."
    log.error("backfill ends", backfill=result.backfill, outcome=result.outcome, **about, why=why)
    return SluiceError.exit_code


def _quality(options: argparse.Namespace) -> int:
    project, length = _project(options.pipeline)
    if (options.start is None) != (options.end is None):
        raise SpecError("a range needs both --from and --to.", fix="give both, or neither for the last 31 days.")
    asked = range_of(options.start, options.end, length) if options.start else None
    with (
        batch_session(project, "quality", options.pipeline, asked) as spark,
        cost_recorded(project, spark, Work.QUALITY, options.pipeline, _run_name(options.pipeline)),
    ):
        result, page = check_published(project, spark, options.pipeline, asked)
    if result.passed:
        log.info("quality holds", pipeline=options.pipeline, expectations=result.expectations_passed, rows=result.rows)
        return 0
    why = f"the published table fails its quality gate: {'; '.join(result.failures)} Fix: read {page}."
    log.error("quality does not hold", pipeline=options.pipeline, alert_class=str(AlertClass.GATE), why=why)
    return SluiceError.exit_code


def _replay(options: argparse.Namespace) -> int:
    project, _ = _project(options.pipeline)
    with (
        batch_session(project, "replay", options.pipeline) as spark,
        cost_recorded(project, spark, Work.REPLAY, options.pipeline, _run_name(options.pipeline)),
    ):
        result = replay(project, spark, options.case, by=options.by)
    if result.passed:
        log.info("replay ends", case=options.case, records=result.case.records, backfills=len(result.backfills))
        return 0
    why = f"the case {options.case} is not closed: {result.why} Fix: see `sluice quarantine show {options.case}`."
    log.error("replay ends", case=options.case, why=why)
    return SluiceError.exit_code


def _due(options: argparse.Namespace) -> int:
    """Write down which rows the outputs beside an interval table must hold, and do hold: for a proof."""
    project = _project_with(options.pipeline)
    cut = None if options.cut is None else read_cut(options.cut)
    with batch_session(project, "due", options.pipeline) as spark:
        answer = find_due_rows(project, spark, project.catalog.pipelines[options.pipeline], cut)
    write_answer(options.into, answer)
    log.info("the rows that are due are known", outputs=[output.name for output in answer.outputs])
    return 0


def _run_name(pipeline: str) -> str:
    """Return a name for this process that no other has."""
    return f"{pipeline}:{uuid.uuid4().hex}"


def _project(pipeline: str) -> tuple[Project, timedelta]:
    project = _project_with(pipeline)
    return project, project.catalog.pipelines[pipeline].intervals.interval_length


def _project_with(pipeline: str) -> Project:
    project = Project.open_tolerant(settings())
    if pipeline not in project.catalog.pipelines:
        known = ", ".join(sorted(project.catalog.pipelines)) or "none"
        raise SpecError(f"there is no sound pipeline {pipeline!r}; there is {known}.", fix="run `sluice check`.")
    return project


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    backfill = commands.add_parser("backfill", help="compute closed intervals; compare, correct or publish them")
    backfill.add_argument("--mode", required=True, type=Mode, choices=list(Mode))
    backfill.add_argument(
        "--only", type=Only, choices=list(Only), default=Only.ALL, help="which intervals of the range"
    )
    backfill.add_argument(
        "--static", type=StaticChoice, choices=list(StaticChoice), default=StaticChoice.RECORDED, help="see `sluice`"
    )
    backfill.add_argument("--by", required=True, help="who requests it; recorded")
    backfill.add_argument("--why", default="", help="the reason; recorded")
    backfill.add_argument("--accepts", default="", help="the backfill whose gate failed, and is overridden")
    backfill.add_argument("--key", required=True, help="names the request: the same key resumes what was interrupted")
    backfill.add_argument("--submitted", action="store_true", help="it is recorded, and may have been cancelled")
    quality = commands.add_parser("quality", help="run the pipeline's suite on what is published")
    replaying = commands.add_parser("replay", help="put the records of a case into the results")
    replaying.add_argument("--case", required=True, help="its id")
    replaying.add_argument("--by", required=True, help="who requests it; recorded")
    due = commands.add_parser("due", help="say which rows outputs must hold, and which they do: for a proof")
    due.add_argument("--into", type=Path, required=True, help="the file that is written")
    due.add_argument("--cut", type=Path, help="a file that says when tables of open rows were looked at")
    for command in (backfill, quality, replaying, due):
        command.add_argument("--pipeline", required=True)
    for command, required in ((backfill, True), (quality, False)):
        command.add_argument("--from", dest="start", type=datetime.fromisoformat, required=required)
        command.add_argument("--to", dest="end", type=datetime.fromisoformat, required=required, help="exclusive")
    return parser
