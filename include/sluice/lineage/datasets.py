"""Names of datasets by OpenLineage's rules, so that what others tell of the same places is about the same datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sluice.lineage.event import Dataset
from sluice.lineage.facets import SchemaField, dataset_type, schema, storage_of_delta
from sluice.specs.model.model import StaticInput, TopicSpec

_OBJECT_STORES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "hdfs": "hdfs"}
_POSTGRES_PORT = 5432


@dataclass(frozen=True)
class TableFacts:
    """What a table's log says of it.

    Attributes:
        columns: in their order.
    """

    columns: tuple[SchemaField, ...]


def topic(bootstrap: Sequence[str], name: str, spec: TopicSpec | None) -> Dataset:
    """Return a topic, with the fields that its spec declares.

    Args:
        bootstrap: Kafka's addresses; the first names the cluster.
        name: the topic's.
        spec: None for a topic that only an output fills: its spec does not say what is in it.
    """
    fields = (
        () if spec is None else tuple(SchemaField(key, field.type.value) for key, field in spec.value.fields.items())
    )
    facets = (dataset_type("TOPIC"), *([schema(fields)] if fields else []))
    return Dataset(f"kafka://{bootstrap[0]}", name, facets)


def table(location: str, facts: TableFacts | None) -> Dataset:
    """Return a Delta table by its folder.

    Args:
        location: an absolute path, or the URL of an object store.
        facts: None for a table that is not there yet.
    """
    namespace, name = place(location)
    facets = (dataset_type("TABLE"), storage_of_delta(), *([schema(facts.columns)] if facts else []))
    return Dataset(namespace, name, facets)


def file(path: Path, static: StaticInput) -> Dataset:
    """Return the file of a static input."""
    columns = tuple(SchemaField(name, kind.value) for name, kind in static.columns.items())
    namespace, name = place(str(path))
    return Dataset(namespace, name, (dataset_type("FILE"), schema(columns)))


def postgres_table(url: str, name: str) -> Dataset:
    """Return a table of PostgreSQL; nothing else of its URL is told."""
    parts = urlsplit(url)
    database = parts.path.strip("/")
    namespace = f"postgres://{parts.hostname or 'localhost'}:{parts.port or _POSTGRES_PORT}"
    return Dataset(namespace, f"{database}.public.{name}", (dataset_type("TABLE"),))


def place(location: str) -> tuple[str, str]:
    """Return namespace and name of what lies at a path or a URL."""
    scheme, found, rest = location.partition("://")
    if not found:
        return "file", location
    if scheme == "file":
        return "file", f"/{rest.lstrip('/')}"
    host, _, path = rest.partition("/")
    if scheme == "hdfs":
        return f"hdfs://{host}", f"/{path.rstrip('/')}"
    return f"{_OBJECT_STORES.get(scheme, scheme)}://{host}", path.strip("/")
