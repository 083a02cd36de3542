"""The raw table of a topic at one version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.reading import open_table
from sluice.errors import NotReadyError
from sluice.intervals.raw_floor import RawFloor
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.intervals.record_positions import NO_POSITIONS, RecordPositions
from sluice.spark.records.offsets import rows_elsewhere
from sluice.specs.model.model import TopicSpec
from sluice.storage.folder import Folder

FEW = 500_000
"""Records that Arrow reads into the driver's memory."""
_FEW_BYTES = 64 * 1024 * 1024
"""What they take there at most. The JVM of a small driver holds that beside its own work, and it is half of what Spark
sends to a task of a cluster at most (`spark.rpc.message.maxSize`): one may be given all of it."""
_AT_A_TIME = 10_000
"""Records between two looks at what was read so far: Arrow is a little ahead of that."""


@dataclass(frozen=True)
class RawTable:
    """A topic's raw table, pinned: what the raw stream adds meanwhile is not seen.

    Attributes:
        folder: of the table.
        version: of the table.
        reach: how far it goes at that version.
        holes: what it lacks of that, as its log says.
        left_out: records that are passed over, as if they had never been written.
        floor: below which retention has removed records; None: it never has.
        begun: see `RawPosition`.
    """

    folder: Folder
    version: int
    reach: Reach
    holes: tuple[Hole, ...] = ()
    left_out: RecordPositions = NO_POSITIONS
    floor: RawFloor | None = None
    begun: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def pin(cls, folder: Folder, position: RawPosition, topic: TopicSpec) -> RawTable:
        """Take the table as it was at a position.

        Raises:
            NotReadyError: there is none, no stream has written it, or it finds records by other times than the topic's
                spec says.
        """
        open_table(folder)
        if position.version < 0:
            raise NotReadyError(f"no stream has filled {folder} yet.", fix="start the stream that writes it.")
        refuse_other_times(folder, position, topic)
        return cls(folder, position.version, position.reach, position.holes, floor=position.floor, begun=position.begun)

    @property
    def position(self) -> RawPosition:
        """How far it goes, and what it lacks."""
        return RawPosition(self.version, self.reach, self.holes, floor=self.floor, begun=self.begun)

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return all of it."""
        rows = spark.read.format("delta").option("versionAsOf", self.version).load(str(self.folder))
        return rows_elsewhere(rows, self.left_out, spark)


def refuse_other_times(folder: Folder, position: RawPosition, topic: TopicSpec) -> None:
    """Refuse a raw table that finds records by other times than the topic's spec says: it would find the wrong ones.

    Raises:
        NotReadyError: it does.
    """
    if position.times not in ("", topic.value.times):
        raise NotReadyError(
            f"{folder.name} holds the times of its records as the spec of {topic.name} read them before "
            f"({position.times}), and it reads them otherwise now ({topic.value.times}).",
            fix=f"run `sluice streams restart {topic.raw.driver}`: it reads them again before it continues.",
        )


def below_reach(reach: Reach) -> Column:
    """Return the condition that a row of a raw table lies below a reach; read are its topic, partition and offset."""
    column, parts = F.col("topic_id"), []
    for topic, ends in ends_by_topic(reach):
        below = F.lit(True) if ends is None else _before(ends)
        parts.append(below if topic is None else (column == topic) & below)
    return reduce(or_, parts)


def _before(ends: Iterable[tuple[int, int]]) -> Column:
    parts = [(F.col("partition") == partition) & (F.col("offset") < end) for partition, end in ends]
    return reduce(or_, parts, F.lit(False))


def few_rows(
    table: ds.Dataset, wanted: ds.Expression | None = None, *, columns: Sequence[str] | None = None, most: int = FEW
) -> pa.Table | None:
    """Return rows for `frame_of`, read by Arrow; None if they outgrow the driver: they are too many, or too large.

    Args:
        table: whose.
        wanted: which; None: all.
        columns: theirs; None: all.
        most: how many.
    """
    scanner = table.scanner(columns=columns, filter=wanted, batch_size=_AT_A_TIME, batch_readahead=1)
    batches, rows, size = list[pa.RecordBatch](), 0, 0
    for batch in scanner.to_batches():
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows > most or size > _FEW_BYTES:
            return None
        batches.append(batch)
    return pa.Table.from_batches(batches, schema=scanner.projected_schema)


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return rows that Arrow has read.

    A file without any of them leaves an empty batch, and Spark reads none of the batches behind one. Without any file
    there is no batch at all, of which Spark does not know the types.
    """
    return spark.createDataFrame(table.combine_chunks() if table.num_rows else table.schema.empty_table())


def joined_reach(raw: Mapping[str, RawTable]) -> Reach:
    """Return how far the raw tables of several topics go, by the topics' names."""
    return Reach.joined({topic: table.reach for topic, table in raw.items()})


def ends_by_topic(reach: Reach) -> list[tuple[str | None, list[tuple[int, int]] | None]]:
    """Return the next offset per partition number for each topic; None where every record is below."""
    ends = [(int(partition.rpartition("/")[2]), end) for partition, end in reach.offsets.items()]
    *earlier, newest = reach.topics or (None,)
    return [*((topic, None) for topic in earlier), (newest, ends)]
