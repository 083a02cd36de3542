"""What a pipeline delivers, and how: one model per kind of output."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Literal, Self, get_args

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from sluice.specs.model.deadlines import DeclaredShare
from sluice.specs.model.duration import Duration
from sluice.specs.model.spec import Name, Spec
from sluice.specs.model.topic_shape import TopicShape
from sluice.values.column_types import ddl_of

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_LENGTHS = {"hour": HOUR, "day": DAY}


Condition = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
"""A condition in SQL about the columns of one row."""


class CarriedTable(Spec):
    """A table that each interval hands on to the next one, such as balances: a row for each of its keys."""

    keys: tuple[Name, ...] = Field(min_length=1)
    """The columns that name a row; none of them is ever null."""
    columns: dict[Name, str] = Field(min_length=1)
    """Names and types, such as `long`, `decimal(18, 2)` or `array<double>`. What else the transform returns is left
    out."""

    keep: Duration = timedelta(days=30)
    """For how long before the newest interval states are kept: intervals of then can be verified and computed again."""

    @field_validator("columns")
    @classmethod
    def _types_are_known(cls, columns: dict[str, str]) -> dict[str, str]:
        for name, kind in columns.items():
            try:
                ddl_of(kind)
            except ValueError as error:
                raise ValueError(f"{name!r}: {error}") from None
        return columns

    @model_validator(mode="after")
    def _keys_are_columns(self) -> Self:
        for key in self.keys:
            if key not in self.columns:
                raise ValueError(f"the key {key!r} is no column; there are {', '.join(self.columns)}")
            if self.columns[key].partition("<")[0] in ("array", "map", "struct", "double"):
                raise ValueError(f"the key {key!r} is a {self.columns[key]}, which names no row; choose another")
        if len(set(self.keys)) < len(self.keys):
            raise ValueError("a key is in it twice")
        return self

    @property
    def ddl(self) -> str:
        """Its columns in Spark's words."""
        return ", ".join(f"`{name}` {ddl_of(kind)}" for name, kind in self.columns.items())


class IntervalsOutput(Spec):
    """Rows by the interval that they belong to: those of an interval appear together, once it is closed."""

    kind: Literal["intervals"] = "intervals"
    table: Name
    time_column: Name
    """The column that says when a row belongs (timestamp, never null): the row lies in the interval that holds it."""
    window: Duration | None = None
    """How long the windows are; omitted where the rows come from no windows of a fixed length."""
    interval: Literal["hour", "day"]
    """The physical partition and the unit of ownership, backfill and publish."""
    keys: tuple[Name, ...] = ()
    """Columns that distinguish the rows of one window. With them a parity report says `different` where it could
    otherwise only say `missing` and `extra`."""
    lookback: Duration = timedelta(0)
    """How far before an interval the records begin that its rows are made of."""
    lookahead: Duration = timedelta(0)
    """How far behind an interval's end they go on. It is complete that much later."""
    since_column: Name | None = None
    """The column with the time of a row's first record (timestamp), where no `lookback` is sure to hold all
    records, as of sessions. Where a row begins in the first half of the lookback, it is computed with twice as much."""
    scope: Literal["range", "interval"] = "range"
    """What one call of the transform is given. `range`: the records of one interval or of many, so no row may depend on
    how many. `interval`: exactly those of one interval, so rows may rank, number or total all of it; a call each."""
    where: Condition | None = None
    """Which of the transform's rows it takes; omitted: all."""
    objective: DeclaredShare = None
    """For which share of the time it shall be good; omitted: as its pipeline says."""
    carries: dict[Name, CarriedTable] = Field(default_factory=dict, validate_default=True)
    """Tables that each interval hands on. The transform takes what the interval before has left under these names, and
    returns its rows and what it leaves itself: `return rows, balances`. Each call is given one interval, in order."""

    @field_validator("carries")
    @classmethod
    def _carries_instead_of_looking_back(
        cls, carries: dict[str, CarriedTable], info: ValidationInfo
    ) -> dict[str, CarriedTable]:
        if carries and (reaching := [key for key in ("lookback", "lookahead") if info.data.get(key)]):
            raise ValueError(
                f"the state holds what is before an interval, and `{reaching[0]}` would give its records twice; keep "
                "one of the two"
            )
        return carries

    @field_validator("window")
    @classmethod
    def _holds_something(cls, window: timedelta | None) -> timedelta | None:
        if window is not None and not window:
            raise ValueError("a window of no length holds nothing")
        return window

    @field_validator("since_column")
    @classmethod
    def _has_something_to_widen(cls, column: str | None, info: ValidationInfo) -> str | None:
        if column is not None and not info.data.get("lookback", True):
            raise ValueError("there is no `lookback` to be widened; declare how far back most rows reach")
        return column

    @property
    def interval_length(self) -> timedelta:
        """One hour or one day."""
        return _LENGTHS[self.interval]

    @property
    def on_grid(self) -> bool:
        """Whether rows are made of the records of their own interval alone, by windows that tumble."""
        return self.window is not None and not self.interval_length % self.window and not self.reaches_beyond

    @property
    def reaches_beyond(self) -> bool:
        """Whether rows are made of records outside their interval, too."""
        return bool(self.lookback or self.lookahead)

    @property
    def called_per_interval(self) -> bool:
        """Whether one call of the transform is given the records of one interval, never of several."""
        return self.scope == "interval" or bool(self.carries)


class RowsOutput(Spec):
    """Results record by record, appended to a Delta table, each once. The transform keeps no state."""

    kind: Literal["rows"]
    table: Name
    where: Condition | None = None
    """Which of the transform's rows it takes; omitted: all."""
    objective: DeclaredShare = None
    """For which share of the time it shall be good; omitted: as its pipeline says."""


class LatestOutput(Spec):
    """One row per key, the newest: rows are merged into what is there."""

    kind: Literal["latest"]
    table: Name
    where: Condition | None = None
    """Which of the transform's rows it takes; omitted: all. A row whose newest values do not fit stays as it was."""
    objective: DeclaredShare = None
    """For which share of the time it shall be good; omitted: as its pipeline says."""
    keys: tuple[Name, ...] = Field(min_length=1)
    """The columns that name a row; none of them is ever null."""
    newest_by: Name | None = None
    """The column that says which of two rows of a key is newer; an older one replaces nothing. Omitted: the row of the
    later batch is, and a batch brings at most one row per key, as an aggregation over the keys does."""
    keep: Literal["all", "open"] = "all"
    """`open`: a row goes when its interval is settled, because the interval table has it then."""
    store: Literal["delta", "postgres"] = "delta"
    connection: Name | None = Field(default=None, validate_default=True)
    """Of PostgreSQL: the variable `SLUICE_CONNECTION_<NAME>` holds its URL, which no spec does."""

    @field_validator("connection")
    @classmethod
    def _fits_the_store(cls, connection: str | None, info: ValidationInfo) -> str | None:
        store = info.data.get("store")
        if store == "postgres" and connection is None:
            raise ValueError(
                "the store is postgres and no connection is named; add `connection: <name>` and put the URL into the "
                "variable SLUICE_CONNECTION_<NAME>"
            )
        if store == "delta" and connection is not None:
            raise ValueError("a Delta table needs no connection; remove it, or write `store: postgres`")
        return connection


class WrittenTopic(Spec):
    """A topic that an output fills."""

    topic: Name
    create: TopicShape | None = None
    """How the DAG `topics` creates it. Omitted: the topic has a spec of its own, because some pipeline reads it."""
    objective: DeclaredShare = None
    """For which share of the time it shall be good; omitted: as its pipeline says."""

    def in_deployment(self, name: str) -> Self:
        """Return the output as it is in one deployment; see `TopicShape`."""
        return self if self.create is None else self.model_copy(update={"create": self.create.in_deployment(name)})


class TopicOutput(WrittenTopic):
    """One Kafka record per row: its keys as key, all of it as value, both JSON; headers mark what is repeated."""

    kind: Literal["topic"]
    where: Condition | None = None
    """Which of the transform's rows it takes; omitted: all."""
    keys: tuple[Name, ...] = Field(min_length=1)
    """The columns in a record's key: rows of one key stay in order."""
    delivery: Literal["at_least_once", "at_most_once"] = "at_least_once"
    """`at_least_once`: a crash repeats records, which `sluice.kafka.deduplication` drops exactly. `at_most_once`: a
    crash loses the rest of one batch and repeats nothing."""


class SinkOutput(Spec):
    """The rows of each batch, given to a function of the project, which declares what it guarantees."""

    kind: Literal["sink"]
    name: Name
    """Names it in messages, and the table of what it was given."""
    function: Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*:[a-z_][a-z0-9_]*$")]
    """Below `spark_jobs/sinks/`: `module:function`."""
    connection: Name | None = None
    """The variable `SLUICE_CONNECTION_<NAME>` holds the URL that the function is given."""
    where: Condition | None = None
    """Which of the transform's rows it takes; omitted: all."""
    objective: DeclaredShare = None
    """For which share of the time it shall be good; omitted: as its pipeline says."""

    @property
    def module_file(self) -> str:
        """The file of the module, below `spark_jobs/sinks/`."""
        return f"{self.function.partition(':')[0].replace('.', '/')}.py"


class DeadLettersOutput(WrittenTopic):
    """A copy of each quarantined record, its bytes unchanged; headers say where it was and why it was refused.

    For consumers of a topic. The quarantine itself is the raw table, which nothing here changes.
    """

    kind: Literal["dead_letters"]


SideOutput = RowsOutput | LatestOutput | TopicOutput | SinkOutput
"""What a batch of the transform's rows is written to as it goes; an interval table has a query of its own."""


Output = Annotated[IntervalsOutput | SideOutput | DeadLettersOutput, Field(discriminator="kind")]


def _required_keys(kind: str) -> tuple[str, ...]:
    """Return the keys that an output of a kind cannot do without, but for `kind`; none for a kind that there is not."""
    models = (IntervalsOutput, RowsOutput, LatestOutput, TopicOutput, SinkOutput, DeadLettersOutput)
    model = next((each for each in models if kind in get_args(each.model_fields["kind"].annotation)), None)
    fields = {} if model is None else model.model_fields
    return tuple(name for name, field in fields.items() if field.is_required() and name != "kind")


def _an_interval_table(output: object) -> object:
    """Refuse an output of another kind at once, not by every key that an interval table has and it has not."""
    kind = output.get("kind", "intervals") if isinstance(output, dict) else "intervals"
    if isinstance(kind, str) and kind != "intervals" and (keys := _required_keys(kind)):
        needs = ", ".join([f"kind: {kind}", *(f"{key}: …" for key in keys)])
        raise ValueError(
            f"`output` is short for one interval table, and this is of the kind {kind}; write it into the list "
            f"`outputs`, with what it needs: `outputs: [{{{needs}}}]`"
        )
    if not isinstance(output, dict):
        return output
    return _with_tuples(output)


def _with_tuples(value: object) -> object:
    """Return a value of JSON as strict Python has it, which pydantic takes for what a function returns."""
    if isinstance(value, dict):
        return {key: _with_tuples(each) for key, each in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


SingleOutput = Annotated[IntervalsOutput | None, BeforeValidator(_an_interval_table)]
"""What stands for a list of one interval table."""


def faulty_outputs(outputs: Sequence[Output]) -> str | None:
    """Return why outputs do not go together, and what to do; None if they do."""
    kinds = [output.kind for output in outputs]
    if set(kinds) <= {"dead_letters"}:
        return "it delivers no result; add an output of the kind intervals, rows, latest, topic or sink"
    for kind in ("intervals", "rows", "dead_letters"):
        if kinds.count(kind) > 1:
            return (
                f"{kinds.count(kind)} outputs are of the kind {kind}; keep one here, and the other in its own pipeline"
            )
    if {"intervals", "rows"} <= set(kinds):
        return "`intervals` needs a windowed transform and `rows` one without state; write a pipeline for each"
    open_ones = any(isinstance(output, LatestOutput) and output.keep == "open" for output in outputs)
    if open_ones and not any(isinstance(output, IntervalsOutput) for output in outputs):
        return "`keep: open` needs an `intervals` output, which holds what is no longer open; add one, or write `all`"
    return None
