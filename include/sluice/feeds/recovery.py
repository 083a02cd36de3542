"""What the topic holds beyond what the manifest knows: found out by reading it.

A sender may die at any moment: after a record was sent and before it was acknowledged, or after that and before the
manifest was saved. So nothing beyond `known_offsets` is believed from memory. The topic is read from there, and a
record counts as sent when its bytes are exactly those that the source gives for its identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any

from sluice.clock import Clock
from sluice.errors import RefusedError
from sluice.feeds.manifest import Manifest, SentRange
from sluice.feeds.ports import TopicReader
from sluice.feeds.record import FeedRecord, FeedSource
from sluice.feeds.topic_tail import quiet_ends, refuse_hidden
from sluice.specs.model.model import TopicValue
from sluice.topics.declared_time import read_time
from sluice.topics.declared_value import read_fields
from sluice.topics.records import Record, RecordPosition


def recover(manifest: Manifest, source: FeedSource, value: TopicValue, reader: TopicReader, clock: Clock) -> int:
    """Bring the manifest up to the end of the topic; return how many records it had not known.

    Raises:
        RefusedError: records that it would have to read are gone, or hidden by an open transaction.
        UnreachableError: the topic could not be read.
    """
    extent = reader.extent()
    start = _known(manifest, extent.beginnings)
    if manifest.sending or not manifest.known_offsets:
        refuse_hidden(manifest, extent.held)
    end = quiet_ends(reader, clock) if manifest.sending else extent.ends
    stored = list(reader.read(start, end))
    unknown = _found(stored, manifest, source)
    days = [record.day for record, _ in unknown]
    for record, position in unknown:
        entry = _unfinished(manifest, record.day) or manifest.begin(min(days), max(days), start, clock.now())
        manifest.add(entry, record, position, source.days())
    sending = [entry for entry in manifest.ranges if not entry.finished] if manifest.sending else []
    for at in stored:
        instant = _heartbeat(read_fields(at.value, value) or {}, value)
        if instant is not None:
            manifest.advance(instant, RecordPosition(at.partition, at.offset))
            for entry in sending[-1:]:  # it is of the range that was being sent; any other is another sender's
                entry.heartbeat = instant
    manifest.known_offsets = {p: max(last, manifest.known_offsets.get(p, 0)) for p, last in end.items()}
    return len(unknown)


def _known(manifest: Manifest, beginnings: Mapping[int, int]) -> dict[int, int]:
    if not manifest.known_offsets:
        return dict(beginnings)
    gone = {p: (known, beginnings[p]) for p, known in manifest.known_offsets.items() if known < beginnings.get(p, 0)}
    if gone:
        ranges = ", ".join(f"{known} to {first - 1} of partition {p}" for p, (known, first) in sorted(gone.items()))
        raise RefusedError(
            f"The topic {manifest.topic} no longer has offsets {ranges}, which may hold records of the feed "
            f"{manifest.feed}: what was sent cannot be known, and might be sent twice.",
            fix="delete the topic, create it again and send the feed from the start.",
        )
    return {partition: manifest.known_offsets.get(partition, first) for partition, first in beginnings.items()}


def _found(stored: Iterable[Record], manifest: Manifest, source: FeedSource) -> list[tuple[FeedRecord, RecordPosition]]:
    """Return the source's records among the stored ones that the manifest does not have, in the order of the feed."""
    positions: dict[tuple[int, bytes], RecordPosition] = {}
    for at in stored:
        identity = None if at.value is None else source.identify(at.value)
        if identity is not None and at.value is not None:
            positions.setdefault((identity, at.value), RecordPosition(at.partition, at.offset))
    wanted = source.find({identity for identity, _ in positions})
    pairs = [(record, positions.get((record.identity, record.payload))) for record in wanted]
    sent = [(record, at) for record, at in pairs if at is not None and not manifest.has(record)]
    return sorted(sent, key=lambda pair: (pair[0].arrival, pair[0].identity))


def _unfinished(manifest: Manifest, day: date) -> SentRange | None:
    """Return the range for which a found record was sent: the last unfinished one that asked for its day."""
    asked = (entry for entry in reversed(manifest.ranges) if entry.first <= day <= entry.last and not entry.finished)
    return next(asked, None)


def _heartbeat(fields: Mapping[str, Any], value: TopicValue) -> datetime | None:
    """Return the event time of a heartbeat; None for anything else."""
    if value.heartbeat is None or fields.get(value.heartbeat) is not True:
        return None
    return read_time(fields.get(value.event_time), value.fields[value.event_time])
