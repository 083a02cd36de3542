"""A process of its own: compute every settled interval of some pipelines by batch, and print how the two compare."""

from __future__ import annotations

import json
import sys

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.project.project import Project
from sluice.settings import settings
from sluice.spark.backfill.run import run_backfill
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.session.batch_session import batch_session


def main(pipelines: list[str]) -> None:
    project = Project.open_strict(settings())
    sys.path.insert(0, str(project.settings.home / "spark_jobs"))  # as of a main in that folder
    outcomes = {}
    with batch_session(project, "backfill", pipelines[0]) as spark:
        for pipeline in pipelines:
            spans = project.tables.ledger(pipeline).spans
            over = Interval(spans[0].interval.start, spans[-1].interval.end)
            request = Request(pipeline, over, Mode.VERIFY, "tests", "a test", Only.ALL)
            code = pipeline_code(project, spark, project.catalog.pipelines[pipeline])
            result = run_backfill(project, spark, code, request, key=f"{pipeline}-verify")
            outcomes[pipeline] = f"{result.outcome}: {result.why}" if result.why else result.outcome
    sys.stdout.write(f"\n{json.dumps(outcomes)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
