"""Quality: the results of expectations, now and in the past, and the cases of quarantined records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from sluice.console.charts.chart import Chart
from sluice.console.charts.limits import Limits
from sluice.console.charts.lines import ChartLine, lines
from sluice.console.charts.time_axis import seconds_of
from sluice.console.context.access import VisitorDep, readable
from sluice.console.context.page_context import ContextDep, SpecName
from sluice.console.html.paging import PageNumber, paged
from sluice.console.html.site import page
from sluice.errors import SluiceError, SpecError
from sluice.project.project import Project
from sluice.quality.cases import LIVE
from sluice.quality.gate import GateResult
from sluice.quality.intervals import ExpectationResult, IntervalCheckResult
from sluice.reports.history import summary
from sluice.specs.catalog.dag_ids import backfill_dag_id, quality_dag_id
from sluice.specs.expectations.model import Expectation, Subject
from sluice.specs.model.model import PipelineSpec

router = APIRouter()

_SHOWN_INTERVALS = 240
_MAX_CASES = 50


@router.get("/quality")
def overview(request: Request, visitor: VisitorDep, context: ContextDep, number: PageNumber = 1) -> HTMLResponse:
    """Show the newest result of each pipeline, and how many cases are open."""
    project = context.project
    names = readable(visitor, {quality_dag_id(name): name for name in project.catalog.pipelines})
    live = Counter(case.pipeline for case in project.records.cases().of() if case.state in LIVE)
    names.sort(key=lambda name: (-live[name], name))
    rows = paged(names, number, lambda name: (name, *_newest(project, name), live[name]))
    return page(request, "quality.html", **rows)


@router.get("/quality/{pipeline}")
def of_pipeline(request: Request, pipeline: SpecName, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show what is known of a pipeline's expectations, and its cases."""
    project = context.project
    spec = project.catalog.pipelines.get(pipeline)
    if spec is None or not visitor.readable([quality_dag_id(pipeline)]):
        raise HTTPException(404, f"There is no pipeline {pipeline}, or it is not yours to see.")
    result, at, error = _newest(project, pipeline)
    return page(
        request,
        "quality_of.html",
        pipeline=pipeline,
        result=result,
        at=at,
        error=error,
        history=_history(project, spec),
        cases=project.records.cases().of(pipeline)[:_MAX_CASES],
        live=LIVE,
        may_ask=context.runner is not None and visitor.may_run(backfill_dag_id(pipeline)),
    )


def _newest(project: Project, pipeline: str) -> tuple[GateResult | None, datetime | None, str]:
    """Return the newest result of the published table, when it was made, and why it cannot be read."""
    file = project.folder.quality(pipeline)
    try:
        at = datetime.fromtimestamp(file.stat().st_mtime).astimezone()
        return GateResult.from_json(file.read_bytes()), at, ""
    except FileNotFoundError:
        return None, None, ""
    except SluiceError as error:
        return None, None, str(error)


def _history(project: Project, spec: PipelineSpec) -> Sequence[tuple[Expectation, Chart | None, str]]:
    """Return the expectations about intervals, each with the chart of its latest results, and these in words."""
    if not spec.has_intervals:
        return ()
    try:
        suite = project.catalog.suite_of(spec.name)
    except SpecError:
        return ()
    about = () if suite is None else suite.about(Subject.INTERVAL)
    head = project.tables.index().overview().get(spec.name)
    if not about or head is None or head.closed_until is None:
        return ()
    length: timedelta = spec.intervals.interval_length
    since = head.closed_until - _SHOWN_INTERVALS * length
    kept = project.records.quality().of(spec.name, [each.key for each in about], since, head.closed_until)
    by_key = {each.key: [one.checked for one in kept if one.checked.key == each.key] for each in about}
    return [
        (each, expectation_chart(f"{each.expect}: {each.subject}", by_key[each.key]), summary(by_key[each.key]))
        for each in about
    ]


def expectation_chart(title: str, results: Sequence[IntervalCheckResult]) -> Chart | None:
    """Return the chart of results in the order of time; None if fewer than two intervals have a number."""
    if sum(each.value is not None for each in results) <= 1:
        return None
    points = [(seconds_of(each.start), each.value) for each in results]
    limits = [
        Limits(
            seconds_of(each.start),
            each.low,
            each.high,
            exceeded=each.verdict is ExpectationResult.FAILS,
            words=f"{each.verdict}: {each.checked.observed}",
        )
        for each in results
    ]
    return lines(title, [ChartLine("", points)], most=len(points), limits=limits)
