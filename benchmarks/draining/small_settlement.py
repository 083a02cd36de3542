"""What settlements cost in a session that is warm: single intervals of a drained state, and all of it once more.

Usage: python -m benchmarks.draining.small_settlement <pipeline>
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

import psutil
import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.trials import cpu_seconds
from sluice.delta.reading import open_table
from sluice.intervals.alignment import Interval
from sluice.intervals.reach import RawPosition, Reach
from sluice.project.project import Project
from sluice.settings import settings
from sluice.settling.rules import SettlingRules
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.session.session import session
from sluice.spark.settling.computation import RawComputation
from sluice.spark.settling.raw_source import RawTableSource

_INTERVALS = 8


def main(name: str) -> dict[str, float]:
    """Return `bytes_read_ratio`, and the medians of `small_settle_s` and `small_settle_cpu` in seconds."""
    project = Project.open_strict(settings())
    pipeline, folder = project.catalog.pipelines[name], project.folder
    spark = session("small", pipeline.resources, jars=settings().jars / "spark", warehouse=folder.root / "warehouse")
    code, rules = pipeline_code(project, spark, pipeline), SettlingRules.of(pipeline)
    ((topic, own),) = code.sources.items()
    raw = folder.table(own.topic.raw.table)
    source = RawTableSource(spark, raw, own, rules, lambda: Reach({}), pipeline.intervals)
    settling = Settling(topic, source, RawComputation({topic: source}, code, folder.staging / "small"))
    ledger = project.tables.ledger(name)
    assert ledger.first is not None
    assert ledger.closed_until is not None
    costs = small_settlements(settling, ledger.first)
    everything = Interval(ledger.first, ledger.closed_until)
    settle(settling, everything)  # loads what a first time loads
    before = bytes_read(spark)
    settle(settling, everything)
    read = bytes_read(spark) - before
    files = pa.table(open_table(raw).get_add_actions(flatten=True))
    return {
        "small_settle_s": round(median(wall for wall, _ in costs), 3),
        "small_settle_cpu": round(median(cpu for _, cpu in costs), 3),
        "bytes_read_ratio": round(read / sum(files.column("size_bytes").to_pylist()), 2),
    }


def bytes_read(spark: SparkSession) -> int:
    """Return how many bytes of files this process and the tasks of its session have read so far.

    Linux does not count what Python receives from sockets. What a task read of tables is what Hadoop counts; the rows
    that this process hands to Spark are none of it.
    """
    tasks: Any = spark.sparkContext._jsc.sc().statusStore().executorList(False)  # noqa: SLF001 - PySpark shows none
    return psutil.Process().io_counters().read_chars + sum(
        int(tasks.apply(number).totalInputBytes()) for number in range(tasks.size())
    )


@dataclass(frozen=True)
class Settling:
    """What a settler of one topic does, step by step."""

    topic: str
    source: RawTableSource
    computation: RawComputation

    def compute(self, pinned: RawPosition, intervals: Interval) -> None:
        """Compute the rows of a range of intervals of all that is there."""
        self.computation.compute({self.topic: pinned}, {self.topic: pinned.reach}, intervals)


def small_settlements(settling: Settling, first: datetime) -> list[tuple[float, float]]:
    """Compute some single intervals; return what each took, in seconds of wall and of CPU."""
    costs, length = [], settling.source.rules.length
    for number in range(_INTERVALS):
        start = first + (number + _INTERVALS) * length
        cpu, wall = cpu_seconds(), time.monotonic()
        settling.compute(settling.source.pin(), Interval(start, start + length))
        costs.append((time.monotonic() - wall, cpu_seconds() - cpu))
    return costs


def settle(settling: Settling, due: Interval) -> None:
    """Examine all records, and compute all intervals, in the parts that a settler takes."""
    pinned = settling.source.pin()
    examined = Reach({}, pinned.reach.topics)
    while not examined.covers(pinned.reach):
        examined = Reach(settling.source.examine(pinned, examined, None).end, pinned.reach.topics)
    while due.start < due.end:
        chunk = settling.computation.bounded({settling.topic: pinned}, due)
        settling.compute(pinned, chunk)
        due = Interval(chunk.end, due.end)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the figures are taken; Spark's own shutdown is nobody's cost
