"""From what is on record to samples: pure, and nothing that is not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from sluice.alerts.delivery import AlertHistory
from sluice.capacity.costs import PipelineCost
from sluice.console.metrics import catalogue as m
from sluice.console.metrics.catalogue import Metric
from sluice.objectives.standing import OutputObjective
from sluice.quality.cases import LIVE, Case
from sluice.streams.health.batch_log import BatchFigures
from sluice.streams.health.fleet import StreamStatus
from sluice.streams.health.health import Health


@dataclass(frozen=True)
class MetricSample:
    """A value of a metric, with the values of its labels in their order."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


def of_streams(statuses: Iterable[StreamStatus], batches: Mapping[str, BatchFigures]) -> Iterator[MetricSample]:
    """Yield the samples of streams and their units; `batches` has the newest batch of each stream."""
    units: dict[str, list[StreamStatus]] = {}
    for standing in statuses:
        units.setdefault(standing.unit, []).append(standing)
        yield from _of_verdict(standing)
        batch = batches.get(standing.stream)
        if batch is not None and batch.generation == standing.generation:
            yield from _of_batch((standing.unit, standing.stream), batch)
    for unit, streams in units.items():
        yield from _of_unit(unit, streams, batches)


def _of_verdict(status: StreamStatus) -> Iterator[MetricSample]:
    verdict, snapshot, labels = status.verdict, status.snapshot, (status.unit, status.stream)
    settling = verdict.settling
    for health in Health:
        yield MetricSample(m.HEALTH, (*labels, health.value), float(health is verdict.health))
    yield MetricSample(m.NEEDS_ATTENTION, labels, float(status.needs_attention))
    yield from _known(
        labels,
        {
            m.LAST_OBSERVED: None if snapshot is None else snapshot.at.timestamp(),
            m.COMPLETENESS: verdict.completeness,
            m.LAG_RECORDS: verdict.lag_records,
            m.LAG_SECONDS: verdict.lag_seconds,
            m.WATERMARK_LAG: verdict.watermark_lag_seconds,
            m.DUE_INTERVALS: None if settling is None else settling.due,
            m.DISORDER: None if settling is None else settling.disorder.total_seconds(),
            m.CATCH_UP: verdict.catch_up_seconds,
            m.LOSS: verdict.loss_seconds,
            m.ARRIVING: None if snapshot is None else snapshot.rates.arriving,
            m.READING: None if snapshot is None else snapshot.rates.read,
            m.LAST_COMMIT: None if verdict.committed_at is None else verdict.committed_at.timestamp(),
            m.BATCHES: verdict.batches,
        },
    )
    for lag in verdict.partitions:
        yield MetricSample(m.PARTITION_LAG, (*labels, lag.partition), lag.records)


def _of_batch(labels: tuple[str, str], batch: BatchFigures) -> Iterator[MetricSample]:
    values: dict[Metric, float | None] = {
        m.BATCH_SECONDS: batch.seconds,
        m.STATE_ROWS: batch.state_rows,
        m.STATE_BYTES: batch.state_bytes,
        m.READ: batch.read,
    }
    yield from _known(labels, values)
    for phase, milliseconds in sorted(batch.phases.items()):
        yield MetricSample(m.PHASE_SECONDS, (*labels, phase), milliseconds / 1000)


def _of_unit(unit: str, streams: Iterable[StreamStatus], batches: Mapping[str, BatchFigures]) -> Iterator[MetricSample]:
    streams = list(streams)
    first = streams[0]
    newest = [batch for each in streams if (batch := batches.get(each.stream)) and batch.generation == first.generation]
    cpu = [batch.cpu_seconds for batch in newest if batch.cpu_seconds is not None]
    values: dict[Metric, float | None] = {
        m.SHOULD_RUN: float(first.should_run),
        m.HALTED: float(bool(first.halted)),
        m.NEXT_START: None if first.next_at is None else first.next_at.timestamp(),
        m.ATTEMPTS: first.generation,
        m.CPU: max(cpu, default=None),
        **_of_jvm(max((batch for batch in newest if batch.jvm is not None), key=lambda each: each.at, default=None)),
    }
    yield from _known((unit,), values)


def _of_jvm(batch: BatchFigures | None) -> Mapping[Metric, float | None]:
    """Return what the JVM of a unit said of itself last."""
    said = {} if batch is None or batch.jvm is None else batch.jvm
    return {
        m.HEAP_USED: said.get("heap_used_bytes"),
        m.HEAP_MAX: said.get("heap_max_bytes"),
        m.GC: said.get("gc_seconds"),
        m.THREADS: said.get("threads"),
    }


def of_pipelines(
    intervals: Mapping[str, tuple[datetime | None, Mapping[str, int]]],
    gates: Mapping[str, tuple[bool, datetime]],
    cases: Iterable[Case],
) -> Iterator[MetricSample]:
    """Yield the samples of pipelines.

    Args:
        intervals: end of the last closed interval, and how many are in each state, by pipeline.
        gates: whether the newest check passed, and when it was made, by pipeline.
        cases: all of them; those that are done are no samples.
    """
    for pipeline, (closed_until, counts) in intervals.items():
        if closed_until is not None:
            yield MetricSample(m.CLOSED_UNTIL, (pipeline,), closed_until.timestamp())
        for state, count in sorted(counts.items()):
            yield MetricSample(m.INTERVALS, (pipeline, state), count)
    for pipeline, (passed, at) in gates.items():
        yield MetricSample(m.GATE_PASSED, (pipeline,), float(passed))
        yield MetricSample(m.GATE_AT, (pipeline,), at.timestamp())
    live = Counter((case.pipeline, case.state.value) for case in cases if case.state in LIVE)
    for labels, count in sorted(live.items()):
        yield MetricSample(m.CASES, labels, count)


def of_objectives(outputs: Iterable[OutputObjective]) -> Iterator[MetricSample]:
    """Yield the samples of outputs that have an objective."""
    for output in outputs:
        standing, labels = output.standing, (output.declared.pipeline, output.declared.output)
        values: dict[Metric, float | None] = {
            m.OBJECTIVE: standing.window.ratio,
            m.OBJECTIVE_TARGET: 1 - standing.objective.allowed,
            m.OBJECTIVE_UNKNOWN: standing.window.unknown.total_seconds(),
            m.BUDGET_REMAINING: standing.remaining_ratio,
        }
        yield from _known(labels, values)
        for window, rate in standing.burn.items():
            yield from _known((*labels, window), {m.BURN_RATE: rate})


def of_costs(costs: Iterable[PipelineCost]) -> Iterator[MetricSample]:
    """Yield the samples of what pipelines have used today; a kind of work that was not done has none."""
    for cost in costs:
        for kind, seconds in cost.seconds.items():
            yield MetricSample(m.DAY_COST, (cost.pipeline, kind), seconds)


def of_topics(differences: Mapping[str, int], at: datetime) -> Iterator[MetricSample]:
    """Yield the samples of topics: their number of differences, 0 included, when the cluster was compared (UTC)."""
    yield MetricSample(m.TOPICS_COMPARED, (), at.timestamp())
    for topic, count in sorted(differences.items()):
        yield MetricSample(m.DIFFERENCES, (topic,), count)


def of_alerts(history: AlertHistory) -> Iterator[MetricSample]:
    """Yield the samples of alerts; one whose delivery has no outcome is `unknown`."""
    counts = Counter(
        (alert.level.value, "unknown" if (own := history.deliveries.get(alert.id)) is None else own.outcome.value)
        for alert in history.alerts
    )
    for labels, count in sorted(counts.items()):
        yield MetricSample(m.ALERTS, labels, count)


def _known(labels: tuple[str, ...], values: Mapping[Metric, float | None]) -> Iterator[MetricSample]:
    for metric, value in values.items():
        if value is not None:
            yield MetricSample(metric, labels, value)
