"""An event of OpenLineage: a run of a job has begun, goes on or has ended, with what it reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from sluice import __version__

PRODUCER = f"urn:sluice:{__version__}"
"""Names the code that makes the events. It has no public address, so it is a name."""

EVENT_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"


class EventType(StrEnum):
    """What has become of a run. There is one START and one of the last three; anything may be told twice."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"


@dataclass(frozen=True)
class Facet:
    """One thing that is said of a run, a job or a dataset.

    Attributes:
        key: its name in the event.
        schema: address of its JSON schema, with the version.
        body: JSON values.
    """

    key: str
    schema: str
    body: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"_producer": PRODUCER, "_schemaURL": self.schema, **self.body}


@dataclass(frozen=True)
class Dataset:
    """What is read or written, by its place: anybody who names the same place means the same dataset.

    Attributes:
        namespace: the system that holds it.
        name: where it is in that system.
        facets: what it is.
        use: what this run did with it: input or output facets.
    """

    namespace: str
    name: str
    facets: tuple[Facet, ...] = ()
    use: tuple[Facet, ...] = ()


@dataclass(frozen=True)
class LineageJob:
    """What runs again and again under one name."""

    namespace: str
    name: str
    facets: tuple[Facet, ...] = ()


@dataclass(frozen=True)
class Event:
    """Something has become of a run.

    Attributes:
        type: what.
        at: when (UTC).
        run: its id, the same in all its events.
        job: of which job.
        run_facets: what is said of the run; events of one run add up.
        inputs: what it reads.
        outputs: what it writes.
    """

    type: EventType
    at: datetime
    run: UUID
    job: LineageJob
    run_facets: tuple[Facet, ...] = ()
    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[Dataset, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values, as the specification has them."""
        return {
            "eventType": self.type.value,
            "eventTime": instant(self.at),
            "producer": PRODUCER,
            "schemaURL": EVENT_SCHEMA,
            "run": {"runId": str(self.run), "facets": facets_as_dict(self.run_facets)},
            "job": {
                "namespace": self.job.namespace,
                "name": self.job.name,
                "facets": facets_as_dict(self.job.facets),
            },
            "inputs": [_dataset(each, "inputFacets") for each in self.inputs],
            "outputs": [_dataset(each, "outputFacets") for each in self.outputs],
        }


def facets_as_dict(facets: Iterable[Facet]) -> dict[str, Any]:
    """Return facets by their keys, as JSON values."""
    return {facet.key: facet.as_dict() for facet in facets}


def instant(at: datetime) -> str:
    """Return a time as events carry it: UTC, in milliseconds, with `Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _dataset(dataset: Dataset, use: str) -> dict[str, Any]:
    return {
        "namespace": dataset.namespace,
        "name": dataset.name,
        "facets": facets_as_dict(dataset.facets),
        use: facets_as_dict(dataset.use),
    }


class Lineage(Protocol):
    """Takes events for whoever collects them. Neither method waits for that, and neither raises."""

    def offer(self, make: Callable[[], Iterable[Event]], *, spare: bool = False) -> None:
        """Have events made and sent later, in another thread, or drop them.

        Args:
            make: makes them; it may block, and it may raise.
            spare: whether these are dropped first, because others like them follow.
        """
        ...
