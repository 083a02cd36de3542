"""Pages of newest values: what `sluice serve` shows of a pipeline's outputs, panel by panel."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator

from sluice.contracts.breach import Loc
from sluice.specs.model.data_alerts import Bound, Column, Scalar
from sluice.specs.model.spec import Name, Spec

MAX_SERIES = 8
"""Lines or colours that a reader can tell apart."""
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Unit = Annotated[str, StringConstraints(strip_whitespace=True, max_length=20)]
Order = Annotated[str, StringConstraints(pattern=r"^-?[^-].{0,254}$")]
"""A column; with a minus before it the greatest value comes first."""
Combining = Literal["sum", "min", "max", "mean", "count"]


def _written_out(bound: object) -> object:
    """Return a bound for its short form, a value or a list of values, as strict Python has it."""
    match bound:
        case str() | bool() | int() | float():
            return {"one_of": (bound,)}
        case list():
            return {"one_of": tuple(bound)}
        case dict() if isinstance(values := bound.get("one_of"), list):
            return bound | {"one_of": tuple(values)}
        case _:
            return bound


Filter = Annotated[Bound, BeforeValidator(_written_out, json_schema_input_type=Bound | Scalar | list[Scalar])]
"""What must hold of one column: bounds as in `alerts`, or short for `one_of`: a value or a list of values."""


class PanelSpec(Spec):
    """What every panel has."""

    title: Title
    """Of no other panel of the page."""
    output: Name
    """The table of a `latest` output, or the topic of a `topic` output."""
    where: dict[Column, Filter] = Field(default_factory=dict)
    """Which rows it is about, by column; all must hold. Omitted: all rows."""

    @property
    def reads(self) -> dict[Loc, str]:
        """The columns that it reads, by the place that names each, but for those of `where`."""
        return {}


class NumberPanel(PanelSpec):
    """One number, large."""

    kind: Literal["number"]
    value: Column | None = None
    """The column; `aggregate: count` needs none."""
    aggregate: Literal["newest", "sum", "min", "max", "mean", "count"] = Field(default="newest", validate_default=True)
    """How one number is made of several rows. `newest`: that of the row which changed last, or see `newest_by`."""
    newest_by: Column | None = Field(default=None, validate_default=True)
    """The column, such as a time, whose greatest value says which row is the newest."""
    unit: Unit = ""

    @field_validator("aggregate")
    @classmethod
    def _has_a_value(cls, aggregate: str, info: ValidationInfo) -> str:
        return _with_value(aggregate, "value", info)

    @field_validator("newest_by")
    @classmethod
    def _asks_for_the_newest(cls, column: str | None, info: ValidationInfo) -> str | None:
        aggregate = info.data.get("aggregate")
        if column is not None and aggregate not in ("newest", None):
            raise ValueError(f"`aggregate: {aggregate}` is about all rows; remove one of the two")
        return column

    @property
    def reads(self) -> dict[Loc, str]:
        """See `PanelSpec`."""
        return _named(value=self.value, newest_by=self.newest_by)


class LinePanel(PanelSpec):
    """Values over time, as lines."""

    kind: Literal["line"]
    x: Column
    """The column with the time."""
    y: tuple[Column, ...] = Field(default=(), max_length=MAX_SERIES)
    """The columns with the values, a line for each; `aggregate: count` needs none."""
    aggregate: Combining = Field(default="sum", validate_default=True)
    """How one value is made of the rows of one time and line."""
    by: Column | None = None
    """The column that splits a single value into lines, one for each of its values."""
    unit: Unit = ""
    newest: int = Field(default=120, ge=2, le=600)
    """How many times are drawn."""

    @field_validator("aggregate")
    @classmethod
    def _has_values(cls, aggregate: str, info: ValidationInfo) -> str:
        return _with_value(aggregate, "y", info)

    @field_validator("by")
    @classmethod
    def _splits_one_value(cls, by: str | None, info: ValidationInfo) -> str | None:
        columns = info.data.get("y", ())
        if by is not None and len(columns) > 1:
            raise ValueError(f"it splits one value, and `y` names {len(columns)}; keep one, or remove `by`")
        return by

    @property
    def reads(self) -> dict[Loc, str]:
        """See `PanelSpec`."""
        return _named(x=self.x, by=self.by) | _listed("y", self.y)


class BarsPanel(PanelSpec):
    """One bar for each value of a column."""

    kind: Literal["bars"]
    x: Column
    """The column with the categories."""
    y: Column | None = None
    """The column with the values; `aggregate: count` needs none."""
    aggregate: Combining = Field(default="sum", validate_default=True)
    """How one value is made of the rows of one category."""
    order: Literal["value", "category"] = "value"
    """`value`: the greatest first."""
    unit: Unit = ""
    rows: int = Field(default=12, ge=1, le=40)
    """How many bars are drawn."""

    @field_validator("aggregate")
    @classmethod
    def _has_a_value(cls, aggregate: str, info: ValidationInfo) -> str:
        return _with_value(aggregate, "y", info)

    @property
    def reads(self) -> dict[Loc, str]:
        """See `PanelSpec`."""
        return _named(x=self.x, y=self.y)


class TopPanel(PanelSpec):
    """The rows with the greatest values, ranked."""

    kind: Literal["top"]
    name: Column
    """The column that names a row."""
    value: Column
    """The column by which rows are ranked."""
    change: Column | None = None
    """The column with the change of the value as a share of what it was: 0.25 is shown as +25 %."""
    unit: Unit = ""
    rows: int = Field(default=10, ge=1, le=100)
    """How many are shown."""

    @property
    def reads(self) -> dict[Loc, str]:
        """See `PanelSpec`."""
        return _named(name=self.name, value=self.value, change=self.change)


class TablePanel(PanelSpec):
    """Rows as they are."""

    kind: Literal["table"]
    columns: tuple[Column, ...] = Field(min_length=1, max_length=20)
    """The columns, from left to right."""
    order: Order | None = None
    """A column, with a minus before it for the greatest first. Omitted: what changed last comes first."""
    rows: int = Field(default=20, ge=1, le=200)
    """How many are shown."""

    @property
    def reads(self) -> dict[Loc, str]:
        """See `PanelSpec`."""
        ordered = None if self.order is None else self.order.removeprefix("-")
        return _listed("columns", self.columns) | _named(order=ordered)


class PositionsPanel(PanelSpec):
    """Places on a plain grid of degrees."""

    kind: Literal["positions"]
    lon: Column
    """The column with the longitude in degrees, east positive."""
    lat: Column
    """The column with the latitude in degrees, north positive."""
    label: Column | None = None
    """The column that names a place; omitted: the keys of its row do."""
    state: Column | None = None
    """The column whose values are told apart by colour and shape."""
    rows: int = Field(default=200, ge=1, le=500)
    """How many are drawn, those that changed last."""

    @property
    def reads(self) -> dict[Loc, str]:
        """See `PanelSpec`."""
        return _named(lon=self.lon, lat=self.lat, label=self.label, state=self.state)


Panel = Annotated[
    NumberPanel | LinePanel | BarsPanel | TopPanel | TablePanel | PositionsPanel, Field(discriminator="kind")
]


class PageSpec(Spec):
    """A page of `sluice serve`."""

    title: Title | None = None
    """Omitted: the name of the pipeline."""
    panels: tuple[Panel, ...] = Field(min_length=1, max_length=24)
    """From the top left on."""


def _named(**columns: str | None) -> dict[Loc, str]:
    return {(key,): column for key, column in columns.items() if column is not None}


def _listed(key: str, columns: tuple[str, ...]) -> dict[Loc, str]:
    return {(key, place): column for place, column in enumerate(columns)}


def _with_value(aggregate: str, key: str, info: ValidationInfo) -> str:
    """Refuse an aggregate without a column, and a count of a column's values."""
    if key not in info.data:  # it has a fault of its own
        return aggregate
    if aggregate == "count" and info.data[key]:
        raise ValueError(f"it counts rows and reads no column; remove `{key}`")
    if aggregate != "count" and not info.data[key]:
        raise ValueError(f"`{key}` is missing: name a column, or write `aggregate: count` to count rows")
    return aggregate
