"""What must hold for the records and rows of a pipeline, as frozen models.

Expectations have Great Expectations' names and arguments; whether it knows them, `sluice.gx.vocabulary` judges. The
severity is ours, because Great Expectations counts a failed warning as a failure.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue, StringConstraints, ValidationInfo, field_validator

from sluice.specs.model.duration import Duration
from sluice.specs.model.spec import Name, Spec

_SUBJECT_KEYS = ("column", "column_A", "column_B", "column_list", "column_set")


class Severity(StrEnum):
    """What follows when an expectation does not hold."""

    CRITICAL = "critical"
    """Nothing is published."""
    WARNING = "warning"
    """It is reported, and the rows are published."""
    INFO = "info"
    """It is counted and shown, and no alert is sent."""


class Subject(StrEnum):
    """Where an expectation holds."""

    RECORD = "record"
    """For each record, in the stream and in every batch, as soon as it is decoded; about the topic's fields."""
    TABLE = "table"
    """For the pipeline's rows, at the gate of a backfill and in the published table; about the output's columns."""
    INTERVAL = "interval"
    """For each interval's rows on their own, once it is closed, and at the gate; one result for each interval."""


class Frequency(StrEnum):
    """How often something is done without a request."""

    HOURLY = "hourly"
    DAILY = "daily"


class Samples(StrEnum):
    """What is seen of unexpected values in results and on pages."""

    SHOWN = "shown"
    MASKED = "masked"
    """Their form: letters as `x`, digits as `9`."""
    NONE = "none"


class HistoricalBounds(Spec):
    """Bounds that earlier intervals give: around the median of what was measured in them."""

    intervals: int = Field(ge=3, le=1000)
    """The window: so many intervals before the one that is judged."""
    every: Duration | None = None
    """How far they are apart; `7 days` compares a Monday with Mondays. Omitted: each interval before it."""
    at_least: int = Field(default=5, ge=3)
    """With fewer measured ones in the window there is no bound yet: nothing is judged, and the page says so."""
    deviations: float = Field(default=5, gt=0)
    """Half the width, in deviations: 1.4826 times the median distance from the median."""
    share: float = Field(default=0.1, ge=0)
    """Half the width at least, as a share of the median: where nothing ever varied, a little must not stop anything."""

    @field_validator("at_least")
    @classmethod
    def _within_the_window(cls, at_least: int, info: ValidationInfo) -> int:
        intervals = info.data.get("intervals")
        if intervals is not None and at_least > intervals:
            raise ValueError(f"the window has {intervals} intervals, so there are never {at_least}")
        return at_least


class Expectation(Spec):
    """One thing that must hold."""

    expect: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
    """Great Expectations' name, such as `expect_column_values_to_not_be_null`."""
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    """Its arguments, under Great Expectations' names."""
    on: tuple[Subject, ...] = Field(default=(Subject.TABLE,), json_schema_extra={"minItems": 1})
    """Where it holds; both where record and row have its columns."""
    source: Name | None = None
    """Whose records it is about, where the pipeline reads several topics: the name of one of its sources."""
    severity: Severity = Severity.CRITICAL
    description: str = ""
    """Why it must hold, for readers of a failure."""
    history: HistoricalBounds | None = None
    """Further bounds, which earlier intervals give."""

    @field_validator("on")
    @classmethod
    def _somewhere(cls, on: tuple[Subject, ...]) -> tuple[Subject, ...]:
        if not on:  # not by `min_length`, which is a second fault beside each entry that is none
            raise ValueError("it needs at least one entry")
        return tuple(dict.fromkeys(on))

    @field_validator("source")
    @classmethod
    def _is_of_records(cls, source: str | None, info: ValidationInfo) -> str | None:
        on = info.data.get("on")
        if source is not None and on is not None and Subject.RECORD not in on:
            raise ValueError(
                "it says whose records are meant, and this is not about records; remove it, or add `record` to `on`"
            )
        return source

    @property
    def key(self) -> str:
        """Name what is asked: the same however often, and by whatever suite; changed with an argument."""
        history = None if self.history is None else self.history.model_dump(mode="json")
        asked = [self.expect, self.kwargs, history, *([] if self.source is None else [self.source])]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def subject(self) -> str:
        """The columns that it checks, separated by commas; `table` where it names none."""
        values = [self.kwargs[key] for key in _SUBJECT_KEYS if key in self.kwargs]
        columns = [str(c) for value in values for c in (value if isinstance(value, list) else [value])]
        return ", ".join(columns) or "table"


class ExpectationsSpec(Spec):
    """`include/expectations/<name>.yaml`: what must hold for the records and rows of one pipeline."""

    name: Name
    description: str = ""
    pipeline: Name
    """The pipeline that it guards; a pipeline has at most one suite."""
    may_be_empty: bool = False
    """Whether no rows are right although there are records, as where a transform only picks out rare ones."""
    check: Frequency = Frequency.DAILY
    """How often the published table is checked though no backfill has published: what the stream closes meanwhile."""
    samples: Samples = Samples.SHOWN
    """What is seen of unexpected values, in results, on pages and in alerts."""
    expectations: tuple[Expectation, ...] = Field(min_length=1)

    def about(self, subject: Subject) -> tuple[Expectation, ...]:
        """Return the expectations that hold there, in their order."""
        return tuple(expectation for expectation in self.expectations if subject in expectation.on)

    @property
    def gate(self) -> ExpectationsSpec | None:
        """What of it the pipeline's rows have to pass; None if it is only about records."""
        about_rows = tuple(e for e in self.expectations if {Subject.TABLE, Subject.INTERVAL} & {*e.on})
        return self.model_copy(update={"expectations": about_rows}) if about_rows else None

    @field_validator("expectations")
    @classmethod
    def _each_once(cls, expectations: tuple[Expectation, ...]) -> tuple[Expectation, ...]:
        seen: list[str] = []
        for number, expectation in enumerate(expectations, start=1):
            if expectation.key in seen:
                first = seen.index(expectation.key) + 1
                raise ValueError(
                    f"number {number} repeats number {first} ({expectation.expect} of "
                    f"{expectation.subject}); keep one of the two"
                )
            seen.append(expectation.key)
        return expectations
