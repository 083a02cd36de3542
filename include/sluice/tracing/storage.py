"""Where a record stands in the raw table of its topic, also where it is not in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sluice.intervals.reach import Hole, RawPosition
from sluice.tracing.address import RecordAddress
from sluice.wording import ExplainedEnum, counted


class StorageState(ExplainedEnum):
    """Where a record stands in the raw table of its topic."""

    HELD = "held", "the raw table holds it"
    UNREAD = "unread", "the raw stream has not come to it yet", "start the unit that reads the topic, or wait"
    BEFORE = (
        "before the table",
        "the raw table begins behind it: the raw stream was started, or reset, to later offsets",
    )
    LOST = (
        "lost",
        "it was gone from the topic before the raw stream came to it",
        "if something else has a copy, send that again; the intervals that may lack it are dirty",
    )
    REMOVED = (
        "removed",
        "it may have been removed by its age (`raw.retention`), and is not there any more",
        "nothing: what was published of it stays",
    )
    ABSENT = (
        "absent",
        "the raw stream has passed this offset, and there was no record to be read",
        "nothing, if it is the mark of a transaction; a backfill in mode verify compares the raw table with Kafka",
    )


@dataclass(frozen=True)
class StoredRow:
    """A record as the raw table holds it, or, before that, as Kafka does.

    Attributes:
        topic_id: the cluster's UUID of the topic that it was appended to; empty if unknown.
        at: the record's timestamp (UTC); None if it has none.
        key: None where it has none.
        value: None of a tombstone.
        headers: in their order.
        event_time: when it happened (UTC); None if its bytes do not say so, or nobody has decoded it.
        arrival_time: when it became known (UTC); the same.
        decodes: whether it is what its topic declared when it was read; None: nobody has decoded it.
        file: of the raw table, that it is in; empty in none.
    """

    topic_id: str
    at: datetime | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    event_time: datetime | None = None
    arrival_time: datetime | None = None
    decodes: bool | None = None
    file: str = ""


@dataclass(frozen=True)
class BatchCommit:
    """The commit by which a stream passed a record.

    Attributes:
        version: of the table.
        at: when (UTC).
        generation: of the driver.
        batch_id: Spark's number of the batch.
        code: hash of the code behind it; empty for a raw table.
        begun: when the commit before it was made (UTC), which its rows are later than; None if that is not known.
    """

    version: int
    at: datetime
    generation: int
    batch_id: int
    code: str = ""
    begun: datetime | None = None


@dataclass(frozen=True)
class RawStorage:
    """Where a record stands in the raw table.

    Attributes:
        state: in one word.
        why: the same in one clause, with the offsets that prove it.
        row: the record; None unless the table holds it.
        others: ids of further topics of this name that had a record at this address.
    """

    state: StorageState
    why: str
    row: StoredRow | None = None
    others: tuple[str, ...] = ()


def storage_of(
    address: RecordAddress, rows: Sequence[StoredRow], position: RawPosition, first: int | None, topic_id: str = ""
) -> RawStorage:
    """Judge where a record stands.

    A topic that was deleted and created again counts its offsets again. The newest of its topics is meant, unless it
    has not come so far or another is named.

    Args:
        address: of the record.
        rows: what the raw table has at this address, one for each topic that bore the name.
        position: how far the raw table goes.
        first: the first offset of the partition that the table holds of the newest topic; None: it holds none.
        topic_id: which topic is meant; empty: see above.
    """
    by_topic = {row.topic_id: row for row in rows}
    newest = topic_id or next(reversed(position.reach.topics), "")
    end = position.reach.offsets.get(address.key, 0)
    row = by_topic.get(newest)
    if row is None and not topic_id and address.offset >= end and rows:
        row = _newest_of(by_topic, position)
    others = tuple(sorted(by_topic.keys() - {row.topic_id if row else ""}))
    if row is not None:
        return RawStorage(StorageState.HELD, StorageState.HELD.meaning, row, others)
    if (hole := _hole(address, newest, position.holes)) is not None:
        return RawStorage(StorageState.LOST, f"{hole} were gone before the raw stream read them", None, others)
    if position.version < 0:
        return RawStorage(StorageState.UNREAD, "nothing of the topic was read yet: there is no raw table", None, others)
    if newest == next(reversed(position.reach.topics), "") and address.offset >= end:
        read = "nothing of it is read yet" if not end else f"it is read up to offset {end - 1:,}"
        away = "" if not end else f", {counted(address.offset - end + 1, 'offset')} before this one is"
        return RawStorage(StorageState.UNREAD, f"{address.key}: {read}{away}", None, others)
    state, why = _passed(address, position, first)
    return RawStorage(state, why, None, others)


def _passed(address: RecordAddress, position: RawPosition, first: int | None) -> tuple[StorageState, str]:
    """Judge a record that is not there although the raw stream is behind its offset: its state, and why."""
    if position.floor is not None:
        return StorageState.REMOVED, f"the raw stream has passed it; {position.floor.text('the raw table')}"
    if first is None or address.offset < first:
        begins = "has nothing" if first is None else f"begins at offset {first:,}"
        return StorageState.BEFORE, f"the raw table {begins} of {address.key}"
    return StorageState.ABSENT, StorageState.ABSENT.meaning


def _newest_of(by_topic: dict[str, StoredRow], position: RawPosition) -> StoredRow:
    """Return the row of the youngest topic that has one; of topics that no log names, any."""
    known = [topic for topic in reversed(position.reach.topics) if topic in by_topic]
    return by_topic[known[0] if known else max(by_topic)]


def _hole(address: RecordAddress, topic_id: str, holes: Sequence[Hole]) -> Hole | None:
    return next(
        (
            hole
            for hole in holes
            if hole.partition == address.key
            and hole.topic in (topic_id, "")
            and hole.first <= address.offset < hole.end
        ),
        None,
    )
