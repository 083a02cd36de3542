"""The facets that Sluice fills in: what they say, what they leave out, and the schema of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from openlineage.client.facet_v2 import set_producer
from openlineage.client.generated import base
from openlineage.client.serde import Serde

from sluice.lineage import facets
from sluice.lineage.facets import PRODUCER, SluiceStateRunFacet
from sluice.lineage.identity import Parent
from sluice.lineage.results import BackfillEnd, Published, QualityCheck
from sluice.quality.check_result import CheckResult
from sluice.quality.gate import GateResult, judge
from sluice.specs.expectations.model import Severity
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.streams.life.attempts import AttemptState
from tests.unit.lineage.subjects import BATCH, BEGIN, STREAM, attempt, backfill
from tests.unit.quality.suites import expectation, suite

SUITE = suite(expectation("carrier"), expectation("airline", Severity.WARNING))


def gate(*holds: bool, rows: int | None = 9) -> GateResult:
    outcomes = {
        position: CheckResult.of(SUITE.expectations[position], success=success, observed="2 of 9", sample=("secret",))
        for position, success in enumerate(holds)
    }
    return judge(SUITE, outcomes, rows=rows, input_records=20)


def values_of(facet: Any) -> dict[str, Any]:  # noqa: ANN401 - any facet
    return {key: value for key, value in Serde.to_dict(facet).items() if not key.startswith("_")}


def producers(event: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(event, dict):
        yield from (value for key, value in event.items() if key in {"producer", "_producer"})
        event = list(event.values())
    if isinstance(event, list):
        for each in event:
            yield from producers(each)


def test_every_facet_is_ours_whatever_another_library_of_the_process_has_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PRODUCER", base.PRODUCER)  # put back in the end
    set_producer("https://example.org/airflow")
    parent = Parent("prod", "backfill.run", UUID(int=5), Parent("prod", "backfill", UUID(int=6)))
    end = BackfillEnd(BEGIN, False, "gate_failed", gate=gate(True, False), published=Published(134, 17))
    over, check = attempt(AttemptState.ENDED, FailureClass.KILLED), QualityCheck(BEGIN, backfill().request.range)
    for event in (
        STREAM.started(attempt()),
        STREAM.ended(over, versions={"/data/tables/departures": 41}),
        replace(BATCH, parent=parent, description="Departures by hour.").backfill_ended(backfill(), end),
        BATCH.check_ended(check, BEGIN + timedelta(minutes=1), gate(True, True)),
    ):
        assert set(producers(Serde.to_dict(event))) == {PRODUCER}


def test_a_parent_is_named_with_its_root() -> None:
    found = facets.parent(Parent("prod", "backfill.run", UUID(int=5), Parent("prod", "backfill", UUID(int=6))))
    assert values_of(found) == {
        "run": {"runId": str(UUID(int=5))},
        "job": {"namespace": "prod", "name": "backfill.run"},
        "root": {"run": {"runId": str(UUID(int=6))}, "job": {"namespace": "prod", "name": "backfill"}},
    }


def test_assertions_tell_what_held_and_quote_no_value() -> None:
    found = values_of(facets.assertions(gate(False, False)))["assertions"]
    assert [(each["assertion"], each["success"], each["severity"]) for each in found] == [
        ("rows_where_records_came", True, "error"),
        ("expect_column_values_to_not_be_null", False, "error"),
        ("expect_column_values_to_not_be_null", False, "warn"),
    ]
    assert [each.get("column") for each in found] == [None, "carrier", "airline"]
    assert "secret" not in json.dumps(found)


def test_an_error_quotes_no_password() -> None:
    said = facets.error_message("could not reach postgresql://ada:hidden@db/serving").message
    assert said == "could not reach postgresql://ada:***@db/serving"


def test_what_could_not_be_counted_is_no_assertion() -> None:
    named = [each.assertion for each in facets.assertions(gate(True, True, rows=None)).assertions]
    assert "rows_where_records_came" not in named


def schema() -> dict[str, Any]:
    file = Path(__file__).parents[3] / "docs" / "schemas" / "lineage" / "SluiceStateRunFacet-1-0-0.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def test_our_own_facet_is_described_by_the_schema_that_it_names() -> None:
    described = schema()
    document, _, pointer = facets.STATE_SCHEMA.partition("#/$defs/")
    assert described["$id"] == document
    of_us = described["$defs"][pointer]["allOf"][1]
    verdict = of_us["properties"]["verdict"]["enum"]
    assert set(verdict) == {health.value for health in Health}
    said = SluiceStateRunFacet("local", generation=3, verdict="OK", why="so", lagRecords=4, lagSeconds=1.5)
    strict = Draft202012Validator({**of_us, "additionalProperties": False})
    assert list(strict.iter_errors(values_of(said))) == []
    assert list(strict.iter_errors({"generation": 0}))
    assert values_of(SluiceStateRunFacet("local", lagRecords=None)) == {"deployment": "local"}
