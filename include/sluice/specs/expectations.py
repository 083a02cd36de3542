"""What must hold for the records and rows of a pipeline, as frozen models.

Expectations have Great Expectations' names and arguments; whether it knows them, `sluice.gx.vocabulary` judges. The
severity is ours, because Great Expectations counts a failed warning as a failure.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue, StringConstraints, field_validator

from sluice.specs.spec import Name, Spec

_SUBJECT_KEYS = ("column", "column_A", "column_B", "column_list", "column_set")


class Severity(StrEnum):
    """What follows when an expectation does not hold."""

    CRITICAL = "critical"
    """Nothing is published."""
    WARNING = "warning"
    """It is reported, and the rows are published."""
    INFO = "info"
    """It is counted and shown, and nobody is told."""


class Subject(StrEnum):
    """Where an expectation holds."""

    RECORD = "record"
    """For each record, in the stream and in every batch, as soon as it is decoded; about the topic's fields."""
    TABLE = "table"
    """For the pipeline's rows, at the gate of a backfill and in the published table; about the output's columns."""


class Expectation(Spec):
    """One thing that must hold."""

    expect: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
    """Great Expectations' name, such as `expect_column_values_to_not_be_null`."""
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    """Its arguments, under Great Expectations' names."""
    on: tuple[Subject, ...] = Field(default=(Subject.TABLE,), json_schema_extra={"minItems": 1})
    """Where it holds; both where record and row have its columns."""
    severity: Severity = Severity.CRITICAL
    description: str = ""
    """Why it must hold, for whoever reads that it does not."""

    @field_validator("on")
    @classmethod
    def _somewhere(cls, on: tuple[Subject, ...]) -> tuple[Subject, ...]:
        if not on:  # not by `min_length`, which is a second fault beside each entry that is none
            raise ValueError("it needs at least one entry")
        return tuple(dict.fromkeys(on))

    @property
    def subject(self) -> str:
        """The columns that it looks at, separated by commas; `table` where it names none."""
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
    expectations: tuple[Expectation, ...] = Field(min_length=1)

    def about(self, subject: Subject) -> tuple[Expectation, ...]:
        """Return the expectations that hold there, in their order."""
        return tuple(expectation for expectation in self.expectations if subject in expectation.on)

    @property
    def gate(self) -> ExpectationsSpec | None:
        """What of it the pipeline's rows have to pass; None if it is only about records."""
        about_rows = self.about(Subject.TABLE)
        return self.model_copy(update={"expectations": about_rows}) if about_rows else None

    @field_validator("expectations")
    @classmethod
    def _each_once(cls, expectations: tuple[Expectation, ...]) -> tuple[Expectation, ...]:
        seen: list[tuple[str, dict[str, JsonValue]]] = []
        for number, expectation in enumerate(expectations, start=1):
            asked = (expectation.expect, expectation.kwargs)
            if asked in seen:
                raise ValueError(
                    f"number {number} repeats number {seen.index(asked) + 1} ({expectation.expect} of "
                    f"{expectation.subject}); keep one of the two"
                )
            seen.append(asked)
        return expectations
