"""The specs as frozen models. One file in `include/<kind>/` is one model; an unknown key is an error.

Fields say what is meant, never where it runs: addresses and folders belong to the deployment.
Rules inside one spec are checked here; rules between specs in `sluice.specs.rules.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from sluice.contracts.compatibility import Compatibility
from sluice.errors import SpecError
from sluice.specs.model.backfill_rules import BackfillRules
from sluice.specs.model.data_alerts import DataAlert
from sluice.specs.model.deadlines import UNDECLARED, CircuitBreaker, DeclaredShare, StreamDeadlines
from sluice.specs.model.duration import Duration
from sluice.specs.model.encoding import LINES, Encoding
from sluice.specs.model.fields import WITH_PARTS
from sluice.specs.model.fields import FieldType as FieldType  # noqa: PLC0414 - exported
from sluice.specs.model.fields import ValueField as ValueField  # noqa: PLC0414 - exported
from sluice.specs.model.lanes import OF_LANE, Lane, trigger_of_lane, without_default
from sluice.specs.model.outputs import (
    DeadLettersOutput,
    IntervalsOutput,
    Output,
    SideOutput,
    SingleOutput,
    WrittenTopic,
    faulty_outputs,
)
from sluice.specs.model.pages import PageSpec
from sluice.specs.model.patches import Patch
from sluice.specs.model.resources import Resources
from sluice.specs.model.schedule import IdleTime, RunPlan, Schedule
from sluice.specs.model.sources import (
    Source,
    SourceSpec,
    StaticInput,
    TableSource,
    TimeRules,
    faulty_sources,
)
from sluice.specs.model.spec import SQL_SUFFIX, TRANSFORM_PATTERN, Name, Spec
from sluice.specs.model.start import Edge, Start
from sluice.specs.model.topic_shape import TopicShape, one_topic
from sluice.values.line_pattern import line_pattern


class TopicValue(Encoding):
    """What a record's bytes mean, and where its two times are."""

    fields: dict[Name, ValueField] = Field(min_length=1)
    event_time: Name
    """The timestamp field that says when it happened."""
    arrival_time: Name | Literal["broker"]
    """The timestamp field that says when it became known, or `broker` for the broker's append time."""
    heartbeat: Name | None = None
    """The boolean field that marks a heartbeat: it moves arrival times and the watermark, and is in no result."""
    event_id: tuple[Name, ...] | None = Field(default=None, min_length=1)
    """The required fields that identify an event: a second record with the same values is a duplicate, which is counted
    and stays good. Omitted: records are not compared."""
    compatibility: Compatibility = Compatibility.BACKWARD_TRANSITIVE
    """What holds between the versions of its contract in `include/schemas/<topic>`, if it has one."""
    patches: tuple[Patch, ...] = ()
    """How some records are read that say something else than was meant; what was sent is kept."""

    @property
    def times(self) -> str:
        """How the two times of a record are read, in words: raw tables keep what they were filled by."""
        arrival = "the broker's" if self.arrival_time == "broker" else self._time(self.arrival_time)
        line = f" {self.pattern}" if self.pattern else f" {self.delimiter or ','} {list(self.line_fields or ())}"
        form = f"{self.format}{line}" if self.format in LINES else self.format
        return f"{form}, event time {self._time(self.event_time)}, arrival time {arrival}"

    def _time(self, name: str) -> str:
        field = self.fields[name]
        form = f" in {field.epoch} since 1970" if field.epoch else f" in {field.zone}" if field.zone else ""
        as_text = f" as {field.format}" if field.format else ""
        at = f" at {field.path}" if field.path else ""
        return f"{name}{form}{as_text}{at}"

    @field_validator("event_time", "arrival_time", "heartbeat")
    @classmethod
    def _names_a_field(cls, name: str | None, info: ValidationInfo) -> str | None:
        fields: dict[str, ValueField] | None = info.data.get("fields")
        if fields is None or name is None or (info.field_name == "arrival_time" and name == "broker"):
            return name
        kind = FieldType.BOOLEAN if info.field_name == "heartbeat" else FieldType.TIMESTAMP
        if name not in fields:
            raise ValueError(f"{name!r} is no field of this value; it has {', '.join(fields)}")
        if fields[name].type is not kind:
            raise ValueError(f"the field {name!r} is a {fields[name].type}; this must name a {kind}")
        return name

    @field_validator("event_id")
    @classmethod
    def _tells_events_apart(cls, names: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        fields: dict[str, ValueField] = info.data.get("fields") or {}
        for name in names or () if fields else ():
            if name not in fields:
                raise ValueError(f"{name!r} is no field of this value; it has {', '.join(fields)}")
            if not fields[name].required:
                raise ValueError(
                    f"the field {name!r} may be absent, and does not distinguish events then; write `required: true`"
                )
            if fields[name].type is FieldType.DOUBLE:
                raise ValueError(
                    f"the field {name!r} is a double, and two of them are rarely the same; name another field"
                )
            if fields[name].type in WITH_PARTS:
                raise ValueError(f"the field {name!r} has fields inside; name flat ones, by their paths if need be")
        if names is not None and len(set(names)) < len(names):
            raise ValueError("a field is in it twice")
        return names

    @field_validator("fields")
    @classmethod
    def _fields_are_of_the_format(cls, fields: dict[str, ValueField], info: ValidationInfo) -> dict[str, ValueField]:
        form = info.data.get("format")
        for name, field in fields.items():
            if form == "avro" and field.has_form:
                raise ValueError(
                    f"in Avro the schema says how {name!r} is written; remove its `epoch`, `zone` or `format`"
                )
            if form in LINES and (field.path or field.type in WITH_PARTS):
                raise ValueError(f"a line of text has nothing inside its fields; declare {name!r} flat, without a path")
        return fields

    @field_validator("heartbeat")
    @classmethod
    def _heartbeats_are_objects(cls, name: str | None, info: ValidationInfo) -> str | None:
        if name is not None and info.data.get("format") in LINES:
            raise ValueError("a heartbeat is a JSON object, and these values are lines of text; remove it")
        return name

    @model_validator(mode="after")
    def _lines_have_the_fields(self) -> Self:
        if (known := self.line_fields) is not None and (lost := [name for name in self.fields if name not in known]):
            what = "group of `pattern`" if self.format == "text" else "one of `columns`"
            raise ValueError(f"the field {lost[0]!r} is no {what}; there are {', '.join(known)}")
        return self

    @property
    def line_fields(self) -> Mapping[str, int] | None:
        """Where a line of text has each part that has a name: the number of its group or column; None of no lines."""
        if self.pattern is not None:
            return line_pattern(self.pattern).groups
        return {name: n for n, name in enumerate(self.columns or self.fields)} if self.format == "csv" else None


class RawTableSpec(Spec):
    """The topic's raw table and the stream that fills it."""

    table: Name
    driver: Name
    """Streams that name the same driver form one unit and share a process."""
    deadlines: StreamDeadlines = UNDECLARED
    """What the raw stream promises while it runs."""
    schedule: Schedule | None = None
    """When its driver is started; omitted: as the pipelines say that name the same driver. See there."""
    stop_when_idle: IdleTime | None = None
    """When its driver ends by itself; omitted: as the pipelines say that name the same driver. See there."""
    max_records_per_batch: int | None = Field(default=None, ge=1)
    """The rate limit of the raw stream: it smooths a backlog and drops nothing. Omitted: a batch takes all there is."""
    min_partitions: int | None = Field(default=None, ge=1, le=4096)
    """Into how many tasks a batch of the raw stream is cut at least, so that a backlog in few partitions of the topic
    uses more cores than it has partitions: of one partition several tasks read a range of offsets each. Omitted, or not
    more than the topic has: a task for each partition."""
    retention: Duration | Literal["forever"] = "forever"
    """How old a record becomes, by its event time, before upkeep removes it from the table. What an interval needs that
    is open, or awaits its repair, stays whatever its age."""


class TopicSpec(TopicShape):
    """`include/topics/<name>.yaml`."""

    name: Name
    description: str = ""
    value: TopicValue
    raw: RawTableSpec


GroupName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,200}$")]
"""A consumer group of Kafka."""


class PipelineSpec(Spec):
    """`include/pipelines/<name>.yaml`."""

    name: Name
    description: str = ""
    owner: str = "sluice"
    source: Annotated[Name | None, BeforeValidator(one_topic)] = None
    """The topic spec that it reads: short for `sources` with this one under its own name, with `time` for its rules."""
    transform: Annotated[str, StringConstraints(pattern=TRANSFORM_PATTERN)]
    """Below `spark_jobs/transforms/`: `module:function`, which takes the records of each source and, by keyword, the
    static inputs, and returns a DataFrame; or `name.sql`, one SELECT over sources and static inputs by their names."""
    static: dict[Name, StaticInput] = Field(default_factory=dict)
    time: TimeRules | None = None
    """How late and how early a record of `source` may be."""
    sources: dict[Name, Source] = Field(default_factory=dict, validate_default=True)
    """The topics and settled tables that it reads, by the names under which its transform takes them."""
    output: SingleOutput = None
    """Short for `outputs` with this one."""
    outputs: tuple[Output, ...] = Field(default=(), validate_default=True)
    """What it delivers: any number of `latest` and `topic`, and at most one of each other kind."""
    driver: Name
    """Streams that name the same driver form one unit and share a process."""
    lane: Lane = Lane.BALANCED
    """How its live outputs trade latency for cost: `throughput`, `balanced`, `latency` or `realtime`."""
    trigger: Duration = Field(default=OF_LANE, validate_default=True, json_schema_extra=without_default)
    """Least time between two micro-batches; of `realtime` how long a batch lasts. Omitted: the lane's."""
    schedule: Schedule | None = None
    """When its driver is started, which reads what is there, writes all outputs and ends: cron of five fields in UTC, a
    preset such as `@hourly`, or a duration that divides the day. Omitted: a driver runs as long as it is wanted."""
    stop_when_idle: IdleTime | None = None
    """After how long without a record its driver ends by itself; the next starts when there are records, or, with a
    `schedule`, when that is due. Omitted: it goes on."""
    resources: Resources = Resources()
    max_records_per_batch: int | None = Field(default=None, ge=1)
    """A cap lets partitions drift apart in time while a backlog is drained: live values lack records then, which the
    settled table has. Omitted, as it should be: no cap."""
    deadlines: StreamDeadlines = UNDECLARED
    """What each of its streams promises while it runs."""
    objective: DeclaredShare = None
    """For which share of the time each of its outputs shall be good that says nothing else."""
    backfill: BackfillRules = BackfillRules()
    start: Start = Edge.EARLIEST
    """Where its streams begin that have read nothing: `earliest`, `latest`, a time with its zone, or the first offset
    of each partition. Put on record at their first start; later only `sluice streams reset` changes it."""
    mirror_group: GroupName | None = None
    """The consumer group that shows the stream's position to monitoring tools; no consumer may use it."""
    circuit_breaker: CircuitBreaker | None = None
    """When so much of a batch is quarantined that its streams stop; omitted: never."""
    alerts: tuple[DataAlert, ...] = ()
    """Rules about its newest values, which `sluice serve` watches."""
    page: PageSpec | None = None
    """What `sluice serve` shows of its newest values at the address `/<pipeline>`."""
    prove: Literal["weekly"] | None = None
    """Whether the DAG `prove_weekly` proves it each week, where the deployment lets it; omitted: when somebody asks."""
    spark: dict[str, str] = Field(default_factory=dict)
    """Spark settings that win over the preset."""

    @field_validator("source", "time")
    @classmethod
    def _is_written_out(cls, value: object, info: ValidationInfo) -> object:
        if value is None and info.mode == "json":  # a default is not asked: the key is in the file
            raise ValueError(f"found nothing where {'text' if info.field_name == 'source' else 'a mapping'} is needed")
        return value

    @field_validator("trigger", mode="before")
    @classmethod
    def _lane_sets_it(cls, trigger: object, info: ValidationInfo) -> object:
        return trigger_of_lane(trigger, info.data)

    @field_validator("sources")
    @classmethod
    def _sources_are_said_once(cls, sources: dict[str, Source], info: ValidationInfo) -> dict[str, Source]:
        if fault := faulty_sources(sources, info.data):
            raise ValueError(fault)
        return sources

    @field_validator("outputs")
    @classmethod
    def _outputs_fit(cls, outputs: tuple[Output, ...], info: ValidationInfo) -> tuple[Output, ...]:
        if "output" not in info.data:  # it has a fault of its own
            return outputs
        single: IntervalsOutput | None = info.data["output"]
        if single is not None and outputs:
            raise ValueError("the key `output` is given, too; move what it says into this list")
        if fault := faulty_outputs((single,) if single else outputs):
            raise ValueError(fault)
        return outputs

    def in_deployment(self, name: str) -> Self:
        """Return the pipeline as it is in one deployment: only the topics that it creates may be different there."""
        if not self.written_topics:
            return self
        there = tuple(each.in_deployment(name) if isinstance(each, WrittenTopic) else each for each in self.outputs)
        return self.model_copy(update={"outputs": there})

    @property
    def run_plan(self) -> RunPlan:
        """When its driver is to run."""
        return RunPlan(self.schedule, self.stop_when_idle)

    @property
    def every_source(self) -> Mapping[str, SourceSpec | TableSource]:
        """All sources by name, however they are written down."""
        return self.topic_sources if self.source is not None else self.sources

    @property
    def topic_sources(self) -> Mapping[str, SourceSpec]:
        """Those that are topics."""
        if self.source is not None and self.time is not None:
            return {self.source: SourceSpec(topic=self.source, time=self.time)}
        return {name: source for name, source in self.sources.items() if isinstance(source, SourceSpec)}

    @property
    def table_sources(self) -> Mapping[str, TableSource]:
        """Those that are settled tables of other pipelines."""
        return {name: source for name, source in self.sources.items() if isinstance(source, TableSource)}

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that it reads; none where it reads tables alone."""
        if self.source is not None:  # asked of every pipeline for every topic: no source is built for the answer
            return (self.source,)
        return tuple(source.topic for source in self.topic_sources.values())

    @property
    def reads(self) -> tuple[str, ...]:
        """All that it reads: topics, and tables as `table_input` calls them."""
        return (self.source,) if self.source is not None else tuple(each.reads for each in self.sources.values())

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables among `reads`."""
        return tuple(source.reads for source in self.table_sources.values())

    def time_of(self, topic: str) -> TimeRules:
        """Return how late and how early a record of one of its topics may be."""
        return next(source.time for source in self.topic_sources.values() if source.topic == topic)

    @property
    def is_sql(self) -> bool:
        """Whether the transform is a SELECT."""
        return self.transform.endswith(SQL_SUFFIX)

    @property
    def transform_file(self) -> str:
        """The transform's file below `spark_jobs/transforms/`."""
        return self.transform if self.is_sql else f"{self.transform.partition(':')[0]}.py"

    @property
    def intervals(self) -> IntervalsOutput:
        """The interval table, with the widest `lookback` and `lookahead` of its sources.

        Raises:
            SpecError: it has none; `has_intervals` says so before.
        """
        declared = self.declared_intervals
        back = [source.lookback for source in self.sources.values() if source.lookback is not None]
        ahead = [source.lookahead for source in self.sources.values() if source.lookahead is not None]
        if not (back or ahead):
            return declared
        reach = {"lookback": max([declared.lookback, *back]), "lookahead": max([declared.lookahead, *ahead])}
        return declared.model_copy(update=reach)

    @property
    def declared_intervals(self) -> IntervalsOutput:
        """The interval table as the spec says it.

        Raises:
            SpecError: see `intervals`.
        """
        for output in self.every_output:
            if isinstance(output, IntervalsOutput):
                return output
        raise SpecError(
            f"the pipeline {self.name!r} has no `intervals` output: it has no intervals, no backfill and no gate.",
            fix="name another pipeline, or declare an output of kind `intervals`.",
        )

    @property
    def has_intervals(self) -> bool:
        """Whether it closes intervals, which can be backfilled."""
        return any(isinstance(output, IntervalsOutput) for output in self.every_output)

    @property
    def every_output(self) -> tuple[Output, ...]:
        """All outputs, however they are written down."""
        return self.outputs if self.output is None else (self.output,)

    @property
    def side_outputs(self) -> tuple[SideOutput, ...]:
        """The outputs that get the transform's rows batch by batch, in the order in which they do."""
        return tuple(
            output for output in self.every_output if not isinstance(output, IntervalsOutput | DeadLettersOutput)
        )

    @property
    def dead_letters(self) -> DeadLettersOutput | None:
        """The topic that gets a copy of what is quarantined; None if there is none."""
        return next((output for output in self.every_output if isinstance(output, DeadLettersOutput)), None)

    @property
    def written_topics(self) -> tuple[WrittenTopic, ...]:
        """The outputs that fill a topic."""
        return tuple(output for output in self.every_output if isinstance(output, WrittenTopic))
