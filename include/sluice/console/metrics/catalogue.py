"""Every metric that Sluice exposes. Names follow Prometheus: base units, `_total` for counters, no unbounded label.

An unknown value has no sample; a missing sample does not mean zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MetricType(StrEnum):
    """How a value behaves; the words of Prometheus."""

    GAUGE = "gauge"
    COUNTER = "counter"


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        name: with its unit; a counter's ends in `_total`.
        kind: how its value behaves.
        help: its description in Prometheus.
        labels: what distinguishes its samples.
    """

    name: str
    kind: MetricType
    help: str
    labels: tuple[str, ...] = ()


def _gauge(name: str, help_: str, *labels: str) -> Metric:
    return Metric(f"sluice_{name}", MetricType.GAUGE, help_, labels)


def _counter(name: str, help_: str, *labels: str) -> Metric:
    return Metric(f"sluice_{name}_total", MetricType.COUNTER, help_, labels)


_STREAM = ("unit", "stream")

BUILD_INFO = _gauge("build_info", "1, with the version that serves the metrics.", "version")

HEALTH = _gauge("stream_health", "1 for the current verdict of a stream, 0 for the others.", *_STREAM, "health")
NEEDS_ATTENTION = _gauge("stream_needs_attention", "1 if a stream needs attention.", *_STREAM)
LAST_OBSERVED = _gauge("stream_last_observed_timestamp_seconds", "When a watcher last observed the stream.", *_STREAM)
COMPLETENESS = _gauge(
    "stream_completeness_ratio", "Share of the sources that the last observation could read.", *_STREAM
)
LAG_RECORDS = _gauge("stream_lag_records", "Records that are not in a committed batch.", *_STREAM)
LAG_SECONDS = _gauge("stream_lag_seconds", "Minimum waiting time of the first of them.", *_STREAM)
PARTITION_LAG = _gauge(
    "stream_partition_lag_records", "Records of one partition that are not in a committed batch.", *_STREAM, "partition"
)
WATERMARK_LAG = _gauge("stream_watermark_lag_seconds", "How far the watermark is behind the clock.", *_STREAM)
DUE_INTERVALS = _gauge("stream_due_intervals", "Intervals of a settled table that are due and not settled.", *_STREAM)
DISORDER = _gauge(
    "stream_arrival_disorder_seconds", "Greatest disorder of arrival times that a settler has met.", *_STREAM
)
CATCH_UP = _gauge("stream_catch_up_seconds", "Time until the backlog is gone, if it shrinks.", *_STREAM)
LOSS = _gauge("stream_loss_seconds", "Time until retention deletes unread records, if it is expected to.", *_STREAM)
ARRIVING = _gauge(
    "stream_arriving_records_per_second", "Rate of arriving records over the last five minutes.", *_STREAM
)
READING = _gauge(
    "stream_reading_records_per_second", "Rate of records in committed batches over the last five minutes.", *_STREAM
)
LAST_COMMIT = _gauge("stream_last_commit_timestamp_seconds", "When the newest batch was committed.", *_STREAM)
BATCHES = _counter("stream_batches", "Committed batches of the checkpoint.", *_STREAM)
READ = _counter("stream_read_records", "Records that the stream has read since its driver started.", *_STREAM)
BATCH_SECONDS = _gauge("stream_batch_duration_seconds", "Duration of the newest batch.", *_STREAM)
PHASE_SECONDS = _gauge(
    "stream_batch_phase_seconds", "Duration of a phase of the newest batch, by Spark's names.", *_STREAM, "phase"
)
STATE_ROWS = _gauge("stream_state_rows", "Rows in state after the newest batch.", *_STREAM)
STATE_BYTES = _gauge("stream_state_memory_bytes", "Memory of the state after the newest batch.", *_STREAM)

SHOULD_RUN = _gauge("unit_should_run", "1 if the unit should run.", "unit")
HALTED = _gauge("unit_halted", "1 if nothing starts the unit until a person resumes it.", "unit")
NEXT_START = _gauge("unit_next_start_timestamp_seconds", "When the unit's schedule starts the next driver.", "unit")
ATTEMPTS = _counter("unit_attempts", "Attempts of the unit: the newest generation.", "unit")
CPU = _counter("unit_cpu_seconds", "CPU time of the driver and its child processes since it started.", "unit")
HEAP_USED = _gauge("unit_jvm_heap_used_bytes", "Java heap that the driver uses.", "unit")
HEAP_MAX = _gauge("unit_jvm_heap_max_bytes", "Java heap that the driver may use.", "unit")
GC = _counter("unit_jvm_gc_seconds", "Time that the driver's JVM has spent on collecting garbage.", "unit")
THREADS = _gauge("unit_jvm_threads", "Threads of the driver's JVM.", "unit")

DAY_COST = _gauge(
    "pipeline_day_cpu_seconds",
    "Processor time that a pipeline has used since midnight (UTC), by what for.",
    "pipeline",
    "work",
)

_OUTPUT = ("pipeline", "output")

OBJECTIVE = _gauge("objective_ratio", "Share of the known time of its window in which an output was good.", *_OUTPUT)
OBJECTIVE_TARGET = _gauge("objective_target_ratio", "Share that the objective of an output asks for.", *_OUTPUT)
OBJECTIVE_UNKNOWN = _gauge(
    "objective_unknown_seconds", "Time of its window of which it is unknown how an output was.", *_OUTPUT
)
BUDGET_REMAINING = _gauge(
    "error_budget_remaining_ratio",
    "Share of its error budget that an output has left; negative if overspent.",
    *_OUTPUT,
)
BURN_RATE = _gauge(
    "burn_rate", "How fast an output uses up its error budget; 1 uses it up in one window.", *_OUTPUT, "window"
)

INTERVALS = _gauge("intervals", "Recorded intervals by state, without open ones.", "pipeline", "state")
CLOSED_UNTIL = _gauge("intervals_closed_until_timestamp_seconds", "End of the last closed interval.", "pipeline")
CASES = _gauge("quarantine_cases", "Open and fixed cases of quarantined records.", "pipeline", "state")
GATE_PASSED = _gauge("quality_passed", "1 if the newest check of the published table passed.", "pipeline")
GATE_AT = _gauge("quality_checked_timestamp_seconds", "When the published table was last checked.", "pipeline")
DIFFERENCES = _gauge("topic_differences", "Values of a declared topic that are not as declared.", "topic")
TOPICS_COMPARED = _gauge("topics_last_compared_timestamp_seconds", "When the cluster was last compared with the specs.")
ALERTS = _counter("alerts", "Alerts in the journal of this machine.", "level", "outcome")

CATALOGUE = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
"""All of them, in the order above."""
