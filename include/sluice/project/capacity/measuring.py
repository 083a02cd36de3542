"""Reads what was measured of the driver of a pipeline: logs of batches, tables, topics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from sluice.capacity.load import batch_times, load_windows, records_read
from sluice.capacity.measured import MeasuredUnit
from sluice.delta.size import bytes_and_rows
from sluice.errors import NotReadyError
from sluice.launch.master_address import on_this_machine
from sluice.project.capacity.storing import stored_by
from sluice.project.project import Project
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.needs import resources_of
from sluice.specs.catalog.rhythm import rhythm_of
from sluice.specs.catalog.streams import live_stream, raw_stream
from sluice.specs.model.lanes import Lane
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.streams.health.batch_log import BatchFigures, batches

_MOST_BATCHES = 20_000
"""More than a log holds."""


def measured_unit(project: Project, pipeline: str) -> MeasuredUnit:
    """Return what was measured of a pipeline's driver.

    Args:
        project: where it runs.
        pipeline: its name.

    Raises:
        NotReadyError: it reads no topic, so no rate says how much it has to do.
        CorruptionError: the log of a table cannot be read.
    """
    spec = project.catalog.pipelines[pipeline]
    if not spec.topics:
        raise NotReadyError(
            f"the pipeline {pipeline} reads tables and no topic: its work follows from the pipelines that fill them.",
            fix=f"plan for those that settle {', '.join(spec.tables)}.",
        )
    unit = project.catalog.unit(spec.driver)
    logs = {stream: batches(project.folder.batch_log(stream), most=_MOST_BATCHES) for stream in unit.streams}
    newest = [log[-1] for log in logs.values() if log]
    timed = [stream for stream in _record_streams(spec, unit) if logs[stream]]
    first, *beside = _counting(spec, logs)
    raw = {raw_stream(topic): topic for topic in spec.topics}
    shares = _shares(project, spec, logs)
    return MeasuredUnit(
        unit=unit.name,
        pipeline=pipeline,
        windows=load_windows(logs, first, beside=beside),
        batch_times={stream: batch_times(logs[stream]) for stream in timed},
        triggers={stream: rhythm_of(project.catalog, stream).trigger.total_seconds() for stream in unit.streams},
        shown=_shown(spec),
        cores=_cores(project, unit),
        tasks=sum(_tasks(project.catalog.topics[topic]) for topic in spec.topics),
        stream_tasks={stream: _tasks(project.catalog.topics[topic]) for stream, topic in raw.items()},
        shares={stream: shares[topic] for stream, topic in raw.items()},
        state_bytes=float(sum(batch.state_bytes for batch in newest)),
        stored=list(stored_by(project, spec, shares)),
        beside=[name for name in unit.pipelines if name != pipeline],
        **_memory(logs),
    )


def _counting(spec: PipelineSpec, logs: Mapping[str, Sequence[BatchFigures]]) -> Sequence[str]:
    """Return the streams that say how many records came: beside a settled table a pipeline's own one does not."""
    own, raw = (spec.name, live_stream(spec)), [raw_stream(topic) for topic in spec.topics]
    known = [s for s in (*own, *raw) if s and any(batch.read is not None for batch in logs.get(s, ()))]
    if not known:
        return (spec.name,)
    return known[:1] if known[0] in own else known


def _shares(project: Project, spec: PipelineSpec, logs: Mapping[str, Sequence[BatchFigures]]) -> Mapping[str, float]:
    """Return how many of a pipeline's records are those of each of its topics: as read, or as the raw tables have."""
    read = {topic: float(records_read(logs.get(raw_stream(topic), ()))) for topic in spec.topics}
    if not all(read.values()):
        tables = {topic: project.folder.table(project.catalog.topics[topic].raw.table) for topic in spec.topics}
        read = {topic: float(bytes_and_rows(table)[1]) for topic, table in tables.items()}
    whole = sum(read.values())
    return {topic: records / whole if whole else 1 / len(read) for topic, records in read.items()}


def _record_streams(spec: PipelineSpec, unit: Unit) -> Sequence[str]:
    """Return the streams of a unit whose batches are as long as they have records; settling waits for intervals."""
    raw = [raw_stream(topic) for topic in spec.topics]
    own = spec.name if not spec.has_intervals else live_stream(spec)
    if spec.lane is Lane.REALTIME:
        own = None
    return [stream for stream in (*raw, own) if stream in unit.streams]


def _shown(spec: PipelineSpec) -> str | None:
    """Return the stream that shows a record first; None where batches do not say when that is."""
    live = live_stream(spec) if spec.has_intervals else spec.name
    if live is None:
        return raw_stream(spec.topics[0])
    return None if spec.lane is Lane.REALTIME else live


def _cores(project: Project, unit: Unit) -> int:
    declared = resources_of(project.catalog, unit).most_cores
    here = on_this_machine(project.processes.spark().master)
    return min(declared, os.cpu_count() or declared) if here else declared


def _tasks(topic: TopicSpec) -> int:
    """Return how many tasks a batch of a topic has at most: one for each partition, or what `min_partitions` cuts."""
    return max(topic.partitions, topic.raw.min_partitions or 0)


def _memory(logs: Mapping[str, Sequence[BatchFigures]]) -> dict[str, float | None]:
    """Return the greatest figures of the newest generation."""
    generation = max((log[-1].generation for log in logs.values() if log), default=0)
    own = [batch for log in logs.values() for batch in log if batch.generation == generation]
    said = [batch.jvm for batch in own if batch.jvm is not None]
    return {
        "memory_bytes": max((each.memory_bytes for each in own if each.memory_bytes is not None), default=None),
        "heap_used": max((each["heap_used_bytes"] for each in said if "heap_used_bytes" in each), default=None),
        "heap_max": max((each["heap_max_bytes"] for each in said if "heap_max_bytes" in each), default=None),
    }
