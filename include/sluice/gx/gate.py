"""Runs a suite on rows by Great Expectations' Spark engine, and lets nothing of it through as a pass by mistake.

Great Expectations takes seconds to import, so it is imported where it is used.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from sluice.gx.like import as_spark_knows
from sluice.gx.vocabulary import implementation
from sluice.quality.check_result import CheckResult
from sluice.quality.gate import GateResult, Override, judge
from sluice.quality.intervals import IntervalCheckResult
from sluice.specs.expectations.model import Expectation, ExpectationsSpec, Subject

if TYPE_CHECKING:
    from great_expectations.core import ExpectationValidationResult

_SAMPLES = 5
_SAMPLE_WIDTH = 120
_ERROR_WIDTH = 500
_POSITION = "position"
"""Where an expectation stands in the suite, carried in its `meta`: results come back in another order."""


def run_gate(
    rows: DataFrame,
    suite: ExpectationsSpec | None,
    *,
    input_records: int,
    of_intervals: Callable[[DataFrame], tuple[IntervalCheckResult, ...]] = lambda _: (),
    override: Override | None = None,
) -> GateResult:
    """Check rows before they are published. The rows are read once and cached for the checks.

    Args:
        rows: what is to be published; best a table staged on disk; otherwise they are computed once for the cache.
        suite: what must hold; None: only that there are rows if there are records.
        input_records: how many records the rows were made from.
        of_intervals: judges the expectations about intervals.
        override: whose word lets pass what would stop.

    Returns:
        A result in every case. An exception, of Spark or of Great Expectations, is a failed gate with its message.
    """
    outcomes: dict[int, CheckResult] = {}
    intervals: tuple[IntervalCheckResult, ...] = ()
    count: int | None = None
    error = None
    try:
        if suite is None:
            count = rows.count()
        else:
            with _cached(rows), _quiet():
                count = rows.count()
                outcomes = _evaluate(rows, suite)
                intervals = of_intervals(rows)
    except Exception as raised:  # noqa: BLE001 - after any error the rows are not checked
        error = _words(raised)
    return judge(
        suite, outcomes, rows=count, input_records=input_records, error=error, intervals=intervals, override=override
    )


def _evaluate(rows: DataFrame, suite: ExpectationsSpec) -> dict[int, CheckResult]:
    """Return the results of the expectations, by position. Those that Great Expectations leaves out are absent."""
    outcomes, built = {}, []
    expectations = suite.about(Subject.TABLE)
    for position, declared in enumerate(expectations):
        try:
            spelled = as_spark_knows(declared)
            built.append(implementation(spelled.expect)(**spelled.kwargs, meta={_POSITION: position}))
        except Exception as error:  # noqa: BLE001 - its validators raise what they like; the others are still evaluated
            outcomes[position] = CheckResult.failed(declared, _words(error))
    results = _validate(rows, suite.name, built, samples=0) if built else {}
    # A sample is a query of its own for each expectation: it is requested only where there are unexpected values.
    unexpected = {
        position
        for position, result in results.items()
        if not _errors(result.exception_info or {}) and (result.result or {}).get("unexpected_count")
    }
    if again := [expectation for expectation in built if _position(expectation) in unexpected]:
        results |= _validate(rows, suite.name, again, samples=_SAMPLES)
    checked = {position: _checked(expectations[position], result) for position, result in results.items()}
    return outcomes | checked


def _validate(
    rows: DataFrame, name: str, expectations: list[Any], *, samples: int
) -> dict[int, ExpectationValidationResult]:
    """Return results by position, from a context that leaves nothing on disk and calls no service."""
    import great_expectations as gx  # noqa: PLC0415 - see the module's docstring
    from great_expectations.data_context.types import base  # noqa: PLC0415 - the same

    config = base.DataContextConfig(
        analytics_enabled=False,
        progress_bars=base.ProgressBarsConfig(globally=False),
        store_backend_defaults=base.InMemoryStoreBackendDefaults(),
    )
    context = gx.get_context(mode="ephemeral", project_config=config)
    # The rows are cached by us: Great Expectations would never let go of its own cache.
    asset = context.data_sources.add_spark("rows", persist=False).add_dataframe_asset("rows")
    batch = asset.add_batch_definition_whole_dataframe("rows").get_batch({"dataframe": rows})
    suite = gx.ExpectationSuite(name=name, expectations=expectations)
    result_format = {"result_format": "BASIC", "partial_unexpected_count": samples}
    results = batch.validate(suite, result_format=result_format).results
    return {_position(result.expectation_config): result for result in results}


def _position(declared: Any) -> int:  # noqa: ANN401  an expectation, or its configuration in a result
    position: int = declared.meta[_POSITION]
    return position


def _checked(declared: Expectation, result: ExpectationValidationResult) -> CheckResult:
    if errors := _errors(result.exception_info or {}):
        return CheckResult.failed(declared, "; ".join(errors)[:_ERROR_WIDTH])
    if result.success is None:
        return CheckResult.failed(declared, "Great Expectations returned neither an outcome nor an error")
    details = result.result
    return CheckResult.of(
        declared,
        success=bool(result.success),
        unexpected=details.get("unexpected_count"),
        observed=_observed(details),
        # Each value once; a null alone says no more than the expectation does.
        sample=tuple(dict.fromkeys(_sample(v) for v in details.get("partial_unexpected_list") or () if v is not None)),
    )


def _errors(info: Mapping[str, Any]) -> list[str]:
    """Return what was raised, each message once: one dictionary for the expectation, or one for each of its metrics."""
    raised = [info] if "raised_exception" in info else [entry for entry in info.values() if isinstance(entry, Mapping)]
    messages = (str(entry.get("exception_message") or "no message") for entry in raised if entry["raised_exception"])
    return list(dict.fromkeys(message.removeprefix("Error: ").strip() for message in messages))


def _observed(details: Mapping[str, Any]) -> str:
    if "element_count" in details:
        missing = details.get("missing_count")
        nulls = f", {missing:,} null" if missing else ""
        return f"{details.get('unexpected_count') or 0:,} of {details['element_count']:,} rows are unexpected{nulls}"
    observed = details.get("observed_value")
    return f"observed {observed}" if observed is not None else ""


def _sample(value: object) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{column}={_text(part)}" for column, part in value.items())
    elif isinstance(value, list | tuple):
        text = ", ".join(map(_text, value))
    else:
        text = _text(value)
    return text if len(text) <= _SAMPLE_WIDTH else f"{text[: _SAMPLE_WIDTH - 3]}..."


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()  # Spark hands out the machine's local time, without saying so
    return "null" if value is None else str(value)


def _words(error: Exception) -> str:
    """Return what an exception says, without Spark's stack trace: its message begins with what matters."""
    text = " ".join(str(error).partition("\n\tat ")[0].split())
    return f"{type(error).__name__}: {text}"[:_ERROR_WIDTH]


@contextmanager
def _cached(rows: DataFrame) -> Iterator[None]:
    """Cache rows for the checks; rows that were cached before stay cached."""
    ours = not rows.is_cached
    if ours:
        rows.persist()
    try:
        yield
    finally:
        if ours:
            rows.unpersist()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Great Expectations' remarks out of the log: what it has to say about the rows is in the result."""
    log = logging.getLogger("great_expectations")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
