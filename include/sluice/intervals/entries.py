"""What Sluice writes into the metadata of a table's commits: the interval ledger's truth while the log lasts.

A commit carries one entry. Streams, settlers and backfills write rows with theirs; the other kinds are commits without
files. Interval tables are written by settlers and backfills only.
Intervals are named by their start; offsets are next offsets per `topic/partition`; times are UTC.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Literal

from pydantic import Field as Tagged
from pydantic import TypeAdapter, ValidationError

from sluice.errors import CorruptionError
from sluice.intervals.arrivals import ArrivalClocks
from sluice.intervals.carried import Carried
from sluice.intervals.coverage import Position
from sluice.intervals.raw_floor import RawFloor
from sluice.intervals.reach import Hole, Reach
from sluice.intervals.record_positions import PartitionRange
from sluice.intervals.writers import topic_of

SCHEMA_VERSION = 2


@dataclass(frozen=True)
class Content:
    """What an interval holds, as far as two tables can be compared without reading them.

    Attributes:
        rows: how many.
        checksum: sum of the rows' hashes over all columns, decimal: equal for equal rows in any order.
    """

    rows: int
    checksum: str


NO_ROWS = Content(0, "0")
LOST = "were lost before they were read"
"""How the reason ends why an interval is dirty for good."""


@dataclass(frozen=True)
class StreamEntry:
    """A micro-batch of a stream wrote this commit: of a raw table, or of an output that is no interval table.

    Attributes:
        writer: the stream's app id: one per stream, set of topic ids and reset epoch.
        generation: the attempt that wrote it.
        lineage: the checkpoint's id, whose state is behind the rows; empty for a stream without state.
        batch_id: Spark's number of the batch within the lineage; for people, never a key.
        start: first offsets.
        end: next offsets.
        origin: first offset per partition that the lineage ever read: what its state can know.
        watermark: the watermark that the batch evicted by, or None.
        code: hash of transform, validation, meaning of the spec and static inputs.
        holes: of a raw table: all that it lacks of what its commits claim to have read.
        times: of the same: how the times of all its records were read, see `TopicValue.times`; empty in what was
            written before it was kept.
    """

    writer: str
    generation: int
    lineage: str
    batch_id: int
    start: Mapping[str, int]
    end: Mapping[str, int]
    origin: Mapping[str, int] = field(default_factory=dict)
    watermark: datetime | None = None
    code: str = ""
    holes: tuple[Hole, ...] = ()
    times: str = ""
    kind: Literal["stream"] = "stream"

    @property
    def position(self) -> Position:
        """How far the table goes after this commit."""
        return Position(self.end, self.watermark)

    @property
    def reach(self) -> Reach:
        """How far its writer has read the topic."""
        topic = topic_of(self.writer)
        return Reach(self.end, (topic,) if topic else ())


@dataclass(frozen=True)
class AttemptEntry:
    """A new generation marked the table before it wrote.

    Attributes:
        writer: the stream's app id.
        generation: the attempt.
        code: the hash that it runs.
        direct: whether it writes by Spark's own sink, and puts no batch on record: its checkpoint says how far it got.
    """

    writer: str
    generation: int
    code: str = ""
    direct: bool = False
    kind: Literal["attempt"] = "attempt"


@dataclass(frozen=True)
class BackfillEntry:
    """A backfill published closed intervals.

    Attributes:
        backfill: its id.
        mode: `correct` or `recompute`.
        by: who asked.
        why: the reason on record.
        raw: next offsets of the raw table that it read.
        late: whether late records are in the result, per interval.
        content: what each published interval holds now, those without rows included.
        code: hash of the code that made it.
        gate: one line of the quality gate's result.
        topics: ids of the topics that the raw table held, oldest first; `raw` counts in the last one. Empty in what was
            written before they were kept.
        replayed: records that did not decode when they came, and were read again all the same.
        static: digests of the changing static inputs that its intervals were made with, by name.
        carried: the states that its intervals continued and left, by their starts; of those without records none.
    """

    backfill: str
    mode: Literal["correct", "recompute"]
    by: str
    why: str
    raw: Mapping[str, int]
    late: Mapping[datetime, bool]
    content: Mapping[datetime, Content]
    code: str
    gate: str
    topics: tuple[str, ...] = ()
    replayed: tuple[PartitionRange, ...] = ()
    static: Mapping[str, str] = field(default_factory=dict)
    carried: Mapping[datetime, Carried] = field(default_factory=dict)
    kind: Literal["backfill"] = "backfill"


@dataclass(frozen=True)
class VerifiedEntry:
    """A backfill in mode `verify` (or the first half of a `correct`) found these intervals identical.

    Attributes:
        backfill: its id.
        intervals: their starts.
        code: the hash on both sides.
        as_of: the table version that it took the ledger from; a later writing is not what was verified.
    """

    backfill: str
    intervals: tuple[datetime, ...]
    code: str
    as_of: int
    kind: Literal["verified"] = "verified"


@dataclass(frozen=True)
class WithdrawnEntry:
    """An operator reopened what was closed because of times in the future.

    Attributes:
        since: the intervals that start then or later are open, unless they hold rows or a backfill wrote them.
        by: who did it.
        why: the reason on record.
    """

    since: datetime
    by: str
    why: str
    kind: Literal["withdrawn"] = "withdrawn"


@dataclass(frozen=True)
class LossyRange:
    """Intervals whose records are lost in part: no recompute gives them back.

    Attributes:
        since: start of the first (UTC); None: the first of the table, which has none yet.
        until: end of the last.
        hole: where the records were; None: they were removed by their age.
        floor: below which they were removed; None: they were lost.
    """

    since: datetime | None
    until: datetime
    hole: Hole | None = None
    floor: RawFloor | None = None

    @property
    def why(self) -> str:
        """The reason on record."""
        what = self.hole if self.floor is None else f"records from before {self.floor.at:%F %R} UTC"
        return f"{what} {LOST}"


@dataclass(frozen=True)
class ExaminedSource:
    """What a settler has examined of one topic.

    Attributes:
        offsets: next offsets of the records that were judged, and below which all were taken.
        topics: ids of the topics that they belong to, see `Reach`.
        clocks: how far the arrival times of these records have come.
        first_event: the earliest event time among these records, until the first interval is settled.
        disorder: the farthest that an arrival time of these records lay below one that is known to be appended before.
    """

    offsets: Mapping[str, int] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    clocks: ArrivalClocks = field(default_factory=ArrivalClocks)
    first_event: datetime | None = None
    disorder: timedelta = timedelta()

    @property
    def reach(self) -> Reach:
        """Everything that was examined."""
        return Reach(self.offsets, self.topics)


NOTHING_EXAMINED = ExaminedSource()


@dataclass(frozen=True)
class SettleEntry:
    """A settler wrote the intervals of `[since, settled_until)`, all of each, and examined what had arrived.

    Attributes:
        writer: the settler's name.
        generation: the attempt that wrote it.
        nonce: names this commit: who does not know whether it was made finds it by this.
        since: start of the first interval that it wrote.
        settled_until: end of the last one; the same as `since` if it wrote none, None before the first.
        sources: what was examined of each topic, by its name.
        content: what each interval with rows holds.
        overtaken: settled intervals, by their starts, that lack records on time, with the next offsets behind those.
        lossy: intervals that may lack records which nobody can read any more.
        code: hash of the code that computed them.
        static: digests of the changing static inputs that its intervals were made with, by name.
        carried: the states that its intervals continued and left, by their starts; of those without records none.
    """

    writer: str
    generation: int
    nonce: str
    since: datetime | None
    settled_until: datetime | None
    sources: Mapping[str, ExaminedSource]
    content: Mapping[datetime, Content] = field(default_factory=dict)
    overtaken: Mapping[datetime, Mapping[str, int]] = field(default_factory=dict)
    lossy: tuple[LossyRange, ...] = ()
    code: str = ""
    static: Mapping[str, str] = field(default_factory=dict)
    carried: Mapping[datetime, Carried] = field(default_factory=dict)
    kind: Literal["settle"] = "settle"

    @property
    def reach(self) -> Reach:
        """What its writer has read."""
        return Reach.joined({topic: source.reach for topic, source in self.sources.items()})


@dataclass(frozen=True)
class AdvanceEntry:
    """A person decided about arrival times beyond an advance that nothing corroborated.

    Attributes:
        until: confirmed: arrival times up to here count. None: refused, those that were found do not count.
        by: who did it.
        why: the reason on record.
    """

    until: datetime | None
    by: str
    why: str
    kind: Literal["advance"] = "advance"


Entry = StreamEntry | AttemptEntry | BackfillEntry | VerifiedEntry | WithdrawnEntry | SettleEntry | AdvanceEntry


@dataclass(frozen=True)
class Logged:
    """An entry with the table version and the time (UTC) of its commit."""

    version: int
    at: datetime
    entry: Entry


def to_json(entry: Entry) -> str:
    """Return the form that is stored in a commit."""
    data = _adapter().dump_python(entry, mode="json", exclude_defaults=False)
    return json.dumps({"sluice": SCHEMA_VERSION, **data}, sort_keys=True, separators=(",", ":"))


def from_json(text: str | None) -> Entry | None:
    """Read an entry; None for a commit that is not ours.

    Raises:
        CorruptionError: the entry says that it is ours and cannot be read.
    """
    try:
        data = json.loads(text or "null")
    except ValueError:
        return None
    if not isinstance(data, dict) or "sluice" not in data:
        return None
    version = data.pop("sluice")
    if version != SCHEMA_VERSION:
        raise CorruptionError(
            f"a commit carries ledger schema {version!r}; this version of Sluice reads {SCHEMA_VERSION}.",
            fix="use the version of Sluice that wrote it, or a new state folder.",
        )
    try:
        return _adapter().validate_python(data)
    except ValidationError as error:
        raise CorruptionError(f"a commit's ledger entry cannot be read: {error}. It says {text!r:.300}.") from error


@cache
def _adapter() -> TypeAdapter[Entry]:
    return TypeAdapter(Annotated[Entry, Tagged(discriminator="kind")])
