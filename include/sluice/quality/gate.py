"""The quality gate: may these rows be published? It fails closed.

Whatever did not happen is a failure: an engine that raised, an expectation that nobody evaluated, rows that could not
be counted, no rows although there are records. Only a warning that was evaluated and does not hold lets rows pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pydantic import TypeAdapter, ValidationError

from sluice.errors import CorruptionError
from sluice.specs.expectations import Expectation, ExpectationsSpec, Severity

_NOT_EVALUATED = "the engine returned nothing for it"


@dataclass(frozen=True)
class Checked:
    """What became of one expectation.

    Attributes:
        expectation: Great Expectations' name.
        subject: the columns that it looks at, separated by commas, or `table`.
        severity: what follows when it does not hold.
        success: whether it holds; meaningless where there is an error.
        unexpected: how many rows are not as expected; None where it does not look at single rows.
        observed: what was seen, in words.
        sample: a few of the unexpected values, as text.
        error: why it could not be evaluated; None if it was.
        description: why it must hold, from the spec.
    """

    expectation: str
    subject: str
    severity: Severity
    success: bool
    unexpected: int | None = None
    observed: str = ""
    sample: tuple[str, ...] = ()
    error: str | None = None
    description: str = ""

    @classmethod
    def of(
        cls,
        declared: Expectation,
        *,
        success: bool,
        unexpected: int | None = None,
        observed: str = "",
        sample: tuple[str, ...] = (),
    ) -> Checked:
        """Return the outcome of an expectation that was evaluated."""
        return cls(
            declared.expect,
            declared.subject,
            declared.severity,
            success,
            unexpected,
            observed,
            sample,
            description=declared.description,
        )

    @classmethod
    def failed(cls, declared: Expectation, error: str) -> Checked:
        """Return the outcome of an expectation that could not be evaluated."""
        return cls(
            declared.expect,
            declared.subject,
            declared.severity,
            success=False,
            error=error or "no reason was given",
            description=declared.description,
        )

    @property
    def holds(self) -> bool:
        """Whether it was evaluated and holds."""
        return self.success and self.error is None

    @property
    def stops(self) -> bool:
        """Whether nothing may be published because of it: not knowing stops, however mild the severity."""
        return self.error is not None or (not self.success and self.severity is Severity.CRITICAL)

    def __str__(self) -> str:
        subject = f"{self.expectation} ({self.subject})"
        if self.error is not None:
            return f"{subject} could not be evaluated: {self.error}"
        verb = "holds" if self.success else "does not hold"
        examples = f", such as {'; '.join(self.sample)}" if self.sample else ""
        return f"{subject} {verb}{f': {self.observed}' if self.observed else ''}{examples}"


@dataclass(frozen=True)
class GateResult:
    """What the gate found. Made by `judge`.

    Attributes:
        suite: the suite's name; None for a pipeline without one.
        checked: one for every declared expectation, in the suite's order.
        rows: how many rows were to be published; None if they could not be counted.
        input_records: how many records those rows were made from.
        failures: why nothing may be published, one sentence each.
    """

    suite: str | None
    checked: tuple[Checked, ...]
    rows: int | None
    input_records: int
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the rows may be published."""
        return not self.failures and self.rows is not None and not any(c.stops for c in self.checked)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What does not hold and stops nothing, one sentence each."""
        return tuple(str(c) for c in self.checked if not c.holds and not c.stops)

    @property
    def expectations_passed(self) -> int:
        """How many expectations hold."""
        return sum(c.holds for c in self.checked)

    @property
    def expectations_failed(self) -> int:
        """How many expectations do not hold or could not be evaluated, warnings included."""
        return len(self.checked) - self.expectations_passed

    def to_json(self) -> str:
        """Return all of it as JSON text; `from_json` reads it back."""
        return _adapter().dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> GateResult:
        """Read what `to_json` wrote.

        Raises:
            CorruptionError: it is something else.
        """
        try:
            return _adapter().validate_json(text)
        except ValidationError as error:
            raise CorruptionError(f"this is no result of a quality gate: {error}", fix="run the gate again.") from error


@cache
def _adapter() -> TypeAdapter[GateResult]:
    return TypeAdapter(GateResult)


def judge(
    suite: ExpectationsSpec | None,
    outcomes: Mapping[int, Checked],
    *,
    rows: int | None,
    input_records: int,
    error: str | None = None,
) -> GateResult:
    """Decide whether rows may be published.

    Args:
        suite: what was declared; None for a pipeline without a suite, whose rows only have to be there.
        outcomes: what became of each expectation, by its position in the suite. One that is missing failed.
        rows: how many rows there are; None if they could not be counted.
        input_records: how many records they were made from.
        error: what kept the engine as a whole from finishing; None if nothing did.
    """
    declared = suite.expectations if suite else ()
    checked = tuple(
        outcomes.get(position) or Checked.failed(expectation, _NOT_EVALUATED)
        for position, expectation in enumerate(declared)
    )
    failures = [f"the checks did not finish: {error}"] if error is not None else []
    if rows is None:
        failures.append("the rows could not be counted.")
    elif rows == 0 and input_records > 0 and not (suite and suite.may_be_empty):
        failures.append(f"there are no rows, although {input_records:,} records came in.")
    failures += [str(c) for c in checked if c.stops]
    return GateResult(suite.name if suite else None, checked, rows, input_records, tuple(failures))
