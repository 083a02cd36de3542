"""Validation: the pure step in front of every transform, the same for stream and batch.

It checks nothing but the record: no clock, no other record. Every record gets exactly one outcome, and a quarantined
one the first reason that applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.quality.reasons import Outcome, Reason
from sluice.spark.records.decoding import FAULT, FAULT_DETAIL, decode, value_schema
from sluice.spark.records.inner_rules import bound_of, inner_fields, missing, outside
from sluice.spark.records.predicates import unexpected
from sluice.specs.expectations.model import Expectation, Severity
from sluice.specs.model.model import FieldType, TopicValue
from sluice.specs.model.sources import TimeRules
from sluice.topics.json_object import EARLIEST, LATEST

OUTCOME, REASON, DETAIL = "_outcome", "_reason", "_detail"


def validate(
    records: DataFrame, value: TopicValue, rules: TimeRules, expected: Sequence[Expectation] = ()
) -> DataFrame:
    """Decode records and append `_reason`, `_detail` (both null unless quarantined) and `_outcome`.

    The detail names the field that is at fault and what is wrong with it, and quotes nothing of the record; null where
    it is no declared field.

    Args:
        records: columns `_value` (binary) and `_timestamp` (the broker's; null where no broker had them); others are
            kept.
        value: what the bytes mean.
        rules: how late and how early a record may be.
        expected: what must hold for each record; what is critical and does not hold quarantines it.
    """
    decoded = decode(records, value)
    event, arrival = F.col(value.event_time), arrival_time(value)
    late = arrival - event > _interval(rules.allowed_lateness)
    # In this order: the difference of times that no calendar has could overflow.
    times = [*_absurd(value), *_ahead(value, rules)]
    critical = [broken for e, broken in broken_expectations(expected, value) if e.severity is Severity.CRITICAL]
    checks = [*_incomplete(value), *times, *(Rule(broken, Reason.UNEXPECTED) for broken in critical)]
    first = _first(checks)
    reason = F.coalesce(F.col(FAULT), _at(first, [check.reason.value for check in checks]))
    own = _at(first, [check.detail for check in checks])
    detail = F.when(F.col(FAULT).isNull(), own).otherwise(F.col(FAULT_DETAIL))
    outcome = (
        F.when(F.col(REASON).isNotNull(), F.lit(Outcome.QUARANTINED.value))
        .when(is_heartbeat(value), F.lit(Outcome.CONTROL.value))
        .when(late, F.lit(Outcome.LATE.value))
        .otherwise(F.lit(Outcome.GOOD.value))
    )
    return decoded.withColumns({REASON: reason, DETAIL: detail}).withColumn(OUTCOME, outcome)


def broken_expectations(expected: Sequence[Expectation], value: TopicValue) -> list[tuple[Expectation, Column]]:
    """Return for each expectation whether a decoded record breaks it. A heartbeat has only its times and breaks none.

    Raises:
        SpecError: one is not about single records.
    """
    schema = value_schema(value)
    return [(each, ~is_heartbeat(value) & unexpected(each, schema)) for each in expected]


def decodes() -> Column:
    """Whether a decoded record is what the topic declares, field by field."""
    return F.col(FAULT).isNull()


def plausible(moment: Column) -> Column:
    """Whether a time can be one at which something happened."""
    return (moment >= F.lit(EARLIEST)) & (moment < F.lit(LATEST))


def arrival_time(value: TopicValue) -> Column:
    """The column that says when a record became known."""
    return F.col("_timestamp" if value.arrival_time == "broker" else value.arrival_time)


def _ahead(value: TopicValue, rules: TimeRules) -> list[Rule]:
    """Return what no record may say of the future: the watermark would follow it.

    An arrival time that the producer wrote is believed as far as the broker's own clock confirms it.
    """
    arrival = arrival_time(value)
    happened_ahead = F.col(value.event_time) - arrival > _interval(rules.future_skew)
    detail = f"{value.event_time} is ahead of the arrival time by more than future_skew"
    checks = [Rule(happened_ahead, Reason.FUTURE, detail)]
    if value.arrival_time != "broker":
        # The arrival time is plausible, so this subtraction cannot overflow; one from a producer's timestamp could.
        arrived_ahead = arrival - _interval(rules.clock_skew) > F.col("_timestamp")
        detail = f"{value.arrival_time} is ahead of the broker's time by more than clock_skew"
        checks.append(Rule(arrived_ahead, Reason.FUTURE, detail))
    return checks


def _interval(length: timedelta) -> Column:
    return F.expr(f"interval {int(length.total_seconds())} seconds")


def is_heartbeat(value: TopicValue) -> Column:
    """Whether a decoded record is a heartbeat; false where none is declared."""
    return F.coalesce(F.col(value.heartbeat), F.lit(False)) if value.heartbeat else F.lit(False)


@dataclass(frozen=True)
class Rule:
    """What a record may not be.

    Attributes:
        broken: whether a decoded record is it; null is no.
        reason: why such a record is refused.
        detail: the field and what is wrong with it; None where it is no single field.
    """

    broken: Column
    reason: Reason
    detail: str | None = None


def _incomplete(value: TopicValue) -> list[Rule]:
    times = [value.event_time, *([] if value.arrival_time == "broker" else [value.arrival_time])]
    required = [name for name, field in value.fields.items() if field.required and name not in times]
    rules = [Rule(F.col(name).isNull(), Reason.MISSING_FIELD, f"{name} is absent or null") for name in times]
    # A heartbeat carries its times and nothing else.
    rules += [
        Rule(F.col(name).isNull() & ~is_heartbeat(value), Reason.MISSING_FIELD, f"{name} is absent or null")
        for name in required
    ]
    below = [inner for name, field in value.fields.items() for inner in inner_fields(name, field)]
    rules += [
        Rule(missing(inner) & ~is_heartbeat(value), Reason.MISSING_FIELD, f"{inner.where} is absent or null")
        for inner in below
        if inner.field.required
    ]
    for name, field in value.fields.items():
        column = F.col(name)
        if field.minimum is not None:
            less = f"{name} is less than {field.minimum:g}"
            rules.append(Rule(column < bound_of(field, field.minimum), Reason.OUT_OF_RANGE, less))
        if field.maximum is not None:
            more = f"{name} is more than {field.maximum:g}"
            rules.append(Rule(column > bound_of(field, field.maximum), Reason.OUT_OF_RANGE, more))
        if field.one_of is not None:
            rules.append(Rule(~column.isin(*field.one_of), Reason.NOT_ALLOWED, f"{name} is not in its list"))
    return rules + [Rule(*found) for inner in below for found in outside(inner, EARLIEST, LATEST)]


def _absurd(value: TopicValue) -> list[Rule]:
    """Return what no time of a record may be, the broker's included."""
    named = {name: name for name, field in value.fields.items() if field.type is FieldType.TIMESTAMP}
    if value.arrival_time == "broker":
        named["_timestamp"] = "the broker's time"
    return [Rule(~plausible(F.col(c)), Reason.OUT_OF_RANGE, f"{name} is {_BEYOND}") for c, name in named.items()]


_BEYOND = f"not in the years {EARLIEST:%Y} to {LATEST.year - 1}"


def _first(rules: Sequence[Rule]) -> Column:
    """Return the number of the first rule that is broken, from 1, or null."""
    chain = F.when(rules[0].broken, F.lit(1))
    for number, rule in enumerate(rules[1:], 2):
        chain = chain.when(rule.broken, F.lit(number))
    return chain


def _at(number: Column, texts: Sequence[str | None]) -> Column:
    return F.element_at(F.array(*map(F.lit, texts)).cast("array<string>"), number)
