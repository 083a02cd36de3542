"""What a pipeline reads: topics, with how late their records may be, and settled tables of other pipelines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator

from sluice.specs.model.duration import Duration, format_duration
from sluice.specs.model.outputs import DAY
from sluice.specs.model.spec import Name, Spec

CLOCK_SKEW = timedelta(minutes=10)
"""How far a producer's clock may be ahead of the broker's, unless a spec says otherwise."""


class TimeRules(Spec):
    """How late and how early a record may be."""

    allowed_lateness: Duration
    """A record is late when arrival time - event time is strictly greater."""
    future_skew: Duration
    """A record is quarantined as `future` when event time - arrival time is strictly greater."""
    clock_skew: Duration = CLOCK_SKEW
    """How far a producer's clock may be ahead of the broker's: a record whose arrival time is a field is quarantined as
    `future` when arrival time - the broker's timestamp is strictly greater."""
    watermark_delay: Duration | None = None
    """Omitted: allowed_lateness + future_skew, the least that drops nothing on time."""
    arrival_disorder: Duration = timedelta(0)
    """How far the arrival time of a record may lie below the greatest one that was appended to the topic before it.
    An interval is complete that much later; a record beyond it marks its interval dirty."""
    max_advance: Duration = DAY
    """The longest gap between two arrival times of the topic that needs no other evidence: behind a longer one
    nothing is settled until another partition, the clock or a person bears it out."""
    idle: Duration | None = None
    """How long nothing may be appended to the topic before time goes on without it: from then on arrival times count
    as if they had gone on by our own clock, so that its last intervals are settled, too. Omitted: the intervals wait
    for the next record."""

    @field_validator("watermark_delay")
    @classmethod
    def _delay_suffices(cls, delay: timedelta | None, info: ValidationInfo) -> timedelta | None:
        parts = [info.data.get("allowed_lateness"), info.data.get("future_skew")]
        least = sum((part for part in parts if part is not None), timedelta())
        if delay is not None and delay < least:
            raise ValueError(
                f"{format_duration(delay)} is less than allowed_lateness + future_skew ({format_duration(least)}): "
                "Spark would drop records that are on time"
            )
        return delay

    @property
    def delay(self) -> timedelta:
        """The watermark delay in force."""
        return self.watermark_delay or self.allowed_lateness + self.future_skew


class RecordPart(StrEnum):
    """What a record has beside its value."""

    KEY = "key"  # binary
    HEADERS = "headers"  # array of structs of key (string) and value (binary)
    PARTITION = "partition"  # int
    OFFSET = "offset"  # long
    BROKER_TIME = "broker_time"  # timestamp: the record's in Kafka, by the broker or its producer


class SourceSpec(Spec):
    """One topic of a pipeline that reads several, under the name by which the transform takes its records."""

    topic: Name
    """The topic spec."""
    time: TimeRules
    lookback: Duration | None = None
    """How far before an interval this topic's records begin that its rows are made of, such as the impressions of an
    hour before a click. Omitted: that of the output."""
    lookahead: Duration | None = None
    """How far behind an interval's end they go on. Omitted: that of the output."""
    columns: dict[Name, RecordPart] = Field(default_factory=dict)
    """Further columns of its records, by name: what a record has beside its value."""

    @property
    def reads(self) -> str:
        """Names what it reads among all that pipelines read: topics, and tables as `table_input` calls them."""
        return self.topic


class TableSource(Spec):
    """The settled table of another pipeline, under the name by which the transform takes its rows."""

    table: Name
    """The table of an `intervals` output of this project. The transform takes its rows with the columns that its
    transform gave them."""
    lookback: Duration | None = None
    """How far before an interval the rows begin that its own rows are made of. Omitted: that of the output."""
    lookahead: Duration | None = None
    """How far behind an interval's end they go on. Omitted: that of the output."""

    @property
    def reads(self) -> str:
        """See `SourceSpec`."""
        return table_input(self.table)


_TOPIC, _TABLE = "of a topic", "of a table"  # no keys of a source, so that no fault is looked for below them


def _kind(source: object) -> str:
    """Return which of the two is meant; one that names both is a topic with a key too many."""
    if isinstance(source, dict):
        return _TABLE if "table" in source and "topic" not in source else _TOPIC
    return _TABLE if isinstance(source, TableSource) else _TOPIC


Source = Annotated[Annotated[SourceSpec, Tag(_TOPIC)] | Annotated[TableSource, Tag(_TABLE)], Discriminator(_kind)]
"""What a pipeline that names its `sources` reads under one of the names."""

_TABLE_PREFIX = "table:"


def table_input(table: str) -> str:
    """Return what a settled table is called where a topic could stand; no topic's name has a colon.

    It has one partition, and offsets that count its versions: the next one that nobody has read.
    """
    return f"{_TABLE_PREFIX}{table}"


def table_of(name: str) -> str | None:
    """Return the table that something is called after, see `table_input`; None of a topic."""
    return name.removeprefix(_TABLE_PREFIX) if name.startswith(_TABLE_PREFIX) else None


def faulty_sources(sources: Mapping[str, Source], rest: Mapping[str, Any]) -> str:
    """Return what is wrong with how a pipeline says what it reads; empty if nothing is.

    Args:
        sources: by name.
        rest: `source` and `time` of the spec, as far as they are sound.
    """
    if "source" not in rest or "time" not in rest:  # it has a fault of its own
        return ""
    single = [key for key in ("source", "time") if rest[key] is not None]
    if sources and single:
        return f"the key `{single[0]}` stands beside it; move what it says into the source that it belongs to"
    if not sources and "source" not in single:
        return "the key `source` is missing; name one topic there, or several in `sources`"
    if not sources and "time" not in single:
        return "the key `time` is missing; say there how late and how early a record of `source` may be"
    read = Counter(source.reads for source in sources.values())
    if twice := [name for name, count in read.items() if count > 1]:
        table = table_of(twice[0])
        what = f"the topic {twice[0]!r}" if table is None else f"the table {table!r}"
        return f"two sources read {what}; read it once, and let the transform use it twice"
    return ""
