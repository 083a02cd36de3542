"""The facets of Sluice's events: OpenLineage's classes, filled in.

Each facet names its producer: the library's default is a global of the process, and Airflow's OpenLineage provider, if
it is installed, sets that to its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import attr
from openlineage.client.facet_v2 import (
    JobFacet,
    RunFacet,
    data_quality_assertions_dataset,
    documentation_job,
    error_message_run,
    job_type_job,
    nominal_time_run,
    ownership_job,
    parent_run,
    processing_engine_run,
)

from sluice import __version__
from sluice.alerts.redaction import Redaction
from sluice.lineage.identity import Parent
from sluice.quality.check_result import CheckResult
from sluice.quality.gate import GateResult
from sluice.specs.expectations.model import Severity

PRODUCER = f"urn:sluice:{__version__}"
"""Names the code that makes the events. It has no public address, so it is a URN."""

STATE_SCHEMA = "urn:sluice:schemas:1-0-0:SluiceStateRunFacet#/$defs/SluiceStateRunFacet"
"""The schema of Sluice's own facet, in `docs/schemas/lineage`. A changed schema needs another version in its name."""


@attr.define
class SluiceStateRunFacet(RunFacet):
    """Sluice's own facet `sluice_state`; its schema describes the fields. None: unknown, and left out of the event."""

    deployment: str
    unit: str | None = None
    generation: int | None = None
    verdict: str | None = None
    why: str | None = None
    lagRecords: int | None = None  # noqa: N815 - as the schema spells it
    lagSeconds: float | None = None  # noqa: N815
    backfill: str | None = None
    mode: str | None = None
    askedBy: str | None = None  # noqa: N815
    outcome: str | None = None

    @staticmethod
    def _get_schema() -> str:
        return STATE_SCHEMA


def job_facets(processing: str, kind: str, owner: str, description: str) -> dict[str, JobFacet]:
    """Return the facets of a job.

    Args:
        processing: `BATCH` or `STREAMING`.
        kind: `STREAM`, `BACKFILL` or `QUALITY_CHECK`.
        owner: of the pipeline or topic; empty if the spec names none.
        description: from the spec; may be empty.
    """
    trigger = "PERIODIC" if processing == "STREAMING" else "EVENT_BASED"
    facets: dict[str, JobFacet] = {
        "jobType": job_type_job.JobTypeJobFacet(
            processing, "SLUICE", kind, job_type_job.EmissionPattern(trigger, "ACCUMULATIVE"), producer=PRODUCER
        )
    }
    if owner:
        facets["ownership"] = ownership_job.OwnershipJobFacet([ownership_job.Owner(owner, "OWNER")], producer=PRODUCER)
    if description:
        facets["documentation"] = documentation_job.DocumentationJobFacet(description, "text/plain", producer=PRODUCER)
    return facets


def parent(of: Parent) -> parent_run.ParentRunFacet:
    """Return the run that started this one, with the root of both."""
    root = of.root or of
    return parent_run.ParentRunFacet(
        run=parent_run.Run(str(of.run), facets=None),
        job=parent_run.Job(of.namespace, of.job, facets=None),
        root=parent_run.Root(
            parent_run.RootRun(str(root.run), facets=None),
            parent_run.RootJob(root.namespace, root.job, facets=None),
        ),
        producer=PRODUCER,
    )


def nominal_time(start: datetime, end: datetime) -> nominal_time_run.NominalTimeRunFacet:
    """Return the range of event time `[start, end)` that a run is about."""
    return nominal_time_run.NominalTimeRunFacet(instant(start), instant(end), producer=PRODUCER)


def spark_engine(version: str) -> processing_engine_run.ProcessingEngineRunFacet:
    """Return the version of Spark, with Sluice's own."""
    return processing_engine_run.ProcessingEngineRunFacet(version, "spark", __version__, producer=PRODUCER)


def error_message(message: str) -> error_message_run.ErrorMessageRunFacet:
    """Return why a run failed, without any password that the message quotes."""
    return error_message_run.ErrorMessageRunFacet(Redaction()(message), "PYTHON", producer=PRODUCER)


def assertions(gate: GateResult) -> data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet:
    """Return the findings of a quality gate, without any value of the data."""
    return data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
        [*_of_table(gate), *_of_intervals(gate)], producer=PRODUCER
    )


def _of_table(gate: GateResult) -> Iterator[data_quality_assertions_dataset.Assertion]:
    if gate.rows is not None:
        yield data_quality_assertions_dataset.Assertion(
            "rows_where_records_came", not gate.missing, severity="error", params=None
        )
    for checked in gate.checked:
        yield _assertion(checked, holds=checked.holds)


def _of_intervals(gate: GateResult) -> Iterable[data_quality_assertions_dataset.Assertion]:
    """Yield one assertion per expectation about intervals: it succeeds if the expectation holds in all of them."""
    for key in dict.fromkeys(each.key for each in gate.intervals):
        same = [each.checked for each in gate.intervals if each.key == key]
        yield _assertion(same[-1], holds=all(each.holds for each in same))


def _assertion(checked: CheckResult, *, holds: bool) -> data_quality_assertions_dataset.Assertion:
    return data_quality_assertions_dataset.Assertion(
        checked.expectation,
        holds,
        column=None if checked.subject == "table" or "," in checked.subject else checked.subject,
        severity="error" if checked.severity is Severity.CRITICAL else "warn",
        description=checked.description or None,
        params=None,
    )


def instant(at: datetime) -> str:
    """Return a time as events carry it: UTC, in milliseconds, with `Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
