"""What a pipeline reads: topics, with how late their records may be, settled tables of others, and static inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator

from sluice.specs.model.duration import Duration, format_duration
from sluice.specs.model.fields import FieldType
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


class StaticFormat(StrEnum):
    """How a static input is written."""

    CSV = "csv"
    JSON_LINES = "json_lines"
    PARQUET = "parquet"
    DELTA = "delta"
    JDBC = "jdbc"
    BYTES = "bytes"


_ENDINGS = {
    ".jsonl": StaticFormat.JSON_LINES,
    ".ndjson": StaticFormat.JSON_LINES,
    ".parquet": StaticFormat.PARQUET,
}
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}
SHORTEST_RELOAD = timedelta(seconds=1)


class StaticSource(Spec):
    """Where a small table is that is joined in the transform, and how it is written."""

    format: StaticFormat | None = None
    """Omitted: by the ending of `path`, `.jsonl`, `.ndjson` or `.parquet`; of any other it is `csv`. With `table` alone
    it is `delta`, with `connection` it is `jdbc`."""
    connection: Name | None = None
    """Of `jdbc`: the database; `SLUICE_CONNECTION_<NAME>` holds its URL."""
    table: str | None = Field(default=None, min_length=1)
    """Of `delta`: a table of this project by its name. Of `jdbc`: a table of the database, `schema.name` or `name`."""
    query: str | None = Field(default=None, min_length=1)
    """Of `jdbc`: a SELECT in the database's own SQL, instead of `table`."""
    package: str | None = None
    """An installed Python package that ships the file; omitted: the path is below `include/`."""
    path: str | None = Field(default=None, validate_default=True)
    """A file; of `parquet` and `delta` it may be a folder."""
    reload: Duration | None = Field(default=None, validate_default=True)
    """At most how often it is read again while streams run: its content is no part of the code then, and each interval
    keeps which content it was made with. Omitted: a change of the content is a change of the code."""

    @field_validator("connection")
    @classmethod
    def _connection_is_of_a_database(cls, connection: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("format")
        if connection is not None and kind not in (None, StaticFormat.JDBC):
            raise ValueError(f"only `format: jdbc` has a connection; this one is {kind}")
        return connection

    @field_validator("table")
    @classmethod
    def _table_is_in_a_database(cls, table: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("format")
        if table is not None and kind not in (None, StaticFormat.DELTA, StaticFormat.JDBC):
            raise ValueError(f"only `delta` and `jdbc` have a table; this one is {kind}, and has a `path`")
        return table

    @field_validator("query")
    @classmethod
    def _query_is_for_a_database(cls, query: str | None, info: ValidationInfo) -> str | None:
        if query is not None and info.data.get("table") is not None:
            raise ValueError("`table` and `query` are both given; keep one")
        if query is not None and "connection" in info.data and info.data["connection"] is None:
            raise ValueError("a query needs a `connection`")
        return query

    @field_validator("path")
    @classmethod
    def _one_place_is_said(cls, path: str | None, info: ValidationInfo) -> str | None:
        if {"format", "connection", "table", "query"} - info.data.keys():  # one of them has a fault of its own
            return path
        if fault := _faulty_place(path, info.data):
            raise ValueError(fault)
        return path

    @field_validator("reload")
    @classmethod
    def _reload_fits(cls, reload: timedelta | None, info: ValidationInfo) -> timedelta | None:
        if reload is not None and reload < SHORTEST_RELOAD:
            raise ValueError("it is read again every second at most; write `1 s` or more")
        outside = any(info.data.get(key) is not None for key in ("table", "query"))
        if reload is None and outside:
            raise ValueError(
                "a table changes without a change of this project; say how often it is read: `reload: 10 min`"
            )
        return reload

    @property
    def form(self) -> StaticFormat:
        """How it is written, said or not."""
        if self.format is not None:
            return self.format
        if self.connection is not None:
            return StaticFormat.JDBC
        return StaticFormat.DELTA if self.table is not None else _form_of(str(self.path))

    @property
    def meant(self) -> dict[str, object]:
        """What it says about its content, but for the columns: as it was said before there were other forms than CSV.

        How often it is read changes no content.
        """
        said: dict[str, object] = {"package": self.package, "path": self.path}
        if self.path is None or self.form is not _form_of(self.path):
            said["format"] = self.form.value
        others = {"connection": self.connection, "table": self.table, "query": self.query}
        return {**said, **{key: value for key, value in others.items() if value is not None}}

    @property
    def text(self) -> str:
        """How messages call it."""
        if self.path is not None:
            return self.path
        what = f"the table {self.table}" if self.table is not None else "a query"
        return what if self.connection is None else f"{what} of the connection {self.connection}"


_STATIC_TYPES = frozenset({FieldType.STRING, FieldType.LONG, FieldType.DOUBLE, FieldType.BOOLEAN, FieldType.TIMESTAMP})
"""The types that every reader of static inputs has."""
_STATIC_INSTEAD = {FieldType.INTEGER: FieldType.LONG, FieldType.DECIMAL: FieldType.DOUBLE}
"""What a column is declared as where a static input has no such type; every other one is a string."""


class StaticInput(StaticSource):
    """A small table joined in the transform, versioned by the digest of its content."""

    columns: dict[Name, FieldType] = Field(default_factory=dict, validate_default=True)
    """Names and types; what else there is, is left out. Of `bytes` they are always `path` and `content`."""

    @field_validator("columns")
    @classmethod
    def _columns_are_said(cls, columns: dict[str, FieldType], info: ValidationInfo) -> dict[str, FieldType]:
        of_bytes = info.data.get("format") is StaticFormat.BYTES
        if of_bytes and columns:
            raise ValueError("`bytes` has the columns `path` and `content`; remove these")
        if not of_bytes and not columns:
            raise ValueError("`columns` needs at least one entry, such as `shop: string`")
        return columns

    @property
    def column_types(self) -> dict[str, str]:
        """The types of all columns by name; `content` of `bytes` is `binary`, which no topic has."""
        if self.form is StaticFormat.BYTES:
            return {"path": FieldType.STRING.value, "content": "binary"}
        return {name: kind.value for name, kind in self.columns.items()}

    @field_validator("columns")
    @classmethod
    def _columns_are_flat(cls, columns: dict[str, FieldType]) -> dict[str, FieldType]:
        for name, kind in columns.items():
            if kind not in _STATIC_TYPES:
                instead = _STATIC_INSTEAD.get(kind, FieldType.STRING)
                raise ValueError(f"a column of a static input is no {kind}; declare {name!r} a {instead}")
        return columns


def _form_of(path: str) -> StaticFormat:
    endings = [ending for ending in PurePosixPath(path).suffixes if ending not in _COMPRESSED]
    return _ENDINGS.get(endings[-1], StaticFormat.CSV) if endings else StaticFormat.CSV


def _faulty_place(path: str | None, data: Mapping[str, Any]) -> str:
    """Return what is wrong with where a static input is said to be; empty if nothing is."""
    other = next((key for key in ("table", "query", "connection") if data[key] is not None), None)
    database = data["format"] is StaticFormat.JDBC or data["connection"] is not None
    if path is not None:
        if database:
            return "a database has no path; say `table` or `query`"
        return f"`path` and `{other}` are both given; keep one" if other else ""
    if database:
        if data["connection"] is None:
            return "`format: jdbc` needs a `connection`, whose URL is in SLUICE_CONNECTION_<NAME>"
        return "" if other in ("table", "query") else "say `table` or `query`: what is read from the database"
    return "" if other else "say where it is: `path`, `table`, or `connection` with `table` or `query`"
