"""A settled table of another pipeline as a settler reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import DataFrame

from sluice.delta.log import read_log
from sluice.delta.reading import open_table
from sluice.delta.versions import partition_of, table_position, version_in
from sluice.intervals.alignment import Interval
from sluice.intervals.entries import Logged
from sluice.intervals.ledger import Ledger, fold
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.settling.examination import Examination
from sluice.settling.rules import SettlingRules
from sluice.settling.upstream import examined_table
from sluice.spark.settling.raw_source import RawFile
from sluice.spark.tables.raw_table import FEW
from sluice.spark.tables.upstream import UpstreamTable
from sluice.storage.folder import Folder


@dataclass
class _KnownLog:
    """The entries of a table's log; those that were read once are not read again."""

    folder: Folder
    entries: list[Logged] = field(default_factory=list)

    def until(self, version: int) -> list[Logged]:
        newest = self.entries[-1].version if self.entries else -1
        if version > newest:
            self.entries += read_log(self.folder, after=newest)
        return [logged for logged in self.entries if logged.version <= version]


class SettledTableSource:
    """Implements `sluice.settling.ports.RawSource`, and what a computation asks of a source.

    Args:
        name: what `table_input` calls the table.
        table: the table.
        rules: of the pipeline that reads it, for this source.
    """

    def __init__(self, name: str, table: UpstreamTable, rules: SettlingRules) -> None:
        self.name = name
        self.rules = rules
        self._table = table
        self._log = _KnownLog(table.folder)
        self._ledgers: dict[int, Ledger] = {}

    def pin(self) -> RawPosition:
        """See the port."""
        return table_position(self._table.folder, self.name)

    def listed_ends(self) -> Reach:
        """See the port: what it says is as true of a table that is read as of one that is asked."""
        return self.pin().reach

    def examine(self, pinned: RawPosition, since: Reach, settled_until: datetime | None) -> Examination:
        """See the port."""
        end = {partition_of(self.name): pinned.version + 1}
        known = version_in(since, self.name)
        between = [logged for logged in self._log.until(pinned.version) if logged.version > known]
        before, after = self._ledger(known), self._ledger(pinned.version)
        return examined_table(before, after, end, self.rules, settled_until, since=between)

    def around(self, _pinned: RawPosition, _hole: Hole, /) -> tuple[datetime | None, datetime | None]:
        """See the port: a table that is there has no holes."""
        return None, None

    def records(self, pinned: RawPosition, below: Reach, read: Interval, *, few: int = FEW) -> DataFrame:
        """See `ComputedSource`."""
        return self._table.rows(min(pinned.version, version_in(below, self.name)), [read], few=few)

    def hours(self, pinned: RawPosition, read: Interval) -> list[Interval]:
        """See `ComputedSource`."""
        return self._table.hours(pinned.version, read)

    def files(self, pinned: RawPosition, between: Interval) -> list[RawFile]:
        """See `ComputedSource`. A file holds rows of one interval, which its partition names."""
        if pinned.version < 0:
            return []
        files = open_table(self._table.folder, pinned.version).get_add_actions(flatten=True)
        columns = files.schema.names
        names = (f"partition.{self._table.column}", "num_records")
        starts, records = (files.column(columns.index(name)).to_pylist() for name in names)
        length = self._table.code.output.interval_length
        each = (RawFile(at, at + length, rows or 0) for at, rows in zip(starts, records, strict=True) if at is not None)
        return [file for file in each if file.overlaps(between)]

    def _ledger(self, version: int) -> Ledger:
        if version not in self._ledgers:
            ledger = fold(self._log.until(version), self._table.code.output.interval_length)
            newest = sorted(self._ledgers)[-1:]  # each round asks for the version of the one before, and for its own
            self._ledgers = {**{known: self._ledgers[known] for known in newest}, version: ledger}
        return self._ledgers[version]
