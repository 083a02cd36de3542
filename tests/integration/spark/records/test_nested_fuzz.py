"""Nested records of any declaration: the decoder in the JVM says what an oracle in Python says, and raises nothing."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.spark.records.as_json import as_json
from sluice.spark.records.decoding import decode, value_schema
from sluice.spark.records.validation import DETAIL, REASON, validate
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import TimeRules
from tests.admission_oracle import judge
from tests.hostile_records import VALUES
from tests.integration.spark.records.test_admission_fuzz import BROKER, DECLARED, GOOD, TIMES, VALUE
from tests.near_json import NearJson
from tests.nested_oracle import LATER, Verdict, judge_nested
from tests.nested_records import declarations, records

RULES = TimeRules(allowed_lateness=timedelta(days=400 * 365), future_skew=timedelta(days=400 * 365))
_PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""Every example is a query: to make a failing one smaller would take hours."""
_SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


@st.composite
def _cases(draw: st.DrawFn) -> tuple[dict[str, Any], list[bytes]]:
    fields = draw(declarations())
    return fields, draw(st.lists(records(fields), min_size=20, max_size=60))


def _agree(spark: SparkSession, fields: dict[str, Any], values: list[bytes]) -> list[str]:
    value = TopicValue.model_validate({"fields": fields, "event_time": "at", "arrival_time": "broker"})
    rows = [(number, bytearray(each), BROKER) for number, each in enumerate(values)]
    validated = validate(spark.createDataFrame(rows, "n int, _value binary, _timestamp timestamp"), value, RULES)
    text = as_json(value_schema(value)).alias("json")
    found = sorted(validated.select("n", REASON, DETAIL, text).collect())
    for row, record in zip(found, values, strict=True):
        reason, verdict = judge_nested(record, fields)
        if reason in LATER and row[REASON] in LATER and row[REASON] in verdict.found:
            reason = row[REASON]  # of several fields, which one is first is the order of the declaration
        shown = (row[REASON], row[DETAIL], reason, verdict.found, record, fields)
        assert (row[REASON] or "good") == reason, shown
        _agree_on_detail(row[DETAIL], reason, verdict)
        if reason == "good":
            read = json.loads(row["json"], parse_float=Decimal)
            assert _same(read, verdict.values), (record, fields, read, verdict.values)
    return [row[REASON] or "good" for row in found]


def _agree_on_detail(detail: str | None, reason: str, verdict: Verdict) -> None:
    blamed = verdict.found.get(reason)
    if blamed and "?" not in blamed:
        assert detail is not None
        assert detail.split(" is ")[0] in blamed, (detail, blamed)


def _same(read: Any, kept: Any) -> bool:  # noqa: ANN401, PLR0911  JSON is any
    if isinstance(read, str) and not isinstance(kept, str | bytes | date):
        return bool(json.loads(read, parse_float=Decimal) == kept)  # of a text field, what is no text
    match kept:
        case dict():
            return isinstance(read, dict) and all(_same(read.get(name), part) for name, part in kept.items())
        case list():
            return len(read) == len(kept) and all(map(_same, read, kept))
        case bytes():
            return bool(base64.b64decode(read) == kept)
        case datetime():
            return bool(datetime.fromisoformat(read).astimezone(UTC) == kept)
        case date():
            return bool(read == kept.isoformat())
        case float():
            return math.isclose(float(read), kept, rel_tol=0)
    return bool(read == kept)


@settings(max_examples=8, deadline=None, phases=_PHASES, suppress_health_check=_SLOW)
@given(case=_cases())
def test_nested_records_are_judged_as_the_oracle_does(
    spark: SparkSession, case: tuple[dict[str, Any], list[bytes]]
) -> None:
    _agree(spark, *case)


@pytest.mark.verify
@pytest.mark.timeout(3600)
@settings(max_examples=1000, deadline=None, phases=_PHASES, suppress_health_check=_SLOW)
@given(case=_cases())
def test_many_nested_records_are_judged_as_the_oracle_does(
    spark: SparkSession, case: tuple[dict[str, Any], list[bytes]]
) -> None:
    _agree(spark, *case)


def test_what_is_good_has_the_values_that_sparks_parser_gives(spark: SparkSession) -> None:
    random = NearJson(7, GOOD)
    values = [value for value in (*VALUES.values(), *(random.value() for _ in range(20_000))) if value is not None]
    good = [value for value in values if judge(value, DECLARED, TIMES) == "good"]
    # Spark writes what is no text in other words, and knows no time without seconds.
    rows = [(bytearray(value),) for value in good if isinstance(json.loads(value).get("note") or "", str)]
    assert len(rows) > 1_000
    ours = decode(spark.createDataFrame(rows, "_value binary"), VALUE)
    parsed = F.from_json(F.col("_value").cast("string"), value_schema(VALUE))
    plain = [name for name, field in VALUE.fields.items() if not (field.epoch or field.zone)]
    theirs = [F.coalesce(parsed[n], F.col(n) if n in ("at", "seen", "left") else parsed[n]).alias(n) for n in plain]
    both = ours.select(F.struct(*plain).alias("ours"), F.struct(*theirs).alias("theirs"))
    assert both.where("not ours <=> theirs").collect() == []
