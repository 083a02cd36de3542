"""The facets that our events carry, each under the version of its schema that it was written by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sluice import __version__
from sluice.alerts.redaction import Redaction
from sluice.lineage.event import Facet, instant
from sluice.lineage.identity import Parent
from sluice.quality.checked import Checked
from sluice.quality.gate import GateResult
from sluice.specs.expectations.model import Severity

_SPEC = "https://openlineage.io/spec/facets"

STATE_SCHEMA = "urn:sluice:schemas:1-0-0:SluiceStateRunFacet#/$defs/SluiceStateRunFacet"
"""Our own facet's; the schema is in `docs/schemas/lineage`. What it says stays: another version gets another name."""


def _facet(key: str, of: str, title: str, /, **body: Any) -> Facet:  # noqa: ANN401 - JSON values
    return Facet(key, f"{_SPEC}/{of}/{title}.json#/$defs/{title}", body)


class Processing(StrEnum):
    """Whether a job has an end."""

    BATCH = "BATCH"
    STREAMING = "STREAMING"


def job_type(processing: Processing, kind: str) -> Facet:
    """Say what kind of job it is: `STREAM`, `BACKFILL` or `QUALITY_CHECK`, of this integration."""
    streaming = processing is Processing.STREAMING
    pattern = {"eventTrigger": "PERIODIC" if streaming else "EVENT_BASED", "eventContentMode": "ACCUMULATIVE"}
    return _facet(
        "jobType",
        "2-0-4",
        "JobTypeJobFacet",
        processingType=processing.value,
        integration="SLUICE",
        jobType=kind,
        emissionPattern=pattern,
    )


def ownership(owner: str) -> Facet:
    """Say who answers for a job."""
    return _facet("ownership", "1-0-1", "OwnershipJobFacet", owners=[{"name": owner, "type": "OWNER"}])


def documentation(description: str) -> Facet:
    """Say what a job is for."""
    return _facet("documentation", "1-1-0", "DocumentationJobFacet", description=description, contentType="text/plain")


def parent(of: Parent) -> Facet:
    """Say which run has started this one, and which run is behind that."""
    root = of if of.root is None else of.root
    return _facet(
        "parent",
        "1-2-0",
        "ParentRunFacet",
        run={"runId": str(of.run)},
        job={"namespace": of.namespace, "name": of.job},
        root={"run": {"runId": str(root.run)}, "job": {"namespace": root.namespace, "name": root.job}},
    )


def nominal_time(start: datetime, end: datetime) -> Facet:
    """Say about which time a run is: `[start, end)`."""
    return _facet(
        "nominalTime", "1-0-1", "NominalTimeRunFacet", nominalStartTime=instant(start), nominalEndTime=instant(end)
    )


def processing_engine(version: str) -> Facet:
    """Say which Spark it is, and which Sluice tells of it."""
    return _facet(
        "processing_engine",
        "1-1-1",
        "ProcessingEngineRunFacet",
        name="spark",
        version=version,
        openlineageAdapterVersion=__version__,
    )


def error_message(message: str) -> Facet:
    """Say why a run ended badly, without a password that the message may quote."""
    said = Redaction()(message)
    return _facet("errorMessage", "1-0-1", "ErrorMessageRunFacet", message=said, programmingLanguage="PYTHON")


def state(**said: str | float | bool | None) -> Facet:
    """Say what is ours; see the schema. What is None is not known, and left out."""
    return Facet("sluice_state", STATE_SCHEMA, {name: value for name, value in said.items() if value is not None})


@dataclass(frozen=True)
class SchemaField:
    """A column of a table or a field of a topic's value; the type in the words of its system."""

    name: str
    type: str


def schema(columns: Sequence[SchemaField]) -> Facet:
    """Say which columns a dataset has."""
    fields = [
        {"name": column.name, "type": column.type, "ordinal_position": position}
        for position, column in enumerate(columns, 1)
    ]
    return _facet("schema", "1-2-0", "SchemaDatasetFacet", fields=fields)


def dataset_type(kind: str) -> Facet:
    """Say what a dataset is: `TABLE`, `TOPIC` or `FILE`."""
    return _facet("datasetType", "1-0-1", "DatasetTypeDatasetFacet", datasetType=kind)


def storage_of_delta() -> Facet:
    """Say that a dataset is a Delta table."""
    return _facet("storage", "1-0-1", "StorageDatasetFacet", storageLayer="delta", fileFormat="parquet")


def version(of: int) -> Facet:
    """Say which version of a table a run has made."""
    return _facet("version", "1-0-1", "DatasetVersionDatasetFacet", datasetVersion=str(of))


def rows_read(rows: int) -> Facet:
    """Say how many records or rows a run has read."""
    return _facet("inputStatistics", "1-0-0", "InputStatisticsInputDatasetFacet", rowCount=rows)


def rows_written(rows: int) -> Facet:
    """Say how many rows a run has written."""
    return _facet("outputStatistics", "1-0-2", "OutputStatisticsOutputDatasetFacet", rowCount=rows)


def assertions(gate: GateResult) -> Facet:
    """Say what a quality gate found. Values of the data are in none of it."""
    found = [*_of_table(gate), *_of_intervals(gate)]
    return _facet("dataQualityAssertions", "1-1-0", "DataQualityAssertionsDatasetFacet", assertions=found)


def _of_table(gate: GateResult) -> Iterable[Mapping[str, Any]]:
    if gate.rows is not None:
        yield {"assertion": "rows_where_records_came", "success": not gate.missing, "severity": "error"}
    for checked in gate.checked:
        yield _assertion(checked, holds=checked.holds)


def _of_intervals(gate: GateResult) -> Iterable[Mapping[str, Any]]:
    """Yield one for each expectation about intervals: it holds if it does so in all of them."""
    for key in dict.fromkeys(found.key for found in gate.intervals):
        same = [found.checked for found in gate.intervals if found.key == key]
        yield _assertion(same[-1], holds=all(each.holds for each in same))


def _assertion(checked: Checked, *, holds: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"assertion": checked.expectation, "success": holds, "severity": _severity(checked)}
    if checked.subject != "table" and "," not in checked.subject:
        found["column"] = checked.subject
    return {**found, **({"description": checked.description} if checked.description else {})}


def _severity(checked: Checked) -> str:
    """Return the specification's word for what follows when it does not hold."""
    return "error" if checked.severity is Severity.CRITICAL else "warn"
