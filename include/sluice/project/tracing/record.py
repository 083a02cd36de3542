"""One record of a project, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sluice.errors import SluiceError, SpecError
from sluice.project.project import Project
from sluice.project.tracing.pipelines import trace_of_pipeline
from sluice.specs.model.model import TopicSpec, TopicValue
from sluice.topics.administration import TopicExtent
from sluice.topics.declared_value import parse_fields, read_fields
from sluice.topics.json_object import NoObjectError
from sluice.topics.names import near
from sluice.tracing.address import RecordAddress, refuse_partition
from sluice.tracing.judgement import FoundRecord
from sluice.tracing.storage import BatchCommit, RawStorage, StorageState, StoredRow, storage_of
from sluice.tracing.trace import KafkaHolding, Trace

_PATIENCE_SECONDS = 5


def trace_record(project: Project, address: RecordAddress, topic_id: str = "") -> Trace:
    """Return what became of a record, as far as logs, tables and records say it without Spark.

    What cannot be asked, such as a cluster that is down, is said in the answer.

    Args:
        project: specs and places.
        address: of the record.
        topic_id: of the topic that is meant, if several bore the name; empty: the newest that has come so far.

    Raises:
        SpecError: there is no such topic, partition or offset.
        CorruptionError: the log of the raw table cannot be read.
    """
    topic = _topic(project, address)
    extent = _extent(project, address.topic)
    raw = _raw_storage(project, topic, address, topic_id)
    _refuse_beyond(address, topic, extent, raw)
    kafka, record = _holding(address, extent), raw.row
    if record is None and kafka.holds(address, topic_id):
        try:
            record = _row_in_kafka(project, address, kafka)
        except SluiceError as error:
            kafka = KafkaHolding(why=str(error))
    fields, unread = _fields(record, topic.value)
    found = None if record is None else FoundRecord(address, record, fields, unread)
    readers = sorted(project.catalog.readers.get(address.topic, ()), key=lambda spec: spec.name)
    return Trace(
        address=address,
        unit=topic.raw.driver,
        table=topic.raw.table,
        raw=raw,
        kafka=kafka,
        record=record,
        fields=fields,
        commit=_raw_commit(project, topic, address, raw),
        copies=_copies(project, topic, address, raw, fields),
        pipelines=tuple(trace_of_pipeline(project, spec, found) for spec in readers if found is not None),
    )


def _topic(project: Project, address: RecordAddress) -> TopicSpec:
    catalog, name = project.catalog, address.topic
    if (topic := catalog.topics.get(name)) is not None:
        return topic
    fillers = [p.name for p in catalog.pipelines.values() if name in {output.topic for output in p.written_topics}]
    if fillers:
        raise SpecError(
            f"{name} is filled by {', '.join(fillers)}, and no spec declares what its records are: nothing reads it.",
            fix="a dead letter names its record in the headers `__sluice.errors.topic`, `.partition` and `.offset` "
            "(`sluice topics tail` shows them); trace that one.",
        )
    raise SpecError(f"no sound spec declares a topic {name!r}.", fix=near(name, catalog.topics))


def _extent(project: Project, topic: str) -> TopicExtent | SluiceError:
    try:
        with project.kafka.administration(patience_seconds=_PATIENCE_SECONDS) as administration:
            return administration.extent(topic)
    except SluiceError as error:
        return error


def _refuse_beyond(
    address: RecordAddress, topic: TopicSpec, extent: TopicExtent | SluiceError, raw: RawStorage
) -> None:
    """Refuse the address of a record that there is not, and never was.

    Raises:
        SpecError: the topic has no such partition, or nothing was appended there yet.
    """
    if raw.row is not None:
        return
    if isinstance(extent, SluiceError):
        refuse_partition(address, topic.partitions)
        return
    refuse_partition(address, len(extent.ends))
    end = extent.ends[address.partition]
    behind = extent.held.get(address.partition, 0)
    if address.offset >= end + behind:
        last = f"its last one is {end + behind - 1:,}" if end + behind else "it is empty"
        raise SpecError(
            f"{address.key} has no offset {address.offset:,} yet: {last}.",
            fix=f"correct the offset; `sluice topics tail {address.topic} --partition {address.partition}` shows some.",
        )


def _holding(address: RecordAddress, extent: TopicExtent | SluiceError) -> KafkaHolding:
    if isinstance(extent, SluiceError):
        return KafkaHolding(why=str(extent))
    end = extent.ends.get(address.partition, 0)
    return KafkaHolding(extent.topic_id, extent.beginnings.get(address.partition, end), end)


def _raw_storage(project: Project, topic: TopicSpec, address: RecordAddress, topic_id: str) -> RawStorage:
    from sluice.delta.raw.traced_records import first_offset, rows_of  # noqa: PLC0415 - see `Project`

    folder = project.folder.table(topic.raw.table)
    # The rows first: the table only grows, so it is never seen less far than they are.
    rows, position = rows_of(folder, address), project.tables.raw_position(topic.name)
    newest = topic_id or next(reversed(position.reach.topics), "")
    first = None if any(row.topic_id == newest for row in rows) else first_offset(folder, newest, address.partition)
    return storage_of(address, rows, position, first, topic_id)


def _row_in_kafka(project: Project, address: RecordAddress, kafka: KafkaHolding) -> StoredRow | None:
    """Return a record as Kafka has it; None if it has none at this offset."""
    partition, offset = address.partition, address.offset
    with project.kafka.reader(patience_seconds=_PATIENCE_SECONDS) as reader:
        found = next(reader.read(address.topic, {partition: offset}, {partition: offset + 1}), None)
    return None if found is None else StoredRow(kafka.topic_id, found.at, found.key, found.value, found.headers)


def _fields(record: StoredRow | None, declared: TopicValue) -> tuple[Mapping[str, Any] | None, str]:
    """Return the fields of a record's value, and why it has none."""
    if record is None or declared.format == "avro":
        return None, ""
    try:
        return parse_fields(record.value, declared), ""
    except NoObjectError as error:
        return None, str(error)


def _raw_commit(project: Project, topic: TopicSpec, address: RecordAddress, raw: RawStorage) -> BatchCommit | None:
    from sluice.delta.raw.traced_records import batch_of  # noqa: PLC0415 - see `Project`

    return None if raw.row is None else batch_of(project.folder.table(topic.raw.table), address, raw.row.topic_id)


def _copies(
    project: Project, topic: TopicSpec, address: RecordAddress, raw: RawStorage, fields: Mapping[str, Any] | None
) -> tuple[str, ...]:
    """Return the addresses of other records that may be of the same event: of its time, and of its bytes or id."""
    from sluice.delta.raw.traced_records import alike  # noqa: PLC0415 - see `Project`

    if raw.state is not StorageState.HELD or raw.row is None:
        return ()
    wanted = partial(_is_alike, raw.row, topic.value, fields or {})
    own = raw.row.topic_id, address.partition, address.offset
    found = sorted(place for place in alike(project.folder.table(topic.raw.table), raw.row, wanted) if place != own)
    return tuple(str(RecordAddress(address.topic, partition, offset)) for _, partition, offset in found)


def _is_alike(record: StoredRow, declared: TopicValue, fields: Mapping[str, Any], value: bytes | None) -> bool:
    if value == record.value:
        return True
    names = declared.event_id or ()
    identity = [fields.get(name) for name in names]
    if not identity or None in identity:
        return False
    others = read_fields(value, declared) or {}
    return [others.get(name) for name in names] == identity
