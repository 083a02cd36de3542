"""Data alerts: rules about the newest values of an output, sent to people as soon as one holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from sluice.specs.model.spec import Name, Spec

Scalar = str | bool | int | float
Column = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class Bound(Spec):
    """What must hold of one column. Of several bounds all must; a column that is null is within none."""

    above: float | None = None
    """It is greater."""
    at_least: float | None = None
    """It is not less."""
    below: float | None = None
    """It is less."""
    at_most: float | None = None
    """It is not greater."""
    one_of: tuple[Scalar, ...] = ()
    """It is one of these."""

    @model_validator(mode="after")
    def _says_something(self) -> Bound:
        if not self.limits and not self.one_of:
            raise ValueError("it says nothing; write one of above, at_least, below, at_most and one_of")
        return self

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, by their key."""
        every_limit = {"above": self.above, "at_least": self.at_least, "below": self.below, "at_most": self.at_most}
        return {name: limit for name, limit in every_limit.items() if limit is not None}

    def words(self) -> Iterator[str]:
        """Yield it as people say it."""
        for name, limit in self.limits.items():
            yield f"{name.replace('_', ' ')} {limit:g}"
        if self.one_of:
            yield f"one of {', '.join(map(str, self.one_of))}"


class DataAlert(Spec):
    """A rule: an alert is sent when it begins to hold for a key, and when it ceases to."""

    name: Name
    """Of no other rule of the pipeline."""
    output: Name
    """The table of a `latest` output, or the topic of a `topic` output."""
    when: dict[Column, Bound] = Field(min_length=1)
    """By column; all of them must hold."""
    message: Annotated[str, StringConstraints(max_length=500)] = ""
    """What it means and what to do, for its recipient."""
    payload: tuple[Column, ...] = ()
    """The columns of the row that a webhook gets as `row`; omitted: all of them."""
    most_per_hour: int = Field(default=20, ge=1, le=1_000)
    """For how many keys an alert is sent in an hour; the others share one."""

    def words(self) -> str:
        """Return the rule as people say it."""
        return " and ".join(f"{column} is {word}" for column, bound in self.when.items() for word in bound.words())
