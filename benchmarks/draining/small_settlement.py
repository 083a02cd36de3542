"""What one small settlement costs in a session that is warm: some single intervals of a drained state, computed again.

Usage: python -m benchmarks.draining.small_settlement <pipeline>
"""

from __future__ import annotations

import json
import os
import sys
import time
from statistics import median

from benchmarks.trials import cpu_seconds
from sluice.intervals.alignment import Interval
from sluice.intervals.reach import Reach
from sluice.project.project import Project
from sluice.settings import settings
from sluice.settling.rules import SettlingRules
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.session.session import session
from sluice.spark.settling.raw_source import RawTableSource

_INTERVALS = 8


def main(name: str) -> dict[str, float]:
    """Return the medians of `small_settle_s` and `small_settle_cpu`, in seconds."""
    project = Project.open_strict(settings())
    pipeline, folder = project.catalog.pipelines[name], project.folder
    spark = session("small", pipeline.resources, jars=settings().jars / "spark", warehouse=folder.root / "warehouse")
    code, rules = pipeline_code(project, spark, pipeline), SettlingRules.of(pipeline)
    raw = folder.table(code.topic.raw.table)
    source = RawTableSource(spark, raw, code, rules, lambda: Reach({}), folder.staging / "small")
    first, costs = project.tables.ledger(name).first, []
    assert first is not None
    for number in range(_INTERVALS):
        start = first + (number + _INTERVALS) * rules.length
        cpu, wall = cpu_seconds(), time.monotonic()
        pinned = source.pin()
        source.compute(pinned, pinned.reach, Interval(start, start + rules.length))
        costs.append((time.monotonic() - wall, cpu_seconds() - cpu))
    return {
        "small_settle_s": round(median(wall for wall, _ in costs), 3),
        "small_settle_cpu": round(median(cpu for _, cpu in costs), 3),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the figures are taken; Spark's own shutdown is nobody's cost
