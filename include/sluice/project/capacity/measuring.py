"""Reads what was measured of the driver of a pipeline: logs of batches, tables, topics."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from sluice.capacity.load import batch_times, load_windows
from sluice.capacity.measured import MeasuredUnit, StoredBytes
from sluice.delta.size import bytes_and_rows
from sluice.errors import NotReadyError, SluiceError
from sluice.launch.master_address import on_this_machine
from sluice.project.project import Project
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.needs import resources_of
from sluice.specs.catalog.rhythm import rhythm_of
from sluice.specs.catalog.streams import live_stream, raw_stream
from sluice.specs.model.lanes import Lane
from sluice.specs.model.model import PipelineSpec
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
    return MeasuredUnit(
        unit=unit.name,
        pipeline=pipeline,
        windows=load_windows(logs, _counting(spec, logs)),
        batch_times={stream: batch_times(logs[stream]) for stream in timed},
        triggers={stream: rhythm_of(project.catalog, stream).trigger.total_seconds() for stream in unit.streams},
        shown=_shown(spec),
        cores=_cores(project, unit),
        tasks=_tasks(project, spec),
        state_bytes=float(sum(batch.state_bytes for batch in newest)),
        stored=list(_stored(project, spec)),
        beside=[name for name in unit.pipelines if name != pipeline],
        **_memory(logs),
    )


def _counting(spec: PipelineSpec, logs: Mapping[str, Sequence[BatchFigures]]) -> str:
    """Return the stream that says how many records came: beside a settled table a pipeline's own one does not."""
    streams = (spec.name, live_stream(spec), *map(raw_stream, spec.topics))
    known = (stream for stream in streams if any(batch.read is not None for batch in logs.get(stream or "", ())))
    return next(known, None) or spec.name


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


def _tasks(project: Project, spec: PipelineSpec) -> int:
    """Return how many tasks a batch has at most: one for each partition, or as many as `min_partitions` cuts."""
    topics = [project.catalog.topics[name] for name in spec.topics]
    return sum(max(topic.partitions, topic.raw.min_partitions or 0) for topic in topics)


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


def _stored(project: Project, spec: PipelineSpec) -> Iterator[StoredBytes]:
    """Yield what the tables and topics of a pipeline keep, each per record of its topics."""
    records = 0
    for name in spec.topics:
        topic = project.catalog.topics[name]
        size, rows = bytes_and_rows(project.folder.table(topic.raw.table))
        records += rows
        if rows:
            yield StoredBytes(f"raw table {topic.raw.table}", size, rows, _seconds(topic.raw.retention))
    if spec.has_intervals and records:
        size, _ = bytes_and_rows(project.folder.table(spec.intervals.table))
        # Some of the rows that these records made are of records that the raw table keeps no longer.
        yield StoredBytes(f"table {spec.intervals.table}", size, records, None)
    yield from _topics(project, spec)


def _topics(project: Project, spec: PipelineSpec) -> Iterator[StoredBytes]:
    try:
        with project.kafka.administration() as cluster:
            sizes, extents = cluster.sizes(spec.topics), cluster.extents(spec.topics)
    except SluiceError:
        return
    for name in spec.topics:
        extent = extents.get(name)
        if extent is None or isinstance(extent, SluiceError):
            continue
        records = sum(extent.ends[partition] - extent.beginnings.get(partition, 0) for partition in extent.ends)
        held = sum(sum(replicas.values()) for (topic, _), replicas in sizes.items() if topic == name)
        if records > 0 and held:
            kept = project.catalog.topics[name].retention
            yield StoredBytes(f"topic {name}", held, records, _seconds(kept))


def _seconds(kept: object) -> float | None:
    return kept.total_seconds() if isinstance(kept, timedelta) else None
