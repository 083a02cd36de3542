"""One of the writers that race in a bucket, as a process: `commit` or `put`, the place, its name, and how often."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from sluice.delta.writer_log import WriterLog
from sluice.errors import UnreachableError
from sluice.intervals.entries import StreamEntry
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.objects import objects_in

SCHEMA = pa.schema([("who", pa.string()), ("n", pa.int64())])


class RaceWriter:
    """A driver that appends one row in each commit, and is started again when one fails.

    Args:
        table: where it appends.
        who: its name.
    """

    def __init__(self, table: BucketFolder, who: str) -> None:
        self._table = table
        self._who = who
        self._generation = 0
        self._tried = 0
        self.why: Counter[str] = Counter()

    def append_all(self, count: int) -> dict[str, Any]:
        """Commit so many rows, and return how it went."""
        made = 0
        while made < count:
            try:
                log = self._started()
                made = 0 if log.latest is None else log.latest.end["t/0"]
                for number in range(made, count):
                    self._commit(log, number)
                    made = number + 1
            except (DeltaError, OSError, UnreachableError) as error:
                self.why[f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"] += 1
        return {"again": self._tried - count, "restarts": self._generation - 1, "why": dict(self.why)}

    def _started(self) -> WriterLog:
        self._generation += 1
        log = WriterLog(self._table, f"{self._who}:id:0", self._generation)
        log.open()
        return log

    def _commit(self, log: WriterLog, number: int) -> None:
        row = pa.table({"who": [self._who], "n": [number]}, schema=SCHEMA)

        def write(table: DeltaTable, properties: CommitProperties) -> None:
            self._tried += 1
            write_deltalake(table, row, mode="append", commit_properties=properties)

        entry = StreamEntry(log.writer, log.generation, "a", number, {"t/0": number}, {"t/0": number + 1})
        log.commit(entry, number + 1, write)


def put_all(folder: BucketFolder, who: str, count: int) -> dict[str, Any]:
    """Put an object under each name that has none, and return the numbers of those that this writer won."""
    objects = objects_in(folder)
    return {"won": [number for number in range(count) if objects.put_if_absent(f"{number}.json", who.encode())]}


if __name__ == "__main__":
    what, place, name, times = sys.argv[1:]
    at = BucketFolder.at(place)
    told = RaceWriter(at, name).append_all(int(times)) if what == "commit" else put_all(at, name, int(times))
    print(json.dumps(told))
