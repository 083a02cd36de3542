"""The quality gate on what is published: nothing is about to be published, so a failure is only reported."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from sluice.clock import Clock, SystemClock
from sluice.disk import write_text
from sluice.errors import NotReadyError, RefusedError
from sluice.gx.gate import run_gate
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.bounds import published_bound
from sluice.intervals.backfill.selection import MAX_INTERVALS
from sluice.intervals.ledger import Ledger, LedgerRow
from sluice.lineage.results import QualityCheck
from sluice.project.lineage import batch_lineage
from sluice.project.project import Project
from sluice.quality.gate import GateResult
from sluice.reports.quality import quality_page
from sluice.spark.checks.interval_quality import interval_quality
from sluice.spark.checks.quarantine import pinned_raw
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.tables.output import OutputTable
from sluice.spark.tables.records import Records

_DEFAULT_RANGE = timedelta(days=31)
_KEPT = 100


def check_published(
    project: Project, spark: SparkSession, pipeline: str, asked: Interval | None, clock: Clock | None = None
) -> tuple[GateResult, Path]:
    """Run a pipeline's suite on the closed intervals of its published table, and write the result and its page.

    Args:
        project: specs and places.
        spark: the session.
        pipeline: its name.
        asked: the range; None: the last 31 days that are closed.
        clock: injected by tests.

    Returns:
        The result, and where the page is.

    Raises:
        NotReadyError: no interval of the range is closed yet.
    """
    clock = clock or SystemClock()
    check = QualityCheck(clock.now(), asked)
    with batch_lineage(project, pipeline) as lineage:
        lineage.check_started(check)
        try:
            checked, result, page = _check(project, spark, pipeline, check)
        except Exception as error:
            lineage.check_ended(check, clock.now(), None, str(error))
            raise
        lineage.check_ended(QualityCheck(check.began, checked), clock.now(), result)
    return result, page


def _check(
    project: Project, spark: SparkSession, pipeline: str, check: QualityCheck
) -> tuple[Interval, GateResult, Path]:
    """Return the range that was checked, the result, and where the page is."""
    at = check.began
    spec = project.catalog.pipelines[pipeline]
    table = OutputTable(project.folder.table(spec.intervals.table), spec.intervals)
    ledger = project.tables.ledger(pipeline)
    checked = check.range or _last(ledger, pipeline)
    closed = _closed(ledger, checked, pipeline)
    rows = table.rows(spark, closed, table.version())
    raw = pinned_raw(project, spec)
    bounds = {start: published_bound(row) for start, row in closed.items()}
    code = pipeline_code(project, spark, spec)
    records = Records(spark, raw, code, bounds)
    # Without rows it matters whether there were records that could have made some; else their order of size does.
    input_records = records.count_good() if rows.isEmpty() else records.count()
    suite = project.catalog.gate_of(pipeline)
    quality = interval_quality(project, spark, code, ledger, suite)
    result = run_gate(
        rows,
        suite,
        input_records=input_records,
        of_intervals=lambda cached: quality.catch_up(cached, [*closed], records),
    )
    newest = project.folder.quality(pipeline)
    facts = {"Range": f"{checked.start:%Y-%m-%d %H:%M} to {checked.end:%Y-%m-%d %H:%M} UTC", "At": f"{at:%F %T} UTC"}
    page = quality_page(result, title=f"{pipeline}, as published", facts=facts, history=quality.history(checked.end))
    for path in (newest.with_name(f"{at:%Y%m%dT%H%M%SZ}.json"), newest):
        write_text(path.with_suffix(".html"), page)
        write_text(path, result.to_json())
    _forget(newest)
    return checked, result, newest.with_suffix(".html")


def _closed(ledger: Ledger, checked: Interval, pipeline: str) -> dict[datetime, LedgerRow]:
    until = min(checked.end, ledger.closed_until or checked.start)
    since = checked.start if ledger.whole is None else max(checked.start, ledger.whole.start)
    spans = list(ledger.between(since, until))
    if (asked := sum(span.count for span in spans)) > MAX_INTERVALS:
        raise RefusedError(
            f"{asked:,} intervals of {pipeline} are closed from {checked.start:%F} to {until:%F}, and a check "
            f"covers {MAX_INTERVALS:,} at most.",
            fix="choose a shorter range.",
        )
    closed = {row.interval.start: row for span in spans for row in span.each()}
    if not closed and ledger.whole is not None and until > checked.start:
        raise NotReadyError(f"every closed interval of {pipeline} in this range lies {ledger.whole.why}.")
    if not closed:
        raise NotReadyError(
            f"no interval of {pipeline} from {checked.start:%F %R} to {checked.end:%F %R} UTC is closed: there is "
            "nothing to check.",
            fix="see `sluice intervals list`.",
        )
    return closed


def _last(ledger: Ledger, pipeline: str) -> Interval:
    if ledger.closed_until is None:
        raise NotReadyError(f"no interval of {pipeline} is closed yet: there is nothing to check.")
    return Interval(ledger.closed_until - _DEFAULT_RANGE, ledger.closed_until)


def _forget(newest: Path) -> None:
    """Remove all but some results."""
    for suffix in (newest.suffix, ".html"):
        for old in sorted(p for p in newest.parent.glob(f"*{suffix}") if p.stem != newest.stem)[:-_KEPT]:
            old.unlink(missing_ok=True)
