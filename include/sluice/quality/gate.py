"""The quality gate: may these rows be published? It fails closed.

A missing result is a failure: an engine that raised, an expectation that was not evaluated, rows that could not be
counted, no rows although there are records. Only a warning that was evaluated and does not hold lets rows pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from pydantic import TypeAdapter, ValidationError

from sluice.errors import CorruptionError
from sluice.quality.check_result import CheckResult
from sluice.quality.intervals import IntervalCheckResult
from sluice.quality.samples import with_samples
from sluice.specs.expectations.model import ExpectationsSpec, Samples, Subject

_NOT_EVALUATED = "the engine returned nothing for it"
_NO_ROWS = "no rows"


@dataclass(frozen=True)
class Override:
    """A user's decision to publish despite the violations that a gate found.

    Attributes:
        by: who says so.
        why: the reason on record.
        backfill: whose gate had failed; what that did not find is not accepted.
        accepted: what it had found, see `GateResult.found`.
    """

    by: str
    why: str
    backfill: str
    accepted: tuple[str, ...]


@dataclass(frozen=True)
class GateResult:
    """What the gate found. Made by `judge`.

    Attributes:
        suite: the suite's name; None for a pipeline without one.
        checked: one for every declared expectation, in the suite's order.
        rows: how many rows were to be published; None if they could not be counted.
        input_records: how many records those rows were made from.
        failures: why nothing may be published, one sentence each.
        missing: there are no rows, and there should be some.
        intervals: one for every declared expectation about intervals and every interval, in the order of time.
        override: the decision that lets violations pass; None without one.
    """

    suite: str | None
    checked: tuple[CheckResult, ...]
    rows: int | None
    input_records: int
    failures: tuple[str, ...]
    missing: bool = False
    intervals: tuple[IntervalCheckResult, ...] = ()
    override: Override | None = None

    @property
    def passed(self) -> bool:
        """Whether the rows may be published."""
        return not self.failures and self.rows is not None and not self.stopping

    @property
    def warnings(self) -> tuple[str, ...]:
        """What does not hold and stops nothing, one sentence each."""
        return self._names_of(lambda _, c: not c.holds and not c.stops)

    @property
    def stopping(self) -> tuple[str, ...]:
        """The violations that stop the publishing, one sentence each."""
        violations = self._names_of(lambda name, c: c.stops and not (c.error is None and self._accepts(name)))
        return (*([self._no_rows] if self.missing and not self._accepts(_NO_ROWS) else []), *violations)

    @property
    def overridden(self) -> tuple[str, ...]:
        """The violations that the override accepts; one sentence each."""
        violations = self._names_of(lambda name, c: c.stops and c.error is None and self._accepts(name))
        return (*([self._no_rows] if self.missing and self._accepts(_NO_ROWS) else []), *violations)

    @property
    def found(self) -> tuple[str, ...]:
        """The names of the evaluated violations, which an override can accept; it cannot accept a missing result."""
        stopping = [name for name, c in self._all() if c.stops and c.error is None]
        return (*([_NO_ROWS] if self.missing else []), *stopping)

    @property
    def expectations_passed(self) -> int:
        """How many expectations hold; one about intervals if it holds in all of them."""
        return self.expectations - self.expectations_failed

    @property
    def expectations_failed(self) -> int:
        """How many expectations do not hold or could not be evaluated, warnings included."""
        return len(
            {c.key for c in self.checked if not c.holds} | {i.key for i in self.intervals if not i.checked.holds}
        )

    @property
    def expectations(self) -> int:
        """How many expectations there are."""
        return len({c.key for c in self.checked} | {i.key for i in self.intervals})

    @property
    def _no_rows(self) -> str:
        return f"there are no rows, although {self.input_records:,} records came in."

    def _accepts(self, name: str) -> bool:
        return self.override is not None and name in self.override.accepted

    def _all(self) -> Iterator[tuple[str, CheckResult]]:
        """Yield the result of each expectation, with its name here."""
        yield from ((checked.key, checked) for checked in self.checked)
        yield from ((_name(result), result.checked) for result in self.intervals)

    def _names_of(self, wanted: Callable[[str, CheckResult], bool]) -> tuple[str, ...]:
        """Return sentences about what is wanted; of an expectation about intervals one, about the last of them."""
        sentences = [str(checked) for checked in self.checked if wanted(checked.key, checked)]
        by_key: dict[str, list[IntervalCheckResult]] = defaultdict(list)
        for result in self.intervals:
            if wanted(_name(result), result.checked):
                by_key[result.key].append(result)
        for same in by_key.values():
            more = len(same) - 1
            earlier = f"; so {more:,} earlier {'interval' if more == 1 else 'intervals'}" if more else ""
            sentences.append(f"{same[-1]}{earlier}")
        return tuple(sentences)

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


def _name(result: IntervalCheckResult) -> str:
    return f"{result.key} {result.start.isoformat()}"


@cache
def _adapter() -> TypeAdapter[GateResult]:
    return TypeAdapter(GateResult)


def judge(
    suite: ExpectationsSpec | None,
    outcomes: Mapping[int, CheckResult],
    *,
    rows: int | None,
    input_records: int,
    error: str | None = None,
    intervals: tuple[IntervalCheckResult, ...] = (),
    override: Override | None = None,
) -> GateResult:
    """Decide whether rows may be published.

    Args:
        suite: what was declared; None for a pipeline without a suite, whose rows only have to be there.
        outcomes: the result of each expectation, by its position in the suite. One that is missing failed.
        rows: how many rows there are; None if they could not be counted.
        input_records: how many records they were made from.
        error: what kept the engine as a whole from finishing; None if nothing did.
        intervals: the results of the expectations about intervals.
        override: the decision that lets violations pass. None lets a missing result pass.
    """
    declared = suite.about(Subject.TABLE) if suite else ()
    checked = tuple(
        outcomes.get(position) or CheckResult.failed(expectation, _NOT_EVALUATED)
        for position, expectation in enumerate(declared)
    )
    manner = suite.samples if suite else Samples.SHOWN
    checked = tuple(with_samples(each, manner) for each in checked)
    intervals = tuple(replace(each, checked=with_samples(each.checked, manner)) for each in intervals)
    missing = rows == 0 and input_records > 0 and not (suite and suite.may_be_empty)
    name = suite.name if suite else None
    result = GateResult(name, checked, rows, input_records, (), missing, intervals, override)
    failures = [f"the checks did not finish: {error}"] if error is not None else []
    if rows is None:
        failures.append("the rows could not be counted.")
    return replace(result, failures=(*failures, *result.stopping))
