"""Validation: the pure step in front of every transform, the same for stream and batch.

It looks at nothing but the record: no clock, no other record. Every record gets exactly one outcome, and a quarantined
one the first reason that applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.quality.reasons import Outcome, Reason
from sluice.spark.decoding import FAULT, columns_schema, decode
from sluice.spark.predicates import unexpected
from sluice.specs.expectations import Expectation, Severity
from sluice.specs.model import FieldType, TimeRules, TopicValue, ValueField

OUTCOME, REASON = "_outcome", "_reason"

EARLIEST, LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""A time beyond these is a number in another unit. A watermark would follow it, out of what Python can count."""


def validate(
    records: DataFrame, value: TopicValue, rules: TimeRules, expected: Sequence[Expectation] = ()
) -> DataFrame:
    """Decode records and append `_outcome` and `_reason` (null unless quarantined).

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
    absurd = ~(plausible(event) & plausible(arrival))
    future = _ahead(value, rules)
    times = [(absurd, Reason.OUT_OF_RANGE), (future, Reason.FUTURE)]  # in this order: the difference could overflow
    critical = [broken for e, broken in broken_expectations(expected, value) if e.severity is Severity.CRITICAL]
    judged = [(broken, Reason.UNEXPECTED) for broken in critical]
    reason = F.coalesce(F.col(FAULT), _first([*_incomplete(value), *times, *judged]))
    outcome = (
        F.when(F.col(REASON).isNotNull(), F.lit(Outcome.QUARANTINED.value))
        .when(is_heartbeat(value), F.lit(Outcome.CONTROL.value))
        .when(late, F.lit(Outcome.LATE.value))
        .otherwise(F.lit(Outcome.GOOD.value))
    )
    return decoded.withColumn(REASON, reason).withColumn(OUTCOME, outcome)


def broken_expectations(expected: Sequence[Expectation], value: TopicValue) -> list[tuple[Expectation, Column]]:
    """Return for each expectation whether a decoded record breaks it. A heartbeat has only its times and breaks none.

    Raises:
        SpecError: one is not about single records.
    """
    schema = columns_schema({name: field.type for name, field in value.fields.items()})
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


def _ahead(value: TopicValue, rules: TimeRules) -> Column:
    """Whether a record says that it happened before it can have: the watermark would follow it.

    An arrival time that the producer wrote is believed as far as the broker's own clock bears it out.
    """
    arrival = arrival_time(value)
    happened_ahead = F.col(value.event_time) - arrival > _interval(rules.future_skew)
    if value.arrival_time == "broker":
        return happened_ahead
    # The arrival time is plausible, so this subtraction cannot overflow; one from a producer's timestamp could.
    return happened_ahead | (arrival - _interval(rules.clock_skew) > F.col("_timestamp"))


def _interval(length: timedelta) -> Column:
    return F.expr(f"interval {int(length.total_seconds())} seconds")


def is_heartbeat(value: TopicValue) -> Column:
    """Whether a decoded record is a heartbeat; false where none is declared."""
    return F.coalesce(F.col(value.heartbeat), F.lit(False)) if value.heartbeat else F.lit(False)


def _incomplete(value: TopicValue) -> list[tuple[Column, Reason]]:
    times = [value.event_time, *([] if value.arrival_time == "broker" else [value.arrival_time])]
    required = [name for name, field in value.fields.items() if field.required and name not in times]
    no_time = reduce(or_, (F.col(name).isNull() for name in times))
    # A heartbeat carries its times and nothing else.
    no_field = reduce(or_, (F.col(name).isNull() for name in required), F.lit(False)) & ~is_heartbeat(value)
    rules = [(no_time | no_field, Reason.MISSING_FIELD)]
    for name, field in value.fields.items():
        column = F.col(name)
        if field.minimum is not None:
            rules.append((column < _literal(field, field.minimum), Reason.OUT_OF_RANGE))
        if field.maximum is not None:
            rules.append((column > _literal(field, field.maximum), Reason.OUT_OF_RANGE))
        if field.one_of is not None:
            rules.append((~column.isin(*field.one_of), Reason.NOT_ALLOWED))
    return rules


def _literal(field: ValueField, bound: float) -> Column:
    """Return the bound in the field's own type, so that comparing casts no column."""
    return F.lit(int(bound) if field.type is FieldType.LONG and bound == int(bound) else bound)


def _first(rules: list[tuple[Column, Reason]]) -> Column:
    """Return the reason of the first rule that holds, or null."""
    chain = F.when(rules[0][0], F.lit(rules[0][1].value))
    for holds, reason in rules[1:]:
        chain = chain.when(holds, F.lit(reason.value))
    return chain
