"""What the specs say that a unit, or a batch, must get of a cluster."""

from __future__ import annotations

from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.resources import Resources
from sluice.streams.failures.capacity import ResourceRequest, minimum_cores


def application_of(deployment: str, unit: str) -> str:
    """Return the name of a unit's Spark application: the same for all of its attempts."""
    return f"sluice-{deployment}-{unit}"


def resources_of(catalog: Catalog, unit: Unit) -> Resources:
    """Return what the streams of a unit share: the largest that one of its pipelines asks for."""
    asked = [catalog.pipelines[name].resources for name in unit.pipelines]
    return max(asked, key=lambda each: (each.most_cores, each.least_cores), default=Resources())


def need_of(catalog: Catalog, deployment: str, unit: str) -> ResourceRequest | None:
    """Return what a unit needs at least: a core for each of its streams, as far as it has them without a backlog.

    None if no spec names it.
    """
    declared = catalog.units().get(unit)
    if declared is None:
        return None
    resources, streams = resources_of(catalog, declared), declared.streams
    cores = minimum_cores(len(streams), resources.least_cores)
    return _request(resources, application_of(deployment, unit), cores, tuple(streams))


def need_of_batch(pipeline: PipelineSpec, application: str) -> ResourceRequest:
    """Return what a batch needs at least: one core, or one executor, with which it is slow and ends."""
    return _request(pipeline.resources, application, 1, (f"a batch of {pipeline.name}",))


def _request(resources: Resources, application: str, cores: int, requested_for: tuple[str, ...]) -> ResourceRequest:
    return ResourceRequest(application, cores, resources.executor_mb, requested_for, resources.cores_each)
