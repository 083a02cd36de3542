"""What the tables and topics of a pipeline keep, and of how many of its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from sluice.capacity.measured import StoredBytes
from sluice.delta.size import bytes_and_rows
from sluice.errors import SluiceError
from sluice.project.project import Project
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import LatestOutput, Output, RowsOutput, SinkOutput, WrittenTopic

_CUT = "its raw table has no longer all records that it was made of (`raw.retention`)"
_FILLED = "how many records it gets is not measured"


def stored_by(project: Project, spec: PipelineSpec, shares: Mapping[str, float]) -> Iterator[StoredBytes]:
    """Yield what the tables and topics of a pipeline keep.

    Args:
        project: where it runs.
        spec: of the pipeline.
        shares: how many of its records are those of each topic, from 0 to 1.
    """
    held: dict[str, int] = {}
    for name in spec.topics:
        raw = project.catalog.topics[name].raw
        size, held[raw.table] = bytes_and_rows(project.folder.table(raw.table))
        if held[raw.table]:
            yield StoredBytes(f"raw table {raw.table}", size, held[raw.table], _seconds(raw.retention), shares[name])
    records = sum(held.values())
    if spec.has_intervals and records:
        yield _settled(project, spec, held, shares)
    if records:
        for output in spec.side_outputs:
            yield from _beside(project, spec, output, records)
    yield from _topics(project, spec, shares)


def _settled(project: Project, spec: PipelineSpec, held: Mapping[str, int], shares: Mapping[str, float]) -> StoredBytes:
    """Return what the interval table keeps of the intervals whose records the raw tables still have."""
    intervals, whole = spec.intervals, project.tables.whole_now(spec.name)
    since = None if whole is None else whole.start
    size, _ = bytes_and_rows(project.folder.table(intervals.table), intervals.time_column, since)
    records = float(sum(held.values()))
    if whole is not None:  # other raw tables may go further back
        share = next(shares[name] for name in spec.topics if project.catalog.topics[name].raw.table == whole.table)
        records = held[whole.table] / share if share else records
    return StoredBytes(f"table {intervals.table}", size, records, None)


def _beside(project: Project, spec: PipelineSpec, output: Output, records: int) -> Iterator[StoredBytes]:
    match output:
        case RowsOutput(table=table):
            name, (size, _) = f"table {table}", bytes_and_rows(project.folder.table(table))
            cut = any(project.catalog.topics[topic].raw.retention is not None for topic in spec.topics)
            yield StoredBytes(name, size, records, None, unknown=_CUT if cut else "")
        case LatestOutput(table=table, store="delta"):
            size, _ = bytes_and_rows(project.folder.table(table))
            if size:
                yield StoredBytes(f"table {table}", size, 0, None)
        case LatestOutput(table=table):
            yield StoredBytes(f"table {table}", 0, 0, None, unknown="it is in PostgreSQL")
        case WrittenTopic(topic=topic):
            yield StoredBytes(f"topic {topic}", 0, 0, None, unknown=_FILLED)
        case SinkOutput():
            return


def _topics(project: Project, spec: PipelineSpec, shares: Mapping[str, float]) -> Iterator[StoredBytes]:
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
            yield StoredBytes(f"topic {name}", held, records, _seconds(kept), shares[name])


def _seconds(kept: object) -> float | None:
    return kept.total_seconds() if isinstance(kept, timedelta) else None
