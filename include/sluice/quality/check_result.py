"""The result of one expectation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sluice.specs.expectations.model import Expectation, Severity


@dataclass(frozen=True)
class CheckResult:
    """The result of one expectation.

    Attributes:
        expectation: Great Expectations' name.
        subject: the columns that it checks, separated by commas, or `table`.
        severity: the consequence of a violation.
        success: whether it holds; meaningless where there is an error.
        unexpected: how many rows are not as expected; None where it does not check single rows.
        observed: the observed values, in words.
        sample: a few of the unexpected values, as text.
        error: why it could not be evaluated; None if it was.
        description: why it must hold, from the spec.
        key: identifies the expectation, see `Expectation.key`.
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
    key: str = ""

    @classmethod
    def of(
        cls,
        declared: Expectation,
        *,
        success: bool,
        unexpected: int | None = None,
        observed: str = "",
        sample: tuple[str, ...] = (),
    ) -> CheckResult:
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
            key=declared.key,
        )

    @classmethod
    def failed(cls, declared: Expectation, error: str) -> CheckResult:
        """Return the outcome of an expectation that could not be evaluated."""
        return replace(cls.of(declared, success=False), error=error or "no reason was given")

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
