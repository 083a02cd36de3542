"""A reader of a proof's raw table: it looks while records come and faults strike, and reads all of it at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from sluice.delta.reading import dataset_of
from sluice.errors import NotReadyError
from sluice.proof.observations import ObservedKind, ObservedRecord, ObservedRecords, ReaderLook
from sluice.proof.running.sending import checksum
from sluice.storage.folder import Folder
from sluice.topics.records import RecordPosition

_COLUMNS = ["partition", "offset", "value"]


class RawReader:
    """Reads as any other reader of a Delta table does, without Spark.

    Args:
        folder: of the table.
        topic: whose records it holds.
        ids: the ids of the values that were sent; it may grow.
        positions: the ids of the records that were acknowledged, by which one is known whose value was changed; the
            same.
        now: seconds since 1970.
    """

    def __init__(
        self,
        folder: Folder,
        topic: str,
        ids: Mapping[bytes, str],
        positions: Mapping[RecordPosition, str],
        now: Callable[[], float],
    ) -> None:
        self._folder, self._topic, self._ids, self._positions, self._now = folder, topic, ids, positions, now
        self._first_seen: dict[RecordPosition, float | None] = {}

    def look(self) -> ReaderLook:
        """Return what is there now. A record counts as readable from the end of the first look that has it."""
        rows = self._rows()
        at = self._now()
        for position, _ in rows:
            self._first_seen.setdefault(position, at)
        times = Counter(self._id(*row) for row in rows)
        return ReaderLook(self._folder.name, at, frozenset(times), sum(count - 1 for count in times.values()))

    def ignore_times(self) -> None:
        """Forget when the records of so far came: they waited for the driver's start, which is no latency."""
        self._first_seen = dict.fromkeys(self._first_seen)

    def all(self) -> ObservedRecords:
        """Return all records by partition and offset."""
        records = tuple(
            ObservedRecord(self._id(*row), checksum(row[1]), row[0], self._first_seen.get(row[0]))
            for row in sorted(self._rows())
        )
        return ObservedRecords(self._folder.name, ObservedKind.RAW, records, topic=self._topic)

    def _rows(self) -> list[tuple[RecordPosition, bytes]]:
        try:
            table = dataset_of(self._folder).to_table(columns=_COLUMNS)
        except NotReadyError:
            return []
        rows: list[dict[str, Any]] = table.to_pylist()
        return [(RecordPosition(row["partition"], row["offset"]), row["value"] or b"") for row in rows]

    def _id(self, position: RecordPosition, value: bytes) -> str:
        return self._ids.get(value) or self._positions.get(position) or f"the record at {position}"
