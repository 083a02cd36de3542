"""Each facet is one that OpenLineage's own classes make: its schema, its fields, and nothing besides."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import attr
import pytest
from jsonschema import Draft202012Validator
from openlineage.client import facet_v2
from openlineage.client.serde import Serde

from sluice.lineage import facets
from sluice.lineage.event import Facet
from sluice.lineage.identity import Parent
from sluice.quality.checked import Checked
from sluice.quality.gate import GateResult, judge
from sluice.specs.expectations.model import Severity
from sluice.streams.health.verdict import Health
from tests.unit.lineage.subjects import BEGIN
from tests.unit.quality.suites import expectation, suite

RUN = UUID(int=5)
SUITE = suite(expectation("carrier"), expectation("airline", Severity.WARNING))


def gate(*holds: bool, rows: int | None = 9) -> GateResult:
    outcomes = {
        position: Checked.of(SUITE.expectations[position], success=success, observed="2 of 9", sample=("secret",))
        for position, success in enumerate(holds)
    }
    return judge(SUITE, outcomes, rows=rows, input_records=20)


OFFICIAL: dict[str, tuple[Facet, Any]] = {
    "jobType": (
        facets.job_type(facets.Processing.STREAMING, "STREAM"),
        lambda body: facet_v2.job_type_job.JobTypeJobFacet(
            **{**body, "emissionPattern": facet_v2.job_type_job.EmissionPattern(**body["emissionPattern"])}
        ),
    ),
    "ownership": (
        facets.ownership("flight-operations"),
        lambda body: facet_v2.ownership_job.OwnershipJobFacet(
            [facet_v2.ownership_job.Owner(**each) for each in body["owners"]]
        ),
    ),
    "documentation": (
        facets.documentation("Departures by hour."),
        lambda body: facet_v2.documentation_job.DocumentationJobFacet(**body),
    ),
    "parent": (
        facets.parent(Parent("prod", "backfill.run", RUN, Parent("prod", "backfill", UUID(int=6)))),
        lambda body: facet_v2.parent_run.ParentRunFacet(
            run=facet_v2.parent_run.Run(**body["run"]),
            job=facet_v2.parent_run.Job(**body["job"]),
            root=facet_v2.parent_run.Root(
                facet_v2.parent_run.RootRun(**body["root"]["run"]), facet_v2.parent_run.RootJob(**body["root"]["job"])
            ),
        ),
    ),
    "nominalTime": (
        facets.nominal_time(BEGIN, BEGIN + timedelta(days=1)),
        lambda body: facet_v2.nominal_time_run.NominalTimeRunFacet(**body),
    ),
    "processing_engine": (
        facets.processing_engine("4.2.0"),
        lambda body: facet_v2.processing_engine_run.ProcessingEngineRunFacet(**body),
    ),
    "errorMessage": (
        facets.error_message("it fell"),
        lambda body: facet_v2.error_message_run.ErrorMessageRunFacet(**body),
    ),
    "schema": (
        facets.schema([facets.SchemaField("hour", "timestamp")]),
        lambda body: facet_v2.schema_dataset.SchemaDatasetFacet(
            [facet_v2.schema_dataset.SchemaDatasetFacetFields(**each) for each in body["fields"]]
        ),
    ),
    "datasetType": (
        facets.dataset_type("TABLE"),
        lambda body: facet_v2.dataset_type_dataset.DatasetTypeDatasetFacet(**body),
    ),
    "storage": (facets.storage_of_delta(), lambda body: facet_v2.storage_dataset.StorageDatasetFacet(**body)),
    "version": (
        facets.version(7),
        lambda body: facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet(**body),
    ),
    "inputStatistics": (
        facets.rows_read(8),
        lambda body: facet_v2.input_statistics_input_dataset.InputStatisticsInputDatasetFacet(**body),
    ),
    "outputStatistics": (
        facets.rows_written(9),
        lambda body: facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(**body),
    ),
    "dataQualityAssertions": (
        facets.assertions(gate(True, False)),
        lambda body: facet_v2.data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
            [facet_v2.data_quality_assertions_dataset.Assertion(**each) for each in body["assertions"]]
        ),
    ),
}


def without_empty(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {key: without_empty(each) for key, each in value.items() if each not in ({}, [])}
    return [without_empty(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("key", OFFICIAL)
def test_a_facet_is_what_the_clients_class_makes_of_it(key: str) -> None:
    ours, make = OFFICIAL[key]
    theirs = make(ours.body)
    assert ours.key == key
    assert ours.schema == theirs._get_schema()
    said = without_empty(Serde.remove_nulls_and_enums(attr.asdict(theirs)))
    assert {name: value for name, value in said.items() if not name.startswith("_")} == ours.body


def test_assertions_tell_what_held_and_quote_no_value() -> None:
    found = facets.assertions(gate(False, False))
    assert [(each["assertion"], each["success"], each["severity"]) for each in found.body["assertions"]] == [
        ("rows_where_records_came", True, "error"),
        ("expect_column_values_to_not_be_null", False, "error"),
        ("expect_column_values_to_not_be_null", False, "warn"),
    ]
    assert [each.get("column") for each in found.body["assertions"]] == [None, "carrier", "airline"]
    assert "secret" not in json.dumps(found.as_dict())


def test_an_error_quotes_no_password() -> None:
    told = facets.error_message("could not reach postgresql://ada:hidden@db/serving").body["message"]
    assert told == "could not reach postgresql://ada:***@db/serving"


def test_what_could_not_be_counted_is_no_assertion() -> None:
    named = [each["assertion"] for each in facets.assertions(gate(True, True, rows=None)).body["assertions"]]
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
    said = facets.state(deployment="local", generation=3, verdict="OK", why="so", lagRecords=4, lagSeconds=1.5)
    strict = Draft202012Validator({**of_us, "additionalProperties": False})
    assert list(strict.iter_errors(dict(said.body))) == []
    assert list(strict.iter_errors({"generation": 0}))
    assert facets.state(deployment="local", lagRecords=None).body == {"deployment": "local"}
