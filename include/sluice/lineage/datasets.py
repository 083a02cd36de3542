"""Datasets of Kafka, Delta, PostgreSQL and files, named by OpenLineage's rules: other producers use the same names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from openlineage.client.event_v2 import Dataset as Dataset  # noqa: PLC0414 - exported, as in `emitter`
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    OutputDatasetFacet,
    dataset_type_dataset,
    dataset_version_dataset,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    storage_dataset,
)

from sluice.lineage.facets import PRODUCER, assertions
from sluice.quality.gate import GateResult
from sluice.specs.model.model import TopicSpec
from sluice.specs.model.sources import StaticInput

_OBJECT_STORES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "hdfs": "hdfs"}
_POSTGRES_PORT = 5432


def topic(bootstrap: Sequence[str], name: str, spec: TopicSpec | None) -> Dataset:
    """Return a topic with the fields of its spec, if it has one; the first address of Kafka names the cluster."""
    fields = {} if spec is None else {key: field.words for key, field in spec.value.fields.items()}
    facets = _typed("TOPIC") | (_schema(fields.items()) if fields else {})
    return Dataset(f"kafka://{bootstrap[0]}", name, facets=facets)


def table(location: str, columns: Iterable[tuple[str, str]] | None) -> Dataset:
    """Return a Delta table by its folder.

    Args:
        location: an absolute path, or the URL of an object store.
        columns: names and types in their order; None for a table that does not exist yet.
    """
    namespace, name = place(location)
    storage: DatasetFacet = storage_dataset.StorageDatasetFacet("delta", "parquet", producer=PRODUCER)
    schema = {} if columns is None else _schema(columns)
    return Dataset(namespace, name, facets=_typed("TABLE") | {"storage": storage} | schema)


def file(path: Path, static: StaticInput) -> Dataset:
    """Return the file or folder of a static input."""
    namespace, name = place(str(path))
    return Dataset(namespace, name, facets=_typed("FILE") | _schema(static.column_types.items()))


def postgres_table(url: str, name: str) -> Dataset:
    """Return a table of PostgreSQL by host, port and database of a URL. User and password are left out."""
    parts = urlsplit(url)
    database = parts.path.strip("/")
    namespace = f"postgres://{parts.hostname or 'localhost'}:{parts.port or _POSTGRES_PORT}"
    return Dataset(namespace, f"{database}.public.{name}", facets=_typed("TABLE"))


def place(location: str) -> tuple[str, str]:
    """Return namespace and name of what lies at a path or a URL."""
    scheme, separator, rest = location.partition("://")
    if not separator:
        return "file", location
    if scheme == "file":
        return "file", f"/{rest.lstrip('/')}"
    host, _, path = rest.partition("/")
    if scheme == "hdfs":
        return f"hdfs://{host}", f"/{path.rstrip('/')}"
    return f"{_OBJECT_STORES.get(scheme, scheme)}://{host}", path.strip("/")


def as_input(dataset: Dataset, rows: int | None = None, gate: GateResult | None = None) -> InputDataset:
    """Return a dataset that a run reads.

    Args:
        dataset: what it is.
        rows: how many records or rows the run has read; None if unknown.
        gate: what a check of it found.
    """
    facets: dict[str, InputDatasetFacet] = {} if gate is None else {"dataQualityAssertions": assertions(gate)}
    if rows is not None:
        facets["inputStatistics"] = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
            rows, producer=PRODUCER
        )
    return InputDataset(dataset.namespace, dataset.name, facets, facets=dataset.facets)


def as_output(
    dataset: Dataset, version: int | None = None, rows: int | None = None, gate: GateResult | None = None
) -> OutputDataset:
    """Return a dataset that a run writes.

    Args:
        dataset: what it is.
        version: the last version of the table that the run has made; None if unknown.
        rows: how many rows the run has written; None if unknown.
        gate: what the quality gate found before the run published.
    """
    facets, written = dict(dataset.facets or {}), dict[str, OutputDatasetFacet]()
    if gate is not None:  # the specification allows them on any dataset, the library's types only on inputs
        facets["dataQualityAssertions"] = cast(DatasetFacet, assertions(gate))
    if version is not None:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(str(version), producer=PRODUCER)
    if rows is not None:
        written["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rows, producer=PRODUCER
        )
    return OutputDataset(dataset.namespace, dataset.name, written, facets=facets)


def _typed(kind: str) -> dict[str, DatasetFacet]:
    return {"datasetType": dataset_type_dataset.DatasetTypeDatasetFacet(kind, producer=PRODUCER)}


def _schema(columns: Iterable[tuple[str, str]]) -> dict[str, DatasetFacet]:
    fields = [
        schema_dataset.SchemaDatasetFacetFields(name, kind, ordinal_position=position, fields=None)
        for position, (name, kind) in enumerate(columns, 1)
    ]
    return {"schema": schema_dataset.SchemaDatasetFacet(fields, producer=PRODUCER)}
