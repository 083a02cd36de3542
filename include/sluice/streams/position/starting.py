"""From what a user writes to offsets: where a stream begins that has read nothing, and where a reset puts it.

`latest` and a time mean something else a second later. So they become offsets once, and these are put on record before
anything is read: a crash before the first batch does not resolve them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sluice.clock import Clock
from sluice.errors import NotReadyError, RefusedError, SpecError
from sluice.specs.model.start import Edge, StartPosition, in_words
from sluice.streams.position.epochs import Epoch, Epochs, joined_ids
from sluice.topics.administration import KafkaAdministration, TopicExtent


def resolve(
    position: StartPosition, topic: str, extent: TopicExtent, cluster: KafkaAdministration, unnamed: Mapping[int, int]
) -> dict[int, int]:
    """Return the first offset of every partition.

    Args:
        position: what is asked for.
        topic: its name.
        extent: what it holds.
        cluster: is asked for offsets by time.
        unnamed: the first offset of a partition that `position` could name and does not.

    Raises:
        SpecError: it names a partition that there is not, or an offset that the partition does not hold.
        UnreachableError: the cluster did not answer.
    """
    match position:
        case Edge.EARLIEST:
            return dict(extent.beginnings)
        case Edge.LATEST:
            return dict(extent.ends)
        case datetime():
            found = cluster.offsets_at(topic, position)
            return {p: min(max(found.get(p, end), extent.beginnings[p]), end) for p, end in extent.ends.items()}
    _refuse_outside(position, topic, extent)
    return {p: position.get(p, unnamed.get(p, first)) for p, first in extent.beginnings.items()}


def _refuse_outside(offsets: Mapping[int, int], topic: str, extent: TopicExtent) -> None:
    for partition, offset in sorted(offsets.items()):
        if partition not in extent.ends:
            raise SpecError(
                f"{topic}/{partition} is named, and {topic} has the partitions 0 to {len(extent.ends) - 1}.",
                fix="name partitions that there are.",
            )
        first, end = extent.beginnings[partition], extent.ends[partition]
        if not first <= offset <= end:
            raise SpecError(
                f"{topic}/{partition} shall begin at offset {offset}, and the broker has {first} to {end - 1}.",
                fix=f"name an offset from {first} to {end} (its end), or `earliest`, `latest` or a time.",
            )


def beginnings(
    start: StartPosition,
    topics: Sequence[str],
    streams: Mapping[str, Epochs],
    cluster: KafkaAdministration,
    clock: Clock,
    *,
    tables: Sequence[str] = (),
) -> dict[str, Epoch]:
    """Return what is to be put on record of those streams of a pipeline that have read nothing: where they begin.

    All of them begin at the same place: also one that is added to the pipeline later. A checkpoint does not say which
    topic its offsets count in; without the record, a topic that was created again would be read from the middle.

    Args:
        start: what the spec says.
        topics: that they read.
        streams: the epochs of every stream of the pipeline, or of the raw table.
        cluster: of the deployment.
        clock: gives the time of the record.
        tables: the settled tables that they read, as `table_input` calls them; each is read from its first version.

    Raises:
        SpecError: the spec names what the topic does not hold.
        UnreachableError: the cluster did not answer.
    """
    fresh = [name for name, epochs in streams.items() if epochs.fresh]
    if not fresh:
        return {}
    extents = {topic: cluster.extent(topic) for topic in topics}
    identity = joined_ids([*(extent.topic_id for extent in extents.values()), *tables])
    known = next((r for e in streams.values() if (r := e.of(0)) and r.topic_id == identity), None)
    if known is None:
        # The first record may be deleted before it is read: where it is now says nothing.
        offsets = {} if start is Edge.EARLIEST else _resolved(start, extents, cluster)
        known = Epoch(0, identity, offsets, in_words(start), "the spec", "start", clock.now().astimezone(UTC))
    return dict.fromkeys(fresh, known)


def _resolved(start: StartPosition, extents: Mapping[str, TopicExtent], cluster: KafkaAdministration) -> dict[str, int]:
    first = {topic: resolve(start, topic, own, cluster, own.beginnings) for topic, own in extents.items()}
    return {f"{topic}/{partition}": offset for topic, own in first.items() for partition, offset in sorted(own.items())}


def begin(epochs: Epochs, first: Epoch) -> None:
    """Put on record where a stream begins. What another attempt of the same unit has recorded meanwhile counts.

    Raises:
        UnreachableError: the record cannot be written.
        NotReadyError: another attempt has recorded another place.
    """
    try:
        epochs.record(first)
    except RefusedError:
        newest = epochs.newest()
        if newest is None or (newest.topic_id, newest.offsets) != (first.topic_id, first.offsets):
            raise NotReadyError(
                "another attempt has just put on record that this stream begins elsewhere.", fix="start the unit again."
            ) from None
