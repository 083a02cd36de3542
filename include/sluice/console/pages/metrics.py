"""Metrics for Prometheus: what the pages show, as samples. A scrape shows its token like any other program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Response
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from sluice import __version__
from sluice.alerts.journal import Journal
from sluice.console.context.access import Visitor, VisitorDep, readable
from sluice.console.context.page_context import ConsoleContext, ContextDep
from sluice.console.metrics.catalogue import BUILD_INFO, CATALOGUE, Metric, MetricType
from sluice.console.metrics.samples import (
    MetricSample,
    of_alerts,
    of_costs,
    of_objectives,
    of_pipelines,
    of_streams,
    of_topics,
)
from sluice.console.pages.alerts import readable_alerts
from sluice.console.pages.cost import lately_used
from sluice.console.pages.fleet import statuses_for
from sluice.console.pages.objectives import objectives_for
from sluice.errors import SluiceError
from sluice.quality.gate import GateResult
from sluice.specs.catalog.dag_ids import TOPICS, backfill_dag_id, quality_dag_id
from sluice.streams.health.batch_log import newest_batch

router = APIRouter()


@router.get("/metrics")
def metrics(visitor: VisitorDep, context: ContextDep) -> Response:
    """Return the samples of what the visitor may see."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector([*_samples(visitor, context)]))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)


class _Collector(Collector):
    """Hands samples to the library that knows the format."""

    def __init__(self, samples: list[MetricSample]) -> None:
        self._samples: dict[Metric, list[MetricSample]] = defaultdict(list)
        for sample in samples:
            self._samples[sample.metric].append(sample)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield each metric that has samples."""
        for metric in CATALOGUE:
            if metric not in self._samples:
                continue
            make = CounterMetricFamily if metric.kind is MetricType.COUNTER else GaugeMetricFamily
            family = make(metric.name, metric.help, labels=metric.labels)
            for sample in self._samples[metric]:
                family.add_metric(sample.labels, sample.value)
            yield family


def _samples(visitor: Visitor, context: ConsoleContext) -> Iterator[MetricSample]:
    project = context.project
    yield MetricSample(BUILD_INFO, (__version__,), 1.0)
    statuses = statuses_for(visitor, context)
    newest = {each.stream: newest_batch(project.folder.batch_log(each.stream)) for each in statuses}
    yield from of_streams(statuses, {stream: batch for stream, batch in newest.items() if batch is not None})
    yield from of_objectives(objectives_for(visitor, context))
    yield from of_costs(lately_used(visitor, context, days=1))
    yield from _of_pipelines(visitor, context)
    if visitor.readable([TOPICS]):
        yield from _of_topics(context)
    yield from of_alerts(readable_alerts(Journal(project.folder.alerts, clock=context.clock).read(), visitor))


def _of_pipelines(visitor: Visitor, context: ConsoleContext) -> Iterator[MetricSample]:
    project = context.project
    names = set(readable(visitor, {quality_dag_id(name): name for name in project.catalog.pipelines}))
    known = project.tables.index().overview()
    intervals: Mapping[str, tuple[datetime | None, Mapping[str, int]]] = {
        name: (known[name].closed_until, {state.value: count for state, count in known[name].counts.items()})
        for name in readable(visitor, {backfill_dag_id(name): name for name in project.catalog.interval_pipelines})
        if name in known
    }
    gates = {name: gate for name in names if (gate := _gate(project.folder.quality(name))) is not None}
    yield from of_pipelines(intervals, gates, [case for case in project.records.cases().of() if case.pipeline in names])


def _of_topics(context: ConsoleContext) -> Iterator[MetricSample]:
    memory = context.topics.get()
    if memory.value is not None and memory.at is not None:
        differing = memory.value.differing
        declared = context.project.catalog.kafka_topics()
        yield from of_topics({name: len(differing.get(name, ())) for name in declared}, memory.at)


def _gate(file: Path) -> tuple[bool, datetime] | None:
    try:
        return _read_gate(file, file.stat().st_mtime_ns)
    except (OSError, SluiceError):
        return None  # the page of quality says what is wrong with it


@lru_cache(maxsize=10_000)
def _read_gate(file: Path, changed: int) -> tuple[bool, datetime]:
    """Return a result as it was when its file was changed: it is read once, not at every scrape."""
    return GateResult.from_json(file.read_bytes()).passed, datetime.fromtimestamp(changed / 1e9, UTC)
