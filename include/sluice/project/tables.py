"""What the tables of a project hold, by their logs: ledgers of intervals, and how far raw tables go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sluice.intervals.alignment import Interval
from sluice.intervals.ledger import Ledger, fold
from sluice.intervals.raw_floor import RawFloor, WholeFrom
from sluice.intervals.reach import RawPosition, Reach
from sluice.project.records import ProjectRecords
from sluice.settings import StateFolder
from sluice.settling.retention import whole_from
from sluice.settling.rules import SettlingRules
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.streams import raw_stream
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.sources import table_of
from sluice.storage.objects import objects_in
from sluice.streams.position.epochs import Epochs

if TYPE_CHECKING:
    from sluice.control.index import LedgerIndex, LedgerSource


@dataclass(frozen=True)
class ProjectTables:
    """The raw and interval tables that the specs declare."""

    catalog: Catalog
    folder: StateFolder
    records: ProjectRecords

    def ledger(self, pipeline: str) -> Ledger:
        """Return the interval ledger of a pipeline's output, as its log and the raw table are now.

        Raises:
            CorruptionError: the log cannot be read.
        """
        from sluice.delta.log import read_log  # noqa: PLC0415 - see `Project`

        spec = self.catalog.pipelines[pipeline]
        # The entries first: the raw table only grows, so it is never seen further back than they are.
        entries = read_log(self.folder.table(spec.intervals.table))
        each = {name: self.position(name) for name in spec.reads}
        whole = self.whole(pipeline, {name: position.floor for name, position in each.items()})
        return fold(entries, spec.intervals.interval_length, _joined(each), whole)

    def whole(self, pipeline: str, floors: Mapping[str, RawFloor | None]) -> WholeFrom | None:
        """Return from which interval of a pipeline on its raw tables have all records; None: from the first.

        Args:
            pipeline: its name.
            floors: of the raw tables, by what it reads.
        """
        spec = self.catalog.pipelines[pipeline]
        tables = {topic: self.catalog.topics[topic].raw.table for topic in spec.topics}
        return whole_from(SettlingRules.by_topic(spec), floors, tables)

    def whole_now(self, pipeline: str) -> WholeFrom | None:
        """Return the same, as the floors are now."""
        return self.whole(
            pipeline, {name: self.position(name).floor for name in self.catalog.pipelines[pipeline].reads}
        )

    def raw_position(self, topic: str) -> RawPosition:
        """Return how far a topic's raw table goes."""
        from sluice.delta.log import raw_position  # noqa: PLC0415 - see `Project`

        position = raw_position(self.folder.table(self.catalog.topics[topic].raw.table))
        stream = raw_stream(topic)
        epochs = Epochs(self.folder.checkpoint(stream), objects_in(self.folder.epoch_records(stream)))
        begun = next((epoch.offsets for epoch in epochs.all() if epoch.topic_id in position.reach.topics[-1:]), {})
        return replace(position, reach=position.reach.preceded_by(epochs.topics), begun=begun)

    def position(self, name: str) -> RawPosition:
        """Return how far something goes that a pipeline reads: a topic's raw table, or a settled table.

        Args:
            name: the topic, or what `table_input` calls the table.
        """
        from sluice.delta.versions import table_position  # noqa: PLC0415 - see `Project`

        table = table_of(name)
        return self.raw_position(name) if table is None else table_position(self.folder.table(table), name)

    def records_at_most(self, pipeline: str, span: Interval | None) -> int:
        """Return how many records a batch of a pipeline reads at most: all of the files that it has to open.

        Args:
            pipeline: its name.
            span: the intervals that it is about; None: all there are.
        """
        from sluice.delta.size import rows_at_most  # noqa: PLC0415 - see `Project`

        def rows(name: str) -> int:
            if (table := table_of(name)) is not None:
                return rows_at_most(self.folder.table(table), "", None)
            return rows_at_most(self.folder.table(self.catalog.topics[name].raw.table), "event_time", span)

        return sum(rows(name) for name in self.catalog.pipelines[pipeline].reads)

    def _raw_of(self, spec: PipelineSpec) -> RawPosition:
        """Return how far all goes together that a pipeline reads; the version grows with each part of it."""
        each = {name: self.position(name) for name in spec.reads}
        version = sum(position.version + 1 for position in each.values()) - 1
        return RawPosition(version, _joined(each))

    def index(self) -> LedgerIndex:
        """Return the index of the interval ledger, over all pipelines that have intervals.

        Raises:
            UnreachableError: the control database could not be queried.
            RefusedError: its schema is newer than this code.
        """
        from sluice.control.index import LedgerIndex  # noqa: PLC0415 - see `Project`

        sources = {name: self._source(name) for name in self.catalog.interval_pipelines}
        return LedgerIndex(self.records.database, self.records.settings.deployment, sources)

    def _source(self, pipeline: str) -> LedgerSource:
        from sluice.control.index import LedgerSource  # noqa: PLC0415 - see `Project`
        from sluice.delta.log import read_log  # noqa: PLC0415 - see `Project`

        spec = self.catalog.pipelines[pipeline]
        table, raw = self.folder.table(spec.intervals.table), partial(self._raw_of, spec)
        whole = partial(self.whole_now, pipeline)
        return LedgerSource(spec.intervals.interval_length, lambda after: read_log(table, after=after), raw, whole)


def _joined(each: Mapping[str, RawPosition]) -> Reach:
    return Reach.joined({topic: position.reach for topic, position in each.items()})
