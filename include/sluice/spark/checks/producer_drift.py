"""What the records of a topic hold, field by field: two passes over the raw table, and groups brought here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.contracts.contract import Version
from sluice.contracts.promise import promises
from sluice.contracts.protobuf import ProtobufSchema
from sluice.errors import RefusedError, SpecError
from sluice.project.project import Project
from sluice.quality.drift import KINDS_OF_TYPE, FieldDrift, JsonKind, NeighbourCounts, ObservedField, field_drifts
from sluice.quality.quarantine import QuarantineFilter
from sluice.spark.checks.quarantine import condition
from sluice.spark.records.decoding import written_under
from sluice.spark.session.batch_session import batch_session
from sluice.spark.tables.raw_table import RawTable
from sluice.specs.model.model import TopicSpec, TopicValue
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.rules.contracts import history_of

MAX_FIELDS = 10_000
"""Groups of field, kind and partition that are brought here; more are no fields, but values that are used as keys."""
_KEY_LENGTH = 200

_KINDS = {
    "VOID": JsonKind.NULL,
    "BOOLEAN": JsonKind.BOOLEAN,
    "BIGINT": JsonKind.INTEGER,
    "STRING": JsonKind.STRING,
    "OBJECT": JsonKind.OBJECT,
    "ARRAY": JsonKind.LIST,
}
"""How Spark names a value's type, up to its parameters; the others are numbers."""


class RecordFields:
    """The fields of a topic's records.

    Args:
        spark: the session.
        raw: the pinned raw table.
        heartbeat: the keys that lead to the field that marks records which hold nothing else; empty for none.
        asked: which records are checked.
        text: their values as JSON; omitted: they are that.
    """

    def __init__(
        self,
        spark: SparkSession,
        raw: RawTable,
        heartbeat: Sequence[str],
        asked: QuarantineFilter,
        *,
        text: Column | None = None,
    ) -> None:
        rows = raw.rows(spark).where(condition(asked))
        value = F.try_parse_json(F.col("value").cast("string") if text is None else text)
        partition = F.concat_ws("/", "topic_id", "partition").alias("partition")
        records = rows.select(partition, "offset", value.alias("value"))
        objects = records.where(F.schema_of_variant("value").startswith("OBJECT"))
        self._records = objects.where(~_is_true(heartbeat)) if heartbeat else objects
        self._spark = spark

    def observed(self) -> list[ObservedField]:
        """Return each field of each kind, by partition.

        Raises:
            RefusedError: there are more than fields can be.
        """
        groups = (
            self._fields()
            .groupBy("field", "kind", "partition")
            .agg(F.count("*").alias("records"), F.min("offset").alias("first"), F.max("offset").alias("last"))
            .limit(MAX_FIELDS + 1)
            .collect()
        )
        if len(groups) > MAX_FIELDS:
            raise RefusedError(
                f"the records have more than {MAX_FIELDS:,} different fields: their keys are values.",
                fix="let the producer write a list of objects, and narrow the range by --from and --to.",
            )
        return [
            ObservedField(
                row["field"],
                _KINDS.get(row["kind"], JsonKind.NUMBER),
                row["partition"],
                row["records"],
                row["first"],
                row["last"],
            )
            for row in groups
        ]

    def neighbours(
        self, observed: Iterable[ObservedField], fields: Iterable[str]
    ) -> Mapping[tuple[str, str], NeighbourCounts]:
        """Return how many records there are around the last one of each of some fields, by field and partition."""
        wanted, last = set(fields), dict[tuple[str, str], int]()
        for each in observed:
            if each.field in wanted:
                key = each.field, each.partition
                last[key] = max(each.last, last.get(key, -1))
        if not last:
            return {}
        columns = [
            F.count_if((F.col("partition") == partition) & beyond).alias(f"{side}_{number}")
            for number, ((_, partition), offset) in enumerate(last.items())
            for side, beyond in (("before", F.col("offset") <= offset), ("after", F.col("offset") > offset))
        ]
        (row,) = self._records.agg(*columns).collect()
        return {
            key: NeighbourCounts(row[f"before_{number}"], row[f"after_{number}"]) for number, key in enumerate(last)
        }

    def _fields(self) -> DataFrame:
        exploded = self._records.lateralJoin(self._spark.tvf.variant_explode(F.col("value").outer()).alias("own"))
        kind = F.regexp_extract(F.schema_of_variant("own.value"), "^[A-Z]+", 0)
        key = F.substring("own.key", 1, _KEY_LENGTH)
        return exploded.select(key.alias("field"), kind.alias("kind"), "partition", "offset")


def drift_of(project: Project, topic: str, asked: QuarantineFilter) -> list[FieldDrift]:
    """Look for producer drift in the raw table of a topic, in a session of its own.

    Raises:
        SpecError: there is no such topic, no pipeline reads it, or its values are neither JSON nor Protobuf.
        NotReadyError: there is no raw table yet.
        RefusedError: the records' keys are values.
    """
    spec = project.catalog.topics.get(topic)
    if spec is None:
        known = project.catalog.topics
        raise SpecError(f"there is no sound topic {topic!r} in include/topics.", fix=nearest(topic, known))
    if spec.value.format not in ("json", "protobuf"):
        raise SpecError(
            f"the values of {topic} are written in {spec.value.format}: only objects and messages have fields that no "
            "spec declares.",
            fix="`sluice check` compares versions of a contract; `sluice quarantine list` shows what is refused.",
        )
    raw = RawTable.pin(project.folder.table(spec.raw.table), project.tables.raw_position(topic), spec)
    declared = declared_kinds(project, spec)
    with batch_session(project, "drift", _reader(project, topic)) as spark:
        beat = spec.value.heartbeat
        path = spec.value.fields[beat].keys(beat) if beat else ()
        fields = RecordFields(spark, raw, path, asked, text=fields_as_json(spec.value))
        seen = fields.observed()
        return field_drifts(declared, seen, fields.neighbours(seen, declared))


def fields_as_json(value: TopicValue) -> Column:
    """Return a column of text: the object that each value is, or what fields each message has."""
    if value.format == "protobuf":
        fields = F.call_function("sluice_protobuf_fields", F.col("value"), *map(F.lit, written_under(value)))
        return fields.getField("present")
    return F.expr("substring(value, 6)" if value.framing != "none" else "value").cast("string")


def _reader(project: Project, topic: str) -> str:
    """Return a pipeline that reads the topic: its resources are what a check may take."""
    for pipeline in project.catalog.pipelines.values():
        if topic in pipeline.topics:
            return pipeline.name
    raise SpecError(f"no pipeline reads the topic {topic!r}, so nothing says which resources Spark may use for that.")


def declared_kinds(project: Project, topic: TopicSpec) -> dict[str, frozenset[JsonKind] | None]:
    """Return what each field may be written as, by the topic's spec and by the newest version of its contract."""
    versions = history_of(project.settings.home / "include", topic.name).versions
    if topic.value.format == "protobuf":
        return dict.fromkeys(declared_names(topic.value, versions))
    promised = promises(versions[-1]) if versions else None
    others = {name: _kinds(promise.types) or None for name, promise in (promised or {}).items()}
    return {**others, **_read_kinds(topic.value)}


def declared_names(value: TopicValue, versions: Sequence[Version]) -> set[str]:
    """Return the fields of messages that are declared; of another type than declared none decodes."""
    schema = versions[-1].schema if versions else None
    root = schema.root(value.message) if isinstance(schema, ProtobufSchema) else None
    read = {field.keys(name)[0] for name, field in value.fields.items()}
    return read | {each.name for each in (root.fields if root is not None else ())}


def _read_kinds(value: TopicValue) -> dict[str, frozenset[JsonKind]]:
    """Return what each key of an object is read as: where paths go through it, an object; where several read it, both.

    Anything may be under a key that is read as text and in another way.
    """
    kinds: dict[str, frozenset[JsonKind]] = {}
    for name, field in value.fields.items():
        first, *inner = field.keys(name)
        own = frozenset({JsonKind.OBJECT}) if inner else _kinds(field.types_read)
        kinds[first] = kinds.get(first, frozenset()) | own
    return kinds


def _kinds(types: Iterable[str]) -> frozenset[JsonKind]:
    return frozenset[JsonKind]().union(*(KINDS_OF_TYPE.get(each, frozenset()) for each in types))


def _is_true(path: Sequence[str]) -> Column:
    steps = "".join(f"['{key}']" for key in path)
    return F.coalesce(F.try_variant_get("value", f"${steps}", "boolean"), F.lit(False))
