"""One trial of the benchmark `settling`, in a process of its own: drain a topic into a raw table and an interval table.

Usage: python -m benchmarks.settling_trial <append|settle> <bootstrap> <topic id> <folder>

`append` runs both streams in one driver; `settle` runs the raw stream, then settles what is complete in the same
session. It prints seconds: `cpu` and `wall` of all of it, `raw_cpu` of the raw stream, and what one small settlement
costs in a session that is warm.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from benchmarks.drain_trial import TOPIC, cpu_seconds
from sluice.clock import SystemClock
from sluice.delta.settled_log import SettledLog
from sluice.delta.table import ensure_table
from sluice.intervals.alignment import Interval
from sluice.intervals.reach import Reach
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.settings import settings
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import RoundOutcome, Settler, SettlerIdentity
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.stream_run import Stream
from sluice.spark.records.kafka_source import KafkaTopic
from sluice.spark.records.pipeline import PipelineCode, partition_column, result_rows
from sluice.spark.records.static import read_static
from sluice.spark.session.session import session
from sluice.spark.settling.ends import log_ends
from sluice.spark.settling.raw_source import RawTableSource
from sluice.spark.sinks.interval_stream import prepare_pipeline
from sluice.spark.sinks.preparation import Prepared
from sluice.spark.sinks.raw import prepare_raw, raw_records
from sluice.specs.code.static import locate
from sluice.specs.load import load_catalog
from sluice.streams.position.epochs import Epochs

WRITER = "settle:departures"
DISORDER = timedelta(minutes=15)
"""How long the feed keeps records in flight."""


class Trial:
    """A session and the context that it writes to."""

    def __init__(self, bootstrap: str, topic_id: str, folder: Path) -> None:
        include = settings().home / "include"
        catalog = load_catalog(include)
        pipeline, topic = catalog.pipelines["departures"], catalog.topics[TOPIC]
        jars = settings().jars / "spark"
        self.bootstrap = bootstrap
        self.folder = folder
        self.raw, self.table = folder / "raw", folder / "table"
        self.spark: SparkSession = session("settling", pipeline.resources, jars=jars, warehouse=folder / "warehouse")
        static = {name: read_static(self.spark, s, locate(s, include)) for name, s in pipeline.static.items()}
        self.code = PipelineCode(pipeline, topic, static, code_hash="benchmark")
        self.source = KafkaTopic((bootstrap,), TOPIC, topic_id)
        self.spark.range(1).collect()

    def append(self) -> dict[str, float]:
        """Drain both streams in one driver."""
        epoch = Epochs(self.folder / "checkpoint").in_force()
        prepared = prepare_pipeline(
            self.spark, self.code, self.source, raw=self.raw, table=self.table, epoch=epoch, generation=1
        )
        _drain([self._raw_stream(), _stream("departures", prepared, epoch.checkpoint)])
        return {}

    def settle(self) -> dict[str, float]:
        """Drain the raw stream, then settle until nothing is due."""
        _drain([self._raw_stream()])
        raw_cpu = cpu_seconds()
        with KafkaPythonAdministration((self.bootstrap,), {}) as administration:
            return {"raw_until": raw_cpu, "rounds": self._settle_all(partial(log_ends, administration, TOPIC))}

    def settle_again(self) -> dict[str, float]:
        """Compute some single intervals once more, and return what one costs: seconds, and seconds of a processor."""
        rules = SettlingRules.of(self.code.pipeline)
        source = RawTableSource(self.spark, self.raw, self.code, rules, lambda: Reach({}), self.folder / "staging")
        costs = []
        for number in range(8):
            start = datetime(2013, 1, 3, 12 + number, tzinfo=UTC)
            cpu, wall = cpu_seconds(), time.monotonic()
            pinned = source.pin()
            source.compute(pinned, pinned.reach, Interval(start, start + rules.length))
            costs.append((time.monotonic() - wall, cpu_seconds() - cpu))
        return {"small_s": median(wall for wall, _ in costs), "small_cpu": median(cpu for _, cpu in costs)}

    def _settle_all(self, ends: Callable[[], Reach]) -> int:
        """Settle until nothing is due; return the number of commits."""
        rules, numbers = replace(SettlingRules.of(self.code.pipeline), arrival_disorder=DISORDER), count()
        empty = result_rows(raw_records(self.spark.read.format("delta").load(str(self.raw))), self.code)
        column = partition_column(self.code.pipeline.intervals)
        ensure_table(self.table, empty.schema.json(), partition_by=[column])
        table = SettledLog(self.table, column, WRITER, 1, rules)
        table.open()
        raw = RawTableSource(self.spark, self.raw, self.code, rules, ends, self.folder / "staging")
        author = SettlerIdentity(WRITER, 1, self.code.code_hash)
        settler = Settler(author, rules, raw, table, clock=SystemClock(), nonce=lambda: f"{next(numbers)}")
        while settler.round().outcome is not RoundOutcome.WAITING:
            pass
        return next(numbers)

    def _raw_stream(self) -> Stream:
        epoch = Epochs(self.folder / "raw_checkpoint").in_force()
        prepared = prepare_raw(self.spark, self.code.topic, self.source, table=self.raw, epoch=epoch, generation=1)
        return _stream("raw", prepared, epoch.checkpoint)


def _stream(name: str, prepared: Prepared, checkpoint: Path) -> Stream:
    opened = prepared.open()
    return Stream(name, opened.rows, opened.sink, checkpoint, 0, opened.drops)


def _drain(streams: list[Stream]) -> None:
    exit_code = Driver(streams, {}).run(available_now=True)
    if exit_code:
        raise SystemExit(int(exit_code))


def main(variant: str, bootstrap: str, topic_id: str, folder: str) -> None:
    """Run one trial and print its figures."""
    trial = Trial(bootstrap, topic_id, Path(folder))
    before, began = cpu_seconds(), time.monotonic()
    notes = trial.settle() if variant == "settle" else trial.append()
    figures = {"cpu": cpu_seconds() - before, "wall": time.monotonic() - began}
    if variant == "settle":
        notes["raw_cpu"] = round(notes.pop("raw_until") - before, 2)
        notes |= trial.settle_again()
    sys.stdout.write(json.dumps({**figures, **notes}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the figures are taken; Spark's own shutdown is nobody's cost


if __name__ == "__main__":
    main(*sys.argv[1:])
